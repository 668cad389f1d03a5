"""What a careful reader refuses in the limits of a URDF, and what it points out."""

import math
from collections.abc import Iterator

import msgspec

from limits.errors import LimitsError
from limits.formats.diagnostics import Diagnostic
from limits.formats.urdf_records import (
    MOTION_KEYS,
    RANGED_TYPES,
    JointType,
    UrdfJoint,
    UrdfLimit,
    UrdfRobot,
    UrdfSafety,
)

DRAKE_ACCELERATION = "drake:acceleration"
"""The acceleration limit of a joint as Drake writes it."""
_NOT_NEGATIVE = frozenset(
    {"effort", "velocity", "acceleration", "deceleration", "jerk", "k_position", "k_velocity"},
)


def check_limit(limit: UrdfLimit, *, joint: str | None = None, file: str | None = None) -> None:
    """Refuse a `<limit>` that makes no sense.

    Raises:
        LimitsError: a number that is not finite or negative where it cannot be, or a lower end above the upper.
    """
    _check_numbers(limit, joint, file)
    lower, upper = limit.position_range()
    if lower > upper:
        raise LimitsError("is above upper", file=file, joint=joint, key="lower", value=lower, bound=upper)


def check_safety(safety: UrdfSafety, *, joint: str | None = None, file: str | None = None) -> None:
    """Refuse a `<safety_controller>` that no controller should run.

    Raises:
        LimitsError: a number that is not finite, a negative gain, a soft range whose ends are exchanged, or a
            k_position without both ends (the missing one would count as 0 and pin the joint there).
    """
    _check_numbers(safety, joint, file)
    lower, upper = safety.soft_lower_limit, safety.soft_upper_limit
    if safety.k_position:
        for key, end in (("soft_lower_limit", lower), ("soft_upper_limit", upper)):
            if end is None:
                raise LimitsError(f"k_position {safety.k_position!r} needs this end", file=file, joint=joint, key=key)
    lower, upper = lower or 0.0, upper or 0.0
    if lower > upper:
        raise LimitsError(
            "is above soft_upper_limit", file=file, joint=joint, key="soft_lower_limit", value=lower, bound=upper
        )


def _check_numbers(record: msgspec.Struct, joint: str | None, file: str | None) -> None:
    """Every number that is given is finite, and not negative where it cannot be."""
    for key, value in msgspec.structs.asdict(record).items():
        if value is None:
            continue
        if not math.isfinite(value):
            raise LimitsError("is not finite", file=file, joint=joint, key=key, value=value)
        if key in _NOT_NEGATIVE and value < 0:
            raise LimitsError("is negative", file=file, joint=joint, key=key, value=value, bound=0.0)


def diagnose(robot: UrdfRobot) -> tuple[Diagnostic, ...]:
    """Point out what was read past in a URDF, and what is doubtful: frozen joints, zero gains, ranges that disagree."""
    found = [*robot.notes]
    found += [
        Diagnostic(None, tag, None, "this element was not read; limits it holds are not known") for tag in robot.unread
    ]
    joints = {joint.name: joint for joint in robot.joints}
    for joint in robot.joints:
        found += [
            Diagnostic(joint.name, key, value, reason)
            for check in (_doubts_of_limit, _doubts_of_safety)
            for key, value, reason in check(joint)
        ]
        found += [Diagnostic(joint.name, *doubt) for doubt in _doubts_of_mimic(joint, joints)]
    return (*found, *_doubts_of_version(robot))


def _doubts_of_version(robot: UrdfRobot) -> Iterator[Diagnostic]:
    """Limits that readers of URDF 1.0 pass over; those of other programs have a note of their own."""
    if robot.motion_limits_count():
        return
    told = {one.joint for one in robot.notes if one.key == DRAKE_ACCELERATION}
    for joint in robot.joints:
        for key in MOTION_KEYS:
            value = None if joint.limit is None else getattr(joint.limit, key)
            if value is not None and not (key == "acceleration" and joint.name in told):
                reason = "counts from version 1.2 of URDF on; this file is of an older one, whose readers pass over it"
                yield Diagnostic(joint.name, key, value, reason)


_Doubt = tuple[str, object, str]


def _doubts_of_limit(joint: UrdfJoint) -> Iterator[_Doubt]:
    limit = joint.limit
    if limit is None:
        if joint.type is JointType.CONTINUOUS:
            yield "limit", None, "there is none, so velocity and effort are not limited"
        return
    yield from _doubts_of_ends(joint, limit)
    for key, value in (("velocity", limit.velocity), ("effort", limit.effort)):
        if value == 0:
            yield key, value, "is 0, so the joint cannot move"


def _doubts_of_ends(joint: UrdfJoint, limit: UrdfLimit) -> Iterator[_Doubt]:
    ends = (("lower", limit.lower), ("upper", limit.upper))
    if joint.type not in RANGED_TYPES:
        for key, end in ends:
            if end is not None:
                yield key, end, f"has no meaning for a {joint.type.value} joint"
        return
    for key, end in ends:
        if end is None:
            yield key, None, "is left out and counts as 0"
    lower, upper = limit.position_range()
    if lower == upper:
        yield "lower", lower, "equals upper, so the joint cannot move"


def _doubts_of_safety(joint: UrdfJoint) -> Iterator[_Doubt]:
    safety, limit = joint.safety, joint.limit
    if safety is None:
        return
    if not safety.k_position and joint.type in RANGED_TYPES:
        yield "k_position", safety.k_position, "is 0, so the safety law allows no velocity"
    if not safety.k_velocity:
        yield "k_velocity", safety.k_velocity, "is 0, so the safety law allows no effort"
    if limit is None or joint.type not in RANGED_TYPES:
        return
    lower, upper = limit.position_range()
    if safety.soft_lower_limit is not None and safety.soft_lower_limit < lower:
        yield "soft_lower_limit", safety.soft_lower_limit, f"lies below lower, {lower!r}"
    if safety.soft_upper_limit is not None and safety.soft_upper_limit > upper:
        yield "soft_upper_limit", safety.soft_upper_limit, f"lies above upper, {upper!r}"


def _doubts_of_mimic(joint: UrdfJoint, joints: dict[str, UrdfJoint]) -> Iterator[_Doubt]:
    mimic = joint.mimic
    if mimic is None or joint.limit is None or joint.type not in RANGED_TYPES:
        return
    leader = joints.get(mimic.joint)
    if leader is None or leader.limit is None or leader.type not in RANGED_TYPES:
        return
    multiplier = 1.0 if mimic.multiplier is None else mimic.multiplier
    reached = sorted(multiplier * end + (mimic.offset or 0.0) for end in leader.limit.position_range())
    lower, upper = joint.limit.position_range()
    if reached[0] < lower or reached[1] > upper:
        yield "mimic", tuple(reached), f"reaches beyond the joint's own range, {(lower, upper)!r}"
