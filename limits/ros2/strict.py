"""Hard limits ready for the strict limiters: unlimited = infinite, so that no flag has to be asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

import numpy as np

from limits.ros2.arrays import Bools, Floats, LimitTable, any_true
from limits.ros2.reasons import Reason, ReasonCodes
from limits.ros2.records import JointLimits
from limits.ros2.validity import check_limits

# Plain integers: looking up a member of an enumeration takes as long as limiting a joint.
HARD_POSITION = int(Reason.HARD_POSITION)
MAX_VELOCITY = int(Reason.MAX_VELOCITY)
MAX_ACCELERATION = int(Reason.MAX_ACCELERATION)
MAX_DECELERATION = int(Reason.MAX_DECELERATION)
MAX_JERK = int(Reason.MAX_JERK)
MAX_EFFORT = int(Reason.MAX_EFFORT)
SOFT_POSITION = int(Reason.SOFT_POSITION)
SOFT_VELOCITY = int(Reason.SOFT_VELOCITY)
UNKNOWN_STATE = int(Reason.UNKNOWN_STATE)

FEW = 8
"""Up to so many limited joints are explained one by one, which is faster than arrays are."""


class Cause(NamedTuple):
    """Bounds that one limit sets; what they leave of the command is that limit's doing."""

    reason: int
    """A value of Reason."""
    lower: Floats
    upper: Floats


class Span(NamedTuple):
    """The bounds of one interface; `causes` has the limits that win first, first."""

    lower: Floats
    upper: Floats
    causes: tuple[Cause, ...]


def symmetric(reason: int, most: Floats) -> Span:
    """Return the bounds ± `most`."""
    lower = -most
    return Span(lower, most, (Cause(reason, lower, most),))


def explain(wanted: Floats, result: Floats, causes: Sequence[Cause], *, certain: bool) -> ReasonCodes | None:
    """Return for each joint the limit that made `result` of `wanted`, None where no joint was limited.

    The limit is the first cause whose bound is the result, else the last one. NaN is no limiting; `certain` tells
    that the result has none.
    """
    changed = result != wanted
    if not any_true(changed):
        return None
    (at,) = changed.nonzero()
    if not certain:
        at = at[~np.isnan(result[at])]
        if not at.size:
            return None
    codes = np.zeros(len(wanted), dtype=np.uint8)
    *earlier, last = causes
    if at.size <= FEW:
        for joint in at.tolist():
            number, reason = result.item(joint), last.reason
            lowered = number < wanted.item(joint)
            for cause in earlier:
                if (cause.upper if lowered else cause.lower).item(joint) == number:
                    reason = cause.reason
                    break
            codes[joint] = reason
        return codes
    value = result[at]
    below = value < wanted[at]
    found = np.empty(at.size, dtype=np.uint8)
    found.fill(last.reason)
    for cause in reversed(earlier):
        found[value == np.where(below, cause.upper[at], cause.lower[at])] = cause.reason
    codes[at] = found
    return codes


@dataclass(frozen=True, slots=True)
class StrictLimits:
    """Bounds of n joints, arrays of shape (n,); a quantity whose flag is off is infinite."""

    has_position: Bools
    has_velocity: Bools
    lower: Floats
    upper: Floats
    velocity: Floats
    acceleration: Floats
    """Applies to position and velocity commands, and to acceleration commands that speed up."""
    slowing: Floats
    """Applies to acceleration commands against the velocity."""
    unsure: Floats
    """Applies to acceleration commands while the velocity is unknown: the lesser of both."""
    fastest: Floats
    """The greater of both: no acceleration command exceeds it."""
    effort: Floats
    by_velocity: Span
    by_effort: Span
    by_acceleration: Span
    by_jerk: Span
    any_position: bool
    all_position: bool
    any_velocity: bool
    all_velocity: bool
    any_acceleration: bool
    any_slowing: bool

    @classmethod
    def of(cls, records: Sequence[JointLimits], names: Sequence[str]) -> "StrictLimits":
        """Return the bounds of these records.

        Raises:
            LimitsError: a record makes no sense; see check_limits.
        """
        for record, name in zip(records, names, strict=True):
            check_limits(record, name)
        table = LimitTable.of(records)
        on, slows = table.has_position_limits, table.has_deceleration_limits
        acceleration = np.where(table.has_acceleration_limits, table.max_acceleration, np.inf)
        slowing = np.where(slows, table.max_deceleration, acceleration)
        velocity = np.where(table.has_velocity_limits, table.max_velocity, np.inf)
        effort = np.where(table.has_effort_limits, table.max_effort, np.inf)
        by_acceleration = symmetric(MAX_ACCELERATION, acceleration)
        by_deceleration = symmetric(MAX_DECELERATION, slowing)
        return cls(
            has_position=on,
            has_velocity=table.has_velocity_limits,
            lower=np.where(on, table.min_position, -np.inf),
            upper=np.where(on, table.max_position, np.inf),
            velocity=velocity,
            acceleration=acceleration,
            slowing=slowing,
            unsure=np.minimum(acceleration, np.where(slows, table.max_deceleration, np.inf)),
            fastest=np.maximum(acceleration, slowing),
            effort=effort,
            by_velocity=symmetric(MAX_VELOCITY, velocity),
            by_effort=symmetric(MAX_EFFORT, effort),
            by_acceleration=by_acceleration._replace(causes=by_acceleration.causes + by_deceleration.causes),
            by_jerk=symmetric(MAX_JERK, np.where(table.has_jerk_limits, table.max_jerk, np.inf)),
            any_position=bool(on.any()),
            all_position=bool(on.all()),
            any_velocity=bool(table.has_velocity_limits.any()),
            all_velocity=bool(table.has_velocity_limits.all()),
            any_slowing=bool(slows.any()),
            any_acceleration=bool(table.has_acceleration_limits.any()),
        )


def all_finite(values: Floats) -> bool:
    """Tell whether all values are certainly finite: their squares sum up to a finite number; large ones may not."""
    return isfinite(values.dot(values))


class Known(NamedTuple):
    """Finite numbers of n joints, NaN = unknown; `everywhere` tells that certainly none of them is."""

    values: Floats
    everywhere: bool

    @classmethod
    def of(cls, values: Floats) -> "Known":
        """Return the values with infinities as NaN: a state that is not finite is unknown."""
        if all_finite(values):
            return cls(values, everywhere=True)
        return cls(np.where(np.isfinite(values), values, np.nan), everywhere=False)
