"""The bounds of the reference, exactly, defects included; over one joint (a record) or n joints (a table).

Values are floats or arrays of shape (n,); None = not given. `dt` is in seconds. Callers that may divide by
zero or meet infinities silence numpy's warnings: the infinite or NaN result is the defined one.
"""

import numpy as np
from numpy.typing import ArrayLike

from limits.errors import LimitsError
from limits.ros2.arithmetic import larger, smaller
from limits.ros2.arrays import Bools, Floats, LimitTable
from limits.ros2.records import JointLimits

POSITION_TOLERANCE = 0.002
"""How far outside the hard range velocity commands back inside are still let through (rad or m)."""

STATE_TOLERANCE = 0.0087
"""How far outside the hard range a position state may be before a position command is refused (rad or m)."""

Limits = JointLimits | LimitTable
Bounds = tuple[Floats, Floats]


def is_limited(value: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Bools:
    """Tell where a value lies strictly outside its bounds; NaN never does."""
    return np.less(value, lower) | np.greater(value, upper)


def check_and_swap_limits(lower: ArrayLike, upper: ArrayLike) -> Bounds:
    """Return the bounds in order: exchanged where lower > upper."""
    crossed = np.greater(lower, upper)
    return np.where(crossed, upper, lower), np.where(crossed, lower, upper)


def verify_actual_position_within_limits(limits: Limits, actual_position: ArrayLike | None) -> None:
    """Check that the state is in the hard range within STATE_TOLERANCE.

    Raises:
        LimitsError: a position is further out; NaN and unlimited joints pass.
    """
    if actual_position is None:
        return
    lower = np.subtract(limits.min_position, STATE_TOLERANCE)
    upper = np.add(limits.max_position, STATE_TOLERANCE)
    outside = np.atleast_1d(is_limited(actual_position, lower, upper) & limits.has_position_limits)
    if outside.any():
        at = int(outside.argmax())
        found = float(np.broadcast_to(actual_position, outside.shape)[at])
        bound = (float(np.atleast_1d(limits.min_position)[at]), float(np.atleast_1d(limits.max_position)[at]))
        raise LimitsError(
            "the actual position is outside the hard range", joint=f"#{at}", key="position", value=found, bound=bound
        )


def compute_position_limits(
    limits: Limits,
    act_vel: ArrayLike | None,
    act_pos: ArrayLike | None,
    prev_command_pos: ArrayLike | None,
    dt: float,
    *,
    prev_known: Bools | bool = True,
) -> Bounds:
    """Return the positions that can be commanded; the numbers count even where the flag is off.

    `prev_known` tells for which joints `prev_command_pos` is given; for the others the state is the reference.

    Raises:
        LimitsError: the state is outside the hard range by more than STATE_TOLERANCE.
    """
    verify_actual_position_within_limits(limits, act_pos)
    if prev_command_pos is None:
        prev_command_pos, prev_known = np.nan, False
    narrow = np.logical_and(limits.has_velocity_limits, prev_known if act_pos is None else True)
    reference = np.where(prev_known, prev_command_pos, np.nan if act_pos is None else act_pos)
    speed = np.add(np.abs(0.0 if act_vel is None else act_vel), np.multiply(limits.max_acceleration, dt))
    reach = np.where(limits.has_acceleration_limits, smaller(limits.max_velocity, speed), limits.max_velocity)
    step = reach * dt
    lower = larger(smaller(reference - step, limits.max_position), limits.min_position)
    upper = smaller(larger(reference + step, lower), limits.max_position)
    return check_and_swap_limits(
        np.where(narrow, lower, limits.min_position), np.where(narrow, upper, limits.max_position)
    )


def compute_velocity_limits(
    limits: Limits,
    desired_vel: ArrayLike,
    act_pos: ArrayLike | None,
    prev_command_vel: ArrayLike | None,
    dt: float,
    *,
    prev_known: Bools | bool = True,
) -> Bounds:
    """Return the velocities that can be commanded; without velocity limits all of them.

    `prev_known` tells for which joints `prev_command_vel` is given.
    """
    lower: ArrayLike = np.negative(limits.max_velocity)
    upper: ArrayLike = limits.max_velocity
    if act_pos is not None:
        lower, upper = _velocity_limits_at(limits, desired_vel, np.asarray(act_pos), (lower, upper), dt)
    if prev_command_vel is not None:
        change = np.multiply(limits.max_acceleration, dt)
        applies = np.logical_and(limits.has_acceleration_limits, prev_known)
        lower = np.where(applies, larger(np.subtract(prev_command_vel, change), lower), lower)
        upper = np.where(applies, smaller(np.add(prev_command_vel, change), upper), upper)
    lower, upper = check_and_swap_limits(lower, upper)
    on = limits.has_velocity_limits
    return np.where(on, lower, -np.inf), np.where(on, upper, np.inf)


def _velocity_limits_at(
    limits: Limits, desired: ArrayLike, position: Floats, bounds: tuple[ArrayLike, ArrayLike], dt: float
) -> Bounds:
    """Narrow velocity bounds by the distance to both ends of the hard range, where there is one."""
    low, high = limits.min_position, limits.max_position
    above = position > np.add(high, POSITION_TOLERANCE)
    below = position < np.subtract(low, POSITION_TOLERANCE)
    past_upper = (position < np.add(high, POSITION_TOLERANCE)) & (position > low) & np.greater_equal(desired, 0.0)
    past_lower = (position > np.subtract(low, POSITION_TOLERANCE)) & (position < high) & np.less_equal(desired, 0.0)
    outside = (position > high) | (position < low)
    stop = outside & (past_upper | past_lower | above | below)
    lower = np.where(stop, 0.0, larger(np.subtract(low, position) / dt, bounds[0]))
    upper = np.where(stop, 0.0, smaller(np.subtract(high, position) / dt, bounds[1]))
    on = limits.has_position_limits
    return np.where(on, lower, bounds[0]), np.where(on, upper, bounds[1])


def compute_effort_limits(limits: Limits, act_pos: ArrayLike | None, act_vel: ArrayLike | None) -> Bounds:
    """Return the efforts that can be commanded: none outwards at an end, none that speeds up beyond the maximum."""
    lower: ArrayLike = np.negative(limits.max_effort)
    upper: ArrayLike = limits.max_effort
    if act_vel is not None:
        if act_pos is not None:
            at_lower = np.less_equal(act_pos, limits.min_position) & np.less_equal(act_vel, 0.0)
            at_upper = np.greater_equal(act_pos, limits.max_position) & np.greater_equal(act_vel, 0.0) & ~at_lower
            lower = np.where(limits.has_position_limits & at_lower, 0.0, lower)
            upper = np.where(limits.has_position_limits & at_upper, 0.0, upper)
        fast_down = np.less(act_vel, np.negative(limits.max_velocity))
        fast_up = np.greater(act_vel, limits.max_velocity) & ~fast_down
        lower = np.where(limits.has_velocity_limits & fast_down, 0.0, lower)
        upper = np.where(limits.has_velocity_limits & fast_up, 0.0, upper)
    lower, upper = check_and_swap_limits(lower, upper)
    on = limits.has_effort_limits
    return np.where(on, lower, -np.inf), np.where(on, upper, np.inf)


def compute_acceleration_limits(limits: Limits, desired_acc: ArrayLike, act_vel: ArrayLike | None) -> Bounds:
    """Return the accelerations that can be commanded; decelerating = strictly against a known velocity."""
    velocity = 0.0 if act_vel is None else act_vel
    against = (np.less(desired_acc, 0.0) & np.greater(velocity, 0.0)) | (
        np.greater(desired_acc, 0.0) & np.less(velocity, 0.0)
    )
    accelerating = np.where(limits.has_acceleration_limits, limits.max_acceleration, np.inf)
    upper = np.where(against & limits.has_deceleration_limits, limits.max_deceleration, accelerating)
    return check_and_swap_limits(-upper, upper)
