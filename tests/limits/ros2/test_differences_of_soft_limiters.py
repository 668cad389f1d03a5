"""Rows of docs/limits_ros2.md: soft limits, as the reference and by default."""

import math
from typing import Any

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.ros2.arrays import JointValues
from limits.ros2.limiter import Enforced
from limits.ros2.limiters import joint_range_limiter, joint_soft_limiter
from limits.ros2.reasons import Reason
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.strict_soft import StrictSoftLimiter

INF, DT = math.inf, 0.1
RANGE = JointLimits(has_position_limits=True, min_position=-1.0, max_position=1.0)
MOVING = JointLimits(
    has_position_limits=True, min_position=-1.0, max_position=1.0, has_velocity_limits=True, max_velocity=0.5
)
SOFT = SoftJointLimits(min_position=-0.5, max_position=0.5, k_position=10.0, k_velocity=5.0)


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


def test_a_first_command_outside_the_hard_range() -> None:
    compat, strict = both(RANGE, values(), values(position=9.0), SOFT)
    assert only(compat.desired.position) == 0.5
    assert only(strict.desired.position) == 0.5
    seeded, refused = (joint_soft_limiter([MOVING], [SoftJointLimits()], compat=compat) for compat in (True, False))
    assert only(seeded.enforce(values(), values(position=9.0), DT).desired.position) == 9.0
    with pytest.raises(LimitsError, match="joint #0, position: is not known, so max_velocity cannot be kept"):
        refused.enforce(values(), values(position=9.0), DT)


def test_a_soft_range_wholly_outside_the_hard_range() -> None:
    soft = SoftJointLimits(min_position=2.0, max_position=3.0)
    compat = joint_soft_limiter([RANGE], [soft], compat=True)
    assert only(compat.enforce(values(position=0.0), values(position=0.5), DT).desired.position) == 2.0
    with pytest.raises(LimitsError, match="the soft range lies outside the hard range"):
        joint_soft_limiter([RANGE], [soft])


def test_a_soft_range_that_is_wider_than_the_hard_range() -> None:
    soft = SoftJointLimits(min_position=-2.0, max_position=0.5)
    limiter = StrictSoftLimiter([RANGE], [soft], ["elbow"])
    assert limiter.soft[0].min_position == -1.0
    (note,) = limiter.diagnostics
    assert note[:4] == ("elbow", "soft_lower_limit", -2.0, "is outside the hard range; -1.0 is used")


def test_a_k_velocity_of_zero() -> None:
    limits = JointLimits(has_effort_limits=True, max_effort=5.0, has_velocity_limits=True, max_velocity=1.0)
    soft = SoftJointLimits(k_velocity=0.0)
    compat, strict = both(limits, values(position=0.0, velocity=0.0), values(effort=4.0), soft)
    assert only(compat.desired.effort) == 0.0
    assert only(strict.desired.effort) == 4.0
    (note,) = StrictSoftLimiter([limits], [soft]).diagnostics
    assert note.key == "k_velocity"


def test_a_k_position_of_zero() -> None:
    soft = SoftJointLimits(min_position=-0.5, max_position=0.5, k_position=0.0)
    compat, strict = both(MOVING, values(position=0.49), values(velocity=0.5), soft)
    assert only(compat.desired.velocity) == 0.5
    assert only(strict.desired.velocity) == pytest.approx(0.1)
    (note,) = StrictSoftLimiter([MOVING], [soft]).diagnostics
    assert note.key == "k_position"


def test_a_joint_outside_its_soft_range() -> None:
    compat, strict = both(MOVING, values(position=0.7), values(velocity=0.0), SOFT)
    assert only(compat.desired.velocity) == pytest.approx(-math.pi / 180.0)
    assert only(strict.desired.velocity) == 0.0
    _, outwards = both(MOVING, values(position=0.7), values(velocity=0.2, position=0.8), SOFT)
    assert only(outwards.desired.velocity) == 0.0
    assert only(outwards.desired.position) == 0.7
    assert outwards.reasons["velocity"][0] == outwards.reasons["position"][0] == Reason.SOFT_POSITION
    _, back = both(MOVING, values(position=0.7), values(velocity=-0.4, position=0.66), SOFT)
    assert not back.limited.any()


def test_negative_gains_and_half_a_soft_range() -> None:
    for soft in (SoftJointLimits(k_position=-1.0), SoftJointLimits(min_position=0.0), SoftJointLimits(k_velocity=INF)):
        joint_soft_limiter([RANGE], [soft], compat=True)
        with pytest.raises(LimitsError, match="joint #0"):
            joint_soft_limiter([RANGE], [soft])


def test_soft_velocity_bounds_and_a_velocity_command_in_the_same_call() -> None:
    limits = JointLimits(
        has_velocity_limits=True,
        max_velocity=1.0,
        has_acceleration_limits=True,
        max_acceleration=1.0,
        has_effort_limits=True,
        max_effort=50.0,
    )
    soft = SoftJointLimits(k_velocity=10.0)
    for compat, same in ((True, False), (False, True)):
        efforts = [
            only(
                joint_soft_limiter([limits], [soft], compat=compat)
                .enforce(values(position=0.0, velocity=0.5), desired, DT)
                .desired.effort
            )
            for desired in (values(effort=40.0), values(effort=40.0, velocity=0.5))
        ]
        assert (efforts[0] == efforts[1]) is same


def test_a_velocity_far_above_the_soft_bounds() -> None:
    limits = JointLimits(
        has_position_limits=True,
        min_position=-1.0,
        max_position=1.0,
        has_velocity_limits=True,
        max_velocity=0.5,
        has_acceleration_limits=True,
        max_acceleration=1.0,
    )
    state = values(position=0.0, velocity=5.0)
    compat, strict = both(limits, state, values(velocity=0.2), SOFT)
    assert only(compat.desired.velocity) == 0.5
    assert only(strict.desired.velocity) == 0.5
    assert strict.reasons["velocity"][0] == Reason.MAX_ACCELERATION
