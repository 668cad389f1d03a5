"""Hard limits ready for the strict limiters: unlimited = infinite, so that no flag has to be asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from limits.ros2.arrays import Bools, Floats, LimitTable
from limits.ros2.reasons import Reason, ReasonCodes
from limits.ros2.records import JointLimits
from limits.ros2.validity import check_limits


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
    jerk: Floats
    any_position: bool
    any_velocity: bool
    any_acceleration: bool

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
        return cls(
            has_position=on,
            has_velocity=table.has_velocity_limits,
            lower=np.where(on, table.min_position, -np.inf),
            upper=np.where(on, table.max_position, np.inf),
            velocity=np.where(table.has_velocity_limits, table.max_velocity, np.inf),
            acceleration=acceleration,
            slowing=np.where(slows, table.max_deceleration, acceleration),
            unsure=np.minimum(acceleration, np.where(slows, table.max_deceleration, np.inf)),
            fastest=np.maximum(acceleration, np.where(slows, table.max_deceleration, acceleration)),
            effort=np.where(table.has_effort_limits, table.max_effort, np.inf),
            jerk=np.where(table.has_jerk_limits, table.max_jerk, np.inf),
            any_position=bool(on.any()),
            any_velocity=bool(table.has_velocity_limits.any()),
            any_acceleration=bool(table.has_acceleration_limits.any()),
        )


class Cause(NamedTuple):
    """Bounds that one limit sets; what they leave of the command is that limit's doing."""

    reason: Reason
    lower: Floats
    upper: Floats


class Span(NamedTuple):
    """The bounds of one interface; `causes` has the limits that win first, first."""

    lower: Floats
    upper: Floats
    causes: tuple[Cause, ...]


def symmetric(reason: Reason, most: Floats) -> Span:
    """Return the bounds ± `most`."""
    lower = -most
    return Span(lower, most, (Cause(reason, lower, most),))


def explain(wanted: Floats, result: Floats, causes: Sequence[Cause]) -> ReasonCodes:
    """Return for each joint the limit that made `result` of `wanted`; the last cause where no bound is met exactly."""
    raised, lowered = result > wanted, result < wanted
    codes = np.zeros(len(wanted), dtype=np.uint8)
    codes[raised | lowered] = causes[-1].reason
    for cause in reversed(causes):
        codes[(raised & (result == cause.lower)) | (lowered & (result == cause.upper))] = cause.reason
    return codes


def filled(values: Floats, fallback: Floats | None) -> Floats:
    """Return the values and, where they are NaN, the fallback."""
    unknown = np.isnan(values)
    return np.where(unknown, fallback, values) if fallback is not None and unknown.any() else values


def finite(values: Floats | None) -> Floats | None:
    """Return the values with infinities as NaN: a state that is not finite is unknown."""
    if values is None:
        return None
    known = np.isfinite(values)
    return values if known.all() else np.where(known, values, np.nan)
