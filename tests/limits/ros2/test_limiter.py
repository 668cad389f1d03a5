import numpy as np
import pytest

from limits.errors import LimitsError
from limits.ros2.arrays import JointValues
from limits.ros2.limiters import JointSaturationLimiter, joint_range_limiter, joint_soft_limiter
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.saturation import TrajectoryPoint
from limits.ros2.updates import Parameter

FAST = JointLimits(has_velocity_limits=True, max_velocity=1.0)


@pytest.mark.parametrize("compat", [True, False])
def test_names_limits_and_soft_limits_have_the_same_count(compat: bool) -> None:
    with pytest.raises(LimitsError, match=r"names and limits differ in count \(got 1, bound 2\)"):
        joint_range_limiter([FAST], ["a", "b"], compat=compat)
    with pytest.raises(LimitsError, match="differ in count"):
        joint_soft_limiter([FAST], [], compat=compat)
    with pytest.raises(LimitsError, match="names and limits differ in count"):
        JointSaturationLimiter([FAST], ["a", "b"], compat=compat)
    with pytest.raises(LimitsError, match="names and limits differ in count"):
        joint_range_limiter([FAST], compat=compat).update([FAST, FAST])


@pytest.mark.parametrize("compat", [True, False])
def test_arrays_have_one_number_a_joint(compat: bool) -> None:
    limiter = joint_range_limiter([FAST], compat=compat)
    wrong = JointValues(velocity=np.zeros(2))
    with pytest.raises(LimitsError, match=r"velocity: needs one number a joint \(got \(2,\), bound \(1,\)\)"):
        limiter.enforce(JointValues(), wrong, 0.1)
    with pytest.raises(LimitsError, match="velocity: needs one number a joint"):
        limiter.configure(wrong)


@pytest.mark.parametrize("compat", [True, False])
def test_parameters_of_one_joint_change_that_joint_alone(compat: bool) -> None:
    limiter = joint_range_limiter([FAST, FAST], ["a", "b"], compat=compat)
    assert not limiter.set_parameters([Parameter("joint_limits.c.max_velocity", 2.0)])
    assert limiter.set_parameters([Parameter("joint_limits.b.max_velocity", 2.0)])
    assert [one.max_velocity for one in limiter.limits] == [1.0, 2.0]
    answer = limiter.enforce(JointValues(), JointValues(velocity=np.array([9.0, 9.0])), 0.1)
    assert answer.desired.velocity is not None
    assert answer.desired.velocity.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("compat", [True, False])
def test_configure_and_reset_set_where_the_next_command_starts(compat: bool) -> None:
    limiter = joint_range_limiter([FAST], compat=compat)
    state, wanted = JointValues(position=np.array([0.0])), JointValues(position=np.array([5.0]))
    limiter.configure(JointValues(position=np.array([2.0])))
    assert limiter.enforce(state, wanted, 0.1).desired.position == pytest.approx(2.1)
    limiter.reset()
    assert limiter.enforce(state, wanted, 0.1).desired.position == pytest.approx(0.1)


def test_a_strict_limiter_starts_from_the_state_where_it_is_told_nothing_finite() -> None:
    limiter = joint_range_limiter([FAST, FAST])
    limiter.configure(JointValues(position=np.array([np.inf, 2.0])))
    answer = limiter.enforce(JointValues(position=np.zeros(2)), JointValues(position=np.array([5.0, np.nan])), 0.1)
    assert answer.desired.position == pytest.approx([0.1, np.nan], nan_ok=True)
    answer = limiter.enforce(JointValues(position=np.zeros(2)), JointValues(position=np.array([5.0, 5.0])), 0.1)
    assert answer.desired.position == pytest.approx([0.2, 2.1])


def test_a_soft_limiter_closes_when_its_hard_range_does() -> None:
    wide = JointLimits(has_position_limits=True, min_position=-2.0, max_position=2.0)
    limiter = joint_soft_limiter([wide], [SoftJointLimits(min_position=-1.5, max_position=1.5)])
    state, wanted = JointValues(position=np.zeros(1)), JointValues(position=np.array([5.0]))
    assert limiter.enforce(state, wanted, 0.1).desired.position == 1.5
    limiter.update([JointLimits(has_position_limits=True, min_position=-1.0, max_position=1.0)])
    assert limiter.enforce(state, wanted, 0.1).desired.position == 1.0


@pytest.mark.parametrize("lower", [2.0, 9.0])
def test_an_update_that_is_refused_changes_nothing(lower: float) -> None:
    wide = JointLimits(has_position_limits=True, min_position=-2.0, max_position=5.0)
    limiter = joint_soft_limiter([wide], [SoftJointLimits(min_position=-1.5, max_position=1.5)])
    with pytest.raises(LimitsError):
        limiter.update([JointLimits(has_position_limits=True, min_position=lower, max_position=5.0)])
    state, wanted = JointValues(position=np.zeros(1)), JointValues(position=np.array([-5.0]))
    assert limiter.enforce(state, wanted, 0.1).desired.position == -1.5
    assert limiter.limits[0] is wide


def test_a_state_outside_is_refused_by_its_joint_and_tolerance() -> None:
    ranged = JointLimits(has_position_limits=True, min_position=-1.0, max_position=1.0)
    limiter = joint_range_limiter([ranged, ranged], ["a", "b"])
    state = JointValues(position=np.array([0.0, 1.5]))
    with pytest.raises(
        LimitsError, match=r"joint b, position: is outside the hard range.*got 1.5, bound \(-1.0, 1.0\)"
    ):
        limiter.enforce(state, JointValues(position=np.zeros(2)), 0.1)
    answer = limiter.enforce(state, JointValues(position=np.array([0.0, np.nan])), 0.1)
    assert not answer.limited.any()


def test_a_saturated_point_tells_whether_it_was_limited() -> None:
    limiter = JointSaturationLimiter([FAST])
    current = TrajectoryPoint(positions=np.zeros(1), velocities=np.zeros(1))
    assert limiter.enforce(current, TrajectoryPoint(velocities=np.array([2.0])), 0.1).limited
    assert not limiter.enforce(current, TrajectoryPoint(velocities=np.array([0.5])), 0.1).limited
    with pytest.raises(LimitsError, match="dt: must be positive and finite"):
        limiter.enforce(current, current, 0.0)
