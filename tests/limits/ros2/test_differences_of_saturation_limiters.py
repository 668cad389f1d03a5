"""Rows of docs/limits_ros2.md: trajectory points, as the reference and by default."""

import math
from typing import Any

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.ros2.limiters import JointSaturationLimiter
from limits.ros2.records import JointLimits
from limits.ros2.saturation import TrajectoryPoint

NAN, DT = math.nan, 0.1
MOVING = JointLimits(
    has_position_limits=True, min_position=-1.0, max_position=1.0, has_velocity_limits=True, max_velocity=0.5
)


def only(array: Any) -> float:
    """Return the value of the one joint."""
    (value,) = array
    return float(value)


def saturated(compat: bool, limits: JointLimits, current: TrajectoryPoint, desired: TrajectoryPoint) -> TrajectoryPoint:
    return JointSaturationLimiter([limits], compat=compat).enforce(current, desired, DT).desired


def point(position: float | None = None, velocity: float | None = None) -> TrajectoryPoint:
    return TrajectoryPoint(
        positions=None if position is None else np.array([position]),
        velocities=None if velocity is None else np.array([velocity]),
    )


def test_a_trajectory_point_with_velocity_zero() -> None:
    limits = JointLimits(has_velocity_limits=True, max_velocity=0.25)
    compat, strict = (saturated(one, limits, point(1.0, 0.0), point(velocity=0.0)) for one in (True, False))
    assert only(compat.velocities) == -0.25
    assert only(strict.velocities) == 0.0


def test_a_trajectory_point_with_velocity_zero_beside_a_position() -> None:
    compat, strict = (saturated(one, MOVING, point(0.0, 0.0), point(0.01, 0.0)) for one in (True, False))
    assert only(compat.velocities) == pytest.approx(0.1)
    assert only(strict.velocities) == 0.0


def test_braking_before_both_ends() -> None:
    limits = JointLimits(
        has_position_limits=True,
        min_position=-1.0,
        max_position=1.0,
        has_deceleration_limits=True,
        max_deceleration=7.5,
    )
    for compat, braked in ((True, -2.0), (False, -1.25)):
        result = saturated(compat, limits, point(-0.6, -2.0), point(velocity=-2.0))
        assert only(result.velocities) == pytest.approx(braked)
        result = saturated(compat, limits, point(0.6, 2.0), point(velocity=2.0))
        assert only(result.velocities) == pytest.approx(1.25)


def test_a_trajectory_point_that_cannot_be_limited() -> None:
    doubtful = [
        (point(velocity=0.0), point(9.0)),
        (point(0.0), TrajectoryPoint(accelerations=np.array([9.0]))),
        (point(0.0), point(NAN)),
        (point(NAN), point(9.0)),
        (point(0.0), TrajectoryPoint(positions=np.array([9.0, 9.0]))),
    ]
    for current, desired in doubtful:
        JointSaturationLimiter([MOVING], compat=True).enforce(current, desired, DT)
        with pytest.raises(LimitsError):
            JointSaturationLimiter([MOVING]).enforce(current, desired, DT)


def test_a_trajectory_point_beyond_the_range_after_braking() -> None:
    limits = JointLimits(
        has_position_limits=True,
        min_position=-1.0,
        max_position=1.0,
        has_acceleration_limits=True,
        max_acceleration=1.0,
    )
    compat, strict = (saturated(one, limits, point(0.99, 2.0), point(1.0)) for one in (True, False))
    assert only(compat.positions) > 1.0
    assert only(strict.positions) == 1.0
