"""Rows of docs/limits_ros2.md: hard limits, as the reference and by default."""

import math
from typing import Any

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.ros2.arrays import JointValues
from limits.ros2.helpers import compute_velocity_limits
from limits.ros2.limiter import Enforced
from limits.ros2.limiters import joint_range_limiter, joint_soft_limiter
from limits.ros2.reasons import Reason
from limits.ros2.records import JointLimits, SoftJointLimits

NAN, INF, DT = math.nan, math.inf, 0.1
RANGE = JointLimits(has_position_limits=True, min_position=-1.0, max_position=1.0)
MOVING = JointLimits(
    has_position_limits=True, min_position=-1.0, max_position=1.0, has_velocity_limits=True, max_velocity=0.5
)


def values(**given: float) -> JointValues:
    """Return the values of one joint."""
    return JointValues(**{name: np.array([value]) for name, value in given.items()})


def both(
    limits: JointLimits,
    actual: JointValues,
    desired: JointValues,
    soft: SoftJointLimits | None = None,
    dt: float = DT,
) -> tuple[Enforced, Enforced]:
    """Return what compat and strict make of a first command."""
    answers = []
    for compat in (True, False):
        limiter = (
            joint_range_limiter([limits], compat=compat)
            if soft is None
            else joint_soft_limiter([limits], [soft], compat=compat)
        )
        answers.append(limiter.enforce(actual, desired, dt))
    return answers[0], answers[1]


def only(array: Any) -> float:
    """Return the value of the one joint."""
    (value,) = array
    return float(value)


def test_a_nan_position_state_with_a_position_command() -> None:
    passing, refusing = (joint_range_limiter([MOVING], compat=compat) for compat in (True, False))
    assert only(passing.enforce(values(position=NAN), values(position=9.0), DT).desired.position) == 9.0
    with pytest.raises(LimitsError, match="position: is not known"):
        refusing.enforce(values(position=NAN), values(position=9.0), DT)


def test_a_nan_position_state_with_a_velocity_command() -> None:
    compat, strict = both(MOVING, values(position=NAN), values(velocity=50.0))
    assert only(compat.desired.velocity) == 50.0
    assert only(strict.desired.velocity) == 0.0
    assert strict.reasons["velocity"][0] == Reason.UNKNOWN_STATE


def test_a_missing_position_state_with_a_velocity_command() -> None:
    compat, strict = both(MOVING, values(), values(velocity=0.4))
    assert only(compat.desired.velocity) == 0.4
    assert only(strict.desired.velocity) == 0.0


def test_a_nan_velocity_state_with_a_velocity_command() -> None:
    limits = JointLimits(has_velocity_limits=True, max_velocity=0.5, has_acceleration_limits=True, max_acceleration=1.0)
    compat, strict = both(limits, values(velocity=NAN), values(velocity=50.0))
    assert only(compat.desired.velocity) == 50.0
    assert only(strict.desired.velocity) == pytest.approx(0.1)
    assert strict.reasons["velocity"][0] == Reason.MAX_ACCELERATION


def test_an_unknown_state_with_an_effort_command() -> None:
    limits = JointLimits(
        has_position_limits=True,
        min_position=-1.0,
        max_position=1.0,
        has_velocity_limits=True,
        max_velocity=1.0,
        has_effort_limits=True,
        max_effort=5.0,
    )
    compat, strict = both(limits, values(), values(effort=4.0))
    assert only(compat.desired.effort) == 4.0
    assert only(strict.desired.effort) == 0.0
    assert strict.reasons["effort"][0] == Reason.UNKNOWN_STATE


def test_an_unknown_velocity_with_an_acceleration_command() -> None:
    limits = JointLimits(has_deceleration_limits=True, max_deceleration=2.0)
    compat, strict = both(limits, values(), values(acceleration=9.0))
    assert only(compat.desired.acceleration) == 9.0
    assert only(strict.desired.acceleration) == 2.0
    assert strict.reasons["acceleration"][0] == Reason.MAX_DECELERATION


def test_limits_that_make_no_sense() -> None:
    unlimited = JointLimits(
        has_position_limits=True, min_position=-1.0, max_position=1.0, has_velocity_limits=True, max_velocity=NAN
    )
    compat = joint_range_limiter([unlimited], compat=True)
    assert only(compat.enforce(values(position=0.0), values(position=9.0), DT).desired.position) == 9.0
    with pytest.raises(LimitsError, match="max_velocity: has_velocity_limits is true, so it must be finite"):
        joint_range_limiter([unlimited])


def test_an_empty_velocity_range() -> None:
    with np.errstate(divide="ignore"):
        lower, upper = compute_velocity_limits(MOVING, -1.0, 1.001, None, 1e-4)
    assert float(lower) == pytest.approx(-10.0)
    assert float(upper) == -0.5
    compat, strict = both(MOVING, values(position=1.001), values(velocity=-20.0), dt=1e-4)
    assert only(compat.desired.velocity) == pytest.approx(-10.0)
    assert only(strict.desired.velocity) == -0.5


def test_a_position_state_just_outside_the_hard_range() -> None:
    compat, strict = both(MOVING, values(position=1.001), values(velocity=-0.001))
    assert only(compat.desired.velocity) == pytest.approx(-0.01)
    assert only(strict.desired.velocity) == -0.001
    compat, strict = both(MOVING, values(position=1.1), values(velocity=-0.3))
    assert only(compat.desired.velocity) == 0.0
    assert only(strict.desired.velocity) == -0.3


def test_position_limits_without_velocity_limits() -> None:
    compat, strict = both(RANGE, values(position=0.99), values(velocity=5.0))
    assert only(compat.desired.velocity) == 5.0
    assert only(strict.desired.velocity) == pytest.approx(0.1)
    assert strict.reasons["velocity"][0] == Reason.HARD_POSITION


def test_numbers_behind_a_flag_that_is_off() -> None:
    limits = JointLimits(min_position=-1.0, max_position=1.0, max_jerk=2.0)
    compat, strict = both(limits, values(position=0.0), values(position=9.0, jerk=9.0))
    assert (only(compat.desired.position), only(compat.desired.jerk)) == (1.0, 2.0)
    assert (only(strict.desired.position), only(strict.desired.jerk)) == (9.0, 9.0)


def test_a_change_of_the_commanded_interface() -> None:
    for compat, reached in ((True, 0.05), (False, 0.85)):
        limiter = joint_range_limiter([MOVING], compat=compat)
        limiter.enforce(values(position=0.0), values(position=0.0), DT)
        limiter.enforce(values(position=0.4), values(velocity=0.5), DT)
        answer = limiter.enforce(values(position=0.8), values(position=0.9), DT)
        assert only(answer.desired.position) == pytest.approx(reached)


def test_an_infinite_command_in_the_memory() -> None:
    limits = JointLimits(has_velocity_limits=False)
    compat = joint_range_limiter([limits], compat=True)
    strict = joint_range_limiter([limits])
    for limiter in (compat, strict):
        limiter.enforce(values(), values(velocity=INF), DT)
        limiter.update([MOVING_WITH_ACCELERATION])
    assert only(compat.enforce(values(), values(velocity=0.5), DT).desired.velocity) == 0.5
    assert only(strict.enforce(values(), values(velocity=0.5), DT).desired.velocity) == pytest.approx(0.1)


MOVING_WITH_ACCELERATION = JointLimits(
    has_velocity_limits=True, max_velocity=0.5, has_acceleration_limits=True, max_acceleration=1.0
)


def test_no_time_between_two_commands() -> None:
    compat = joint_range_limiter([RANGE], compat=True)
    assert only(compat.enforce(values(), values(position=9.0), 0.0).desired.position) == 9.0
    for dt in (0.0, -1.0, NAN, INF):
        with pytest.raises(LimitsError, match="dt: must be positive and finite"):
            joint_range_limiter([RANGE]).enforce(values(), values(position=9.0), dt)


def test_the_limit_that_acted_is_told() -> None:
    compat, strict = both(MOVING, values(position=0.0), values(position=0.3, velocity=0.9))
    assert compat.limited.all()
    assert not compat.reasons
    assert {name: int(codes[0]) for name, codes in strict.reasons.items()} == {
        "position": Reason.MAX_VELOCITY,
        "velocity": Reason.MAX_VELOCITY,
    }
