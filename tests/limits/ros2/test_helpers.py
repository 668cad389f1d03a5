import numpy as np
import pytest

from limits.errors import LimitsError
from limits.ros2.arrays import LimitTable
from limits.ros2.helpers import compute_acceleration_limits, compute_effort_limits, verify_actual_position_within_limits
from limits.ros2.records import JointLimits

WIDE = JointLimits(has_position_limits=True, min_position=-2.0, max_position=2.0)
NARROW = JointLimits(has_position_limits=True, min_position=-1.0, max_position=1.0)


def test_a_position_outside_is_refused_with_joint_value_and_bound() -> None:
    table = LimitTable.of([WIDE, NARROW])
    verify_actual_position_within_limits(table, np.array([1.5, 1.008]))
    verify_actual_position_within_limits(table, np.array([np.nan, np.nan]))
    with pytest.raises(LimitsError) as caught:
        verify_actual_position_within_limits(table, np.array([1.5, 1.5]))
    assert (caught.value.joint, caught.value.key, caught.value.value) == ("#1", "position", 1.5)
    assert caught.value.bound == (-1.0, 1.0)


def test_a_table_gives_what_its_records_give_one_by_one() -> None:
    records = [
        JointLimits(has_effort_limits=True, max_effort=3.0, has_velocity_limits=True, max_velocity=1.0),
        JointLimits(
            has_effort_limits=True, max_effort=4.0, has_position_limits=True, min_position=0.0, max_position=9.0
        ),
    ]
    table, position, velocity = LimitTable.of(records), np.array([0.0, 0.0]), np.array([2.0, -1.0])
    together = compute_effort_limits(table, position, velocity)
    alone = [compute_effort_limits(*one) for one in zip(records, position.tolist(), velocity.tolist(), strict=True)]
    assert np.array_equal(np.transpose(together), np.array(alone))


def test_without_a_velocity_every_acceleration_speeds_up() -> None:
    limits = JointLimits(has_deceleration_limits=True, max_deceleration=1.0)
    assert tuple(map(float, compute_acceleration_limits(limits, 5.0, None))) == (-np.inf, np.inf)
    assert tuple(map(float, compute_acceleration_limits(limits, 5.0, -1.0))) == (-1.0, 1.0)
