"""What all file formats together can say about the limits of an arm, and how two such sets differ."""

import math
from typing import NamedTuple

import msgspec

from limits.errors import LimitsError
from limits.formats.urdf_records import JointType, UrdfMimic
from limits.tesseract.joint_safety import JointSafety
from schema.enums import ControlMode


class JointNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one joint in rad or m, per s, s² and s³, N·m or N; None = unlimited.

    A deceleration that is not given is the acceleration.
    """

    position_lower: float | None = None
    position_upper: float | None = None
    velocity: float | None = None
    acceleration: float | None = None
    deceleration: float | None = None
    jerk: float | None = None
    effort: float | None = None

    def ranged(self) -> bool:
        """Whether the position has an end."""
        return self.position_lower is not None or self.position_upper is not None


class LimitedJoint(msgspec.Struct, frozen=True, kw_only=True):
    """A joint with its hard limits, soft limits of its own, safety controller and what it depends on."""

    name: str
    type: JointType = JointType.REVOLUTE
    limits: JointNumbers = JointNumbers()
    soft: JointNumbers | None = None
    safety: JointSafety | None = None
    mimic: UrdfMimic | None = None
    depends: tuple[tuple[str, float], ...] = ()
    """Weights of the joints whose inputs make up its coordinate; empty where it is its own."""


class LimitSet(msgspec.Struct, frozen=True, kw_only=True):
    """The joints of an arm in their order, limits of the twist (m/s, rad/s), and the control mode all of it is for.

    `named` says whether the names came with the limits; if not they were counted or given by the caller.
    """

    joints: tuple[LimitedJoint, ...]
    named: bool = True
    mode: ControlMode = ControlMode.UNSPECIFIED_CONTROL_MODE
    twist_linear: float | None = None
    twist_angular: float | None = None


class Difference(NamedTuple):
    """One thing that two sets say differently; None = not said, unlimited."""

    joint: str | None
    key: str
    left: object
    right: object


NUMBERS = JointNumbers.__struct_fields__

_Value = float | str | None


def counted_names(count: int) -> tuple[str, ...]:
    """Names for joints that have none: joint_1 and so on."""
    return tuple(f"joint_{number}" for number in range(1, count + 1))


def said(limits: LimitSet) -> dict[tuple[str | None, str], _Value]:
    """Everything a set says, by joint and key; what is unlimited or absent is not said."""
    found: dict[tuple[str | None, str], _Value] = {
        (None, "twist_linear"): limits.twist_linear,
        (None, "twist_angular"): limits.twist_angular,
        (None, "control_mode"): None if not limits.mode else limits.mode.name,
    }
    for joint in limits.joints:
        values = {key: getattr(joint.limits, key) for key in NUMBERS}
        values["deceleration"] = _deceleration(joint.limits)
        if joint.soft is not None:
            values |= {f"soft.{key}": getattr(joint.soft, key) for key in NUMBERS}
            values["soft.deceleration"] = _deceleration(joint.soft)
        if joint.safety is not None:
            values |= {f"safety.{key}": value for key, value in msgspec.structs.asdict(joint.safety).items()}
        if joint.type is JointType.CONTINUOUS:
            values["wraparound"] = "yes"
        elif joint.type is not JointType.REVOLUTE:
            values["type"] = joint.type.value
        if joint.mimic is not None:
            multiplier = 1.0 if joint.mimic.multiplier is None else joint.mimic.multiplier
            values["mimic"] = f"{multiplier!r} * {joint.mimic.joint} + {joint.mimic.offset or 0.0!r}"
        if joint.depends:
            values["linear_dependency"] = " + ".join(f"{weight!r} * {name}" for name, weight in joint.depends)
        found |= {(joint.name, key): value for key, value in values.items()}
    return {place: value for place, value in found.items() if value is not None}


def differences(left: LimitSet, right: LimitSet, tolerance: float = 0.0) -> tuple[Difference, ...]:
    """What two sets say differently; numbers within a relative tolerance are equal."""
    a, b = said(left), said(right)
    places = dict.fromkeys([*a, *b])
    return tuple(
        Difference(*place, a.get(place), b.get(place))
        for place in places
        if not _equal(a.get(place), b.get(place), tolerance)
    )


def overlay(base: LimitSet, limits: LimitSet, file: str | None = None) -> LimitSet:
    """The joints of `limits` as `base` has them, with every number and record that `limits` gives put in.

    Raises:
        LimitsError: `base`, which is the file's, has no such joint.
    """
    known = {joint.name: joint for joint in base.joints}
    for joint in limits.joints:
        if joint.name not in known:
            raise LimitsError("the file has no such joint", file=file, joint=joint.name, bound=tuple(known))
    return msgspec.structs.replace(limits, joints=tuple(_overlaid(known[one.name], one) for one in limits.joints))


def _overlaid(base: LimitedJoint, joint: LimitedJoint) -> LimitedJoint:
    soft = base.soft
    if joint.soft is not None:
        soft = _numbers_over(base.soft or JointNumbers(), joint.soft)
    limits = _numbers_over(base.limits, joint.limits)
    return msgspec.structs.replace(base, limits=limits, soft=soft, safety=joint.safety or base.safety)


def _numbers_over(base: JointNumbers, numbers: JointNumbers) -> JointNumbers:
    given = {key: value for key, value in msgspec.structs.asdict(numbers).items() if value is not None}
    return msgspec.structs.replace(base, **given)


def number_or_none(value: float) -> float | None:
    """The number; None where it is infinite, which is unlimited."""
    return None if math.isinf(value) else value


def _deceleration(numbers: JointNumbers) -> float | None:
    """What is said beyond the acceleration."""
    return None if numbers.deceleration == numbers.acceleration else numbers.deceleration


def _equal(a: _Value, b: _Value, tolerance: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=tolerance)
    return a == b
