import math

from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.updates import Parameter, check_for_limits_update, check_for_soft_limits_update


def own(**given: bool | float | str) -> list[Parameter]:
    return [Parameter(f"joint_limits.j.{key}", value) for key, value in given.items()]


def test_a_flag_needs_its_number() -> None:
    changed, limits = check_for_limits_update("j", own(has_velocity_limits=True), JointLimits())
    assert (changed, limits.has_velocity_limits) == (False, False)
    changed, limits = check_for_limits_update("j", own(has_velocity_limits=True, max_velocity=2.0), JointLimits())
    assert (changed, limits.has_velocity_limits, limits.max_velocity) == (True, True, 2.0)


def test_wraparound_needs_position_limits_off() -> None:
    limits = JointLimits(has_position_limits=True, min_position=0.0, max_position=1.0)
    assert check_for_limits_update("j", own(angle_wraparound=True), limits)[0] is False
    _, after = check_for_limits_update("j", own(has_position_limits=False, angle_wraparound=True), limits)
    assert after.angle_wraparound


def test_wrong_types_and_other_joints_are_skipped() -> None:
    given = [*own(max_velocity="3", has_jerk_limits=1.0), Parameter("joint_limits.j2.max_velocity", 3.0)]
    changed, limits = check_for_limits_update("j", given, JointLimits())
    assert not changed
    assert math.isnan(limits.max_velocity)


def test_soft_numbers_change_unless_soft_limits_are_switched_off() -> None:
    soft = SoftJointLimits(min_position=0.0, max_position=1.0, k_position=2.0, k_velocity=3.0)
    changed, after = check_for_soft_limits_update("j", own(soft_upper_limit=0.5, k_velocity=3.0), soft)
    assert changed
    assert after == SoftJointLimits(min_position=0.0, max_position=0.5, k_position=2.0, k_velocity=3.0)
    assert check_for_soft_limits_update("j", own(soft_upper_limit=0.5, k_velocity=3.0), soft, compat=True)[0] is False
    assert check_for_soft_limits_update("j", own(k_position=9.0, has_soft_limits=False), soft) == (False, soft)
