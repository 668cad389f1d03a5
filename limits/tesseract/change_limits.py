"""The change commands of tesseract for joint limits: all of a command or nothing, one revision each."""

import enum
import math
from collections.abc import Mapping

import msgspec

from limits.errors import LimitsError
from limits.formats.urdf_records import JointType
from limits.tesseract.joint_limits import JointLimits

BAD_VALUE = "is no value of such a limit"
NO_SUCH_LIMITED_JOINT = "is no joint with limits"
NOT_MOVABLE = "a joint of this type has no such limit"

LimitValue = float | tuple[float, float]
"""A symmetric limit (rad/s, m/s and per s), or lower and upper (rad, m)."""


class LimitKind(enum.Enum):
    """What a change command sets; there is none for jerk or effort."""

    POSITION = "position"
    VELOCITY = "velocity"
    ACCELERATION = "acceleration"


class LimitedJoint(msgspec.Struct, frozen=True, kw_only=True):
    """A joint of the scene: its type and its limits, if it has any."""

    type: JointType
    limits: JointLimits | None = None


class ChangedLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The joints after a command, and by how much the revision of the scene grew."""

    joints: dict[str, LimitedJoint]
    revision_delta: int = 1


def limit_kind(name: str) -> LimitKind:
    """The kind of a change command by its name.

    Raises:
        LimitsError: there is no such command.
    """
    try:
        return LimitKind(name)
    except ValueError:
        known = [kind.value for kind in LimitKind]
        raise LimitsError("there is no command to change it", key="kind", value=name, bound=known) from None


def change_limits(
    joints: Mapping[str, LimitedJoint], kind: LimitKind, changes: Mapping[str, LimitValue]
) -> ChangedLimits:
    """Apply one change command to the named joints; values are checked first, then all joints, then all are changed.

    Raises:
        LimitsError: a value that is not finite, a range not in order, a limit not above 0 (`BAD_VALUE`); an unknown
            joint or one without limits (`NO_SUCH_LIMITED_JOINT`); a fixed or floating joint (`NOT_MOVABLE`).
            Nothing is changed then.
    """
    numbers = {name: _numbers(kind, value) for name, value in changes.items()}
    for name, legal in numbers.items():
        if not legal:
            raise LimitsError(BAD_VALUE, joint=name, key=kind.value, value=changes[name], bound=_BOUND[kind])
    changed = dict(joints)
    for name, new in numbers.items():
        joint = joints.get(name)
        if joint is None or joint.limits is None:
            raise LimitsError(NO_SUCH_LIMITED_JOINT, joint=name, key=kind.value)
        if joint.type in (JointType.FIXED, JointType.FLOATING):
            raise LimitsError(NOT_MOVABLE, joint=name, key=kind.value, value=joint.type.value)
        changed[name] = msgspec.structs.replace(joint, limits=msgspec.structs.replace(joint.limits, **new))
    return ChangedLimits(joints=changed)


def _numbers(kind: LimitKind, value: LimitValue) -> dict[str, float]:
    """The fields of JointLimits that a value sets; none where the value is not legal."""
    if isinstance(value, tuple):
        lower, upper = value
        legal = kind is LimitKind.POSITION and math.isfinite(lower) and math.isfinite(upper) and lower < upper
        return {"lower": lower, "upper": upper} if legal else {}
    legal = kind is not LimitKind.POSITION and math.isfinite(value) and value > 0
    return {kind.value: value} if legal else {}


_BOUND = {
    LimitKind.POSITION: "(lower, upper), finite, lower < upper",
    LimitKind.VELOCITY: "finite, > 0",
    LimitKind.ACCELERATION: "finite, > 0",
}
