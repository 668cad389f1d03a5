"""What all file formats together can say about the limits of an arm, and how two such sets differ."""

import math
from typing import NamedTuple

import msgspec

from limits.formats.diagnostics import Diagnostic
from limits.formats.urdf_records import RANGED_TYPES, JointType, UrdfMimic
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
    """A joint with its hard limits, those of ros2_control, its own soft ones, safety controller, what it depends on."""

    name: str
    type: JointType = JointType.REVOLUTE
    limits: JointNumbers = JointNumbers()
    control: JointNumbers | None = None
    soft: JointNumbers | None = None
    safety: JointSafety | None = None
    mimic: UrdfMimic | None = None
    depends: tuple[tuple[str, float], ...] = ()
    """Weights of the joints whose inputs make up its coordinate; empty where it is its own."""


class LimitSet(msgspec.Struct, frozen=True, kw_only=True):
    """The joints of an arm in their order, limits of the twist (m/s, rad/s), and the control mode all of it is for.

    `named` says whether the names came with the limits; if not they were counted or given by the caller. `fixed` are
    the joints beside them that do not move; `notes` is what the reader of the file points out.
    """

    joints: tuple[LimitedJoint, ...]
    named: bool = True
    mode: ControlMode = ControlMode.UNSPECIFIED_CONTROL_MODE
    twist_linear: float | None = None
    twist_angular: float | None = None
    fixed: tuple[str, ...] = ()
    notes: tuple[Diagnostic, ...] = ()

    @property
    def counted(self) -> bool:
        """Whether the joints have no names but their numbers, so that their order counts."""
        return not self.named and tuple(joint.name for joint in self.joints) == counted_names(len(self.joints))


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
        values: dict[str, _Value] = {}
        for prefix, numbers in (("", joint.limits), ("ros2_control.", joint.control), ("soft.", joint.soft)):
            if numbers is not None:
                values |= {f"{prefix}{key}": getattr(numbers, key) for key in NUMBERS}
                values[f"{prefix}deceleration"] = _deceleration(numbers)
        if joint.safety is not None:
            values |= {f"safety.{key}": value for key, value in _said_of_safety(joint.safety, joint.type).items()}
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


def _said_of_safety(safety: JointSafety, kind: JointType) -> dict[str, float]:
    """What a record says: no range where both ends are 0, and what is 0 only where that acts on the type of joint."""
    values: dict[str, float] = msgspec.structs.asdict(safety)
    ends = {"soft_lower_limit", "soft_upper_limit"}
    idle = ends if not any(values[key] for key in (*ends, "k_position")) else set()
    if kind not in RANGED_TYPES:
        idle = {key for key, value in values.items() if not value and key != "k_velocity"}
    return {key: value for key, value in values.items() if key not in idle}


def differences(left: LimitSet, right: LimitSet, tolerance: float = 0.0) -> tuple[Difference, ...]:
    """What two sets say differently; numbers within a relative tolerance are equal."""
    a, b = said(left), said(right)
    places = dict.fromkeys([*a, *b])
    return tuple(
        Difference(*place, a.get(place), b.get(place))
        for place in places
        if not _equal(a.get(place), b.get(place), tolerance)
    )


def overlay(base: LimitSet, limits: LimitSet) -> LimitSet:
    """The joints that both have, as `base` has them, with every number and record that `limits` gives put in."""
    known = {joint.name: joint for joint in base.joints}
    joints = (_overlaid(known[one.name], one) for one in limits.joints if one.name in known)
    return msgspec.structs.replace(limits, joints=tuple(joints))


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
