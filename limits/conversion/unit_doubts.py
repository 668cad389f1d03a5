"""Numbers that look as if they were in another unit: degrees for radians, radians for degrees."""

import math
from collections.abc import Iterator, Sequence

from limits.conversion.formats import Format
from limits.conversion.limit_set import LimitedJoint, LimitSet
from limits.formats.diagnostics import Diagnostic
from limits.formats.urdf_records import JointType

MOST_RADIANS = 4.0 * math.pi
"""Two turns to either side: no arm has an axis that turns further and still has ends."""
MOST_DEGREES = 1080.0
"""Numbers beyond it stand for "unlimited" rather than for degrees."""
MOST_SPEED = 50.0
"""rad/s, some 480 turns a minute: no axis of an arm is that fast."""
PLACEHOLDERS = frozenset({100.0, 1000.0})
"""Speeds that are written where nobody knew one."""
_TURNING = frozenset({JointType.REVOLUTE, JointType.CONTINUOUS})
LEAST_SPEED, LEAST_ACCELERATION = 2.0, 10.0
"""deg/s and deg/s²: soft limits that are all below these look like radians."""


def unit_doubts(limits: LimitSet, kind: Format) -> tuple[Diagnostic, ...]:
    """Point out numbers of a file that look as if they were in another unit."""
    if kind is Format.KINOVA:
        return tuple(_of_degrees(limits))
    return tuple(doubt for joint in limits.joints if joint.type in _TURNING for doubt in _of_radians(joint))


def _of_radians(joint: LimitedJoint) -> Iterator[Diagnostic]:
    for key in ("position_lower", "position_upper"):
        end = getattr(joint.limits, key)
        if end is not None and MOST_RADIANS < abs(end) <= MOST_DEGREES:
            yield Diagnostic(joint.name, key, end, "is more than two turns; it counts in rad, degrees are more likely")
    speed = joint.limits.velocity
    if speed is not None and MOST_SPEED < speed <= MOST_DEGREES and speed not in PLACEHOLDERS:
        reason = "is more than 50 rad/s; it counts in rad/s, degrees are more likely"
        yield Diagnostic(joint.name, "velocity", speed, reason)


def _of_degrees(limits: LimitSet) -> Iterator[Diagnostic]:
    """Doubts about the degrees of a KinematicLimits."""
    twist = () if limits.twist_angular is None else (limits.twist_angular,)
    speeds = [joint.limits.velocity for joint in limits.joints if joint.limits.velocity is not None]
    accelerations = [joint.limits.acceleration for joint in limits.joints if joint.limits.acceleration is not None]
    yield from _suspect("joint_speed_limits", speeds, LEAST_SPEED, "deg/s")
    yield from _suspect("joint_acceleration_limits", accelerations, LEAST_ACCELERATION, "deg/s²")
    yield from _suspect("twist_angular", twist, LEAST_SPEED, "deg/s")


def _suspect(key: str, radians: Sequence[float], ceiling: float, unit: str) -> Iterator[Diagnostic]:
    largest = round(math.degrees(max(radians, default=0.0)), 6)
    if 0.0 < largest < ceiling:
        meant = f"{largest:g} rad would be {math.degrees(largest):.1f} {unit}"
        yield Diagnostic(None, key, largest, f"every value is under {ceiling:g} {unit}, so radians are likely; {meant}")
