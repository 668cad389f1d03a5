import math

import pytest

from limits.errors import LimitsError
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.validity import check_limits, check_soft_limits, clip_to_hard

HARD = JointLimits(has_position_limits=True, min_position=-1.0, max_position=1.0)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (JointLimits(has_effort_limits=True), r"f, joint j, max_effort: has_effort_limits is true.*got nan"),
        (JointLimits(has_jerk_limits=True, max_jerk=math.inf), "max_jerk: .* must be finite"),
        (
            JointLimits(has_velocity_limits=True, max_velocity=-1.0),
            r"max_velocity: is negative \(got -1.0, bound 0.0\)",
        ),
        (
            JointLimits(has_position_limits=True, min_position=1.0, max_position=0.0),
            r"min_position: is above max_position \(got 1.0, bound 0.0\)",
        ),
    ],
)
def test_hard_limits_that_are_refused(limits: JointLimits, message: str) -> None:
    with pytest.raises(LimitsError, match=message):
        check_limits(limits, "j", "f")


def test_hard_limits_that_are_accepted() -> None:
    check_limits(JointLimits(min_position=1.0, max_position=0.0, max_effort=-math.inf), "j")
    check_limits(JointLimits(has_position_limits=True, min_position=0.0, max_position=0.0), "j")


@pytest.mark.parametrize(
    ("soft", "message"),
    [
        (SoftJointLimits(k_velocity=math.inf), "k_velocity: must be finite"),
        (SoftJointLimits(k_position=-1.0), r"k_position: a gain is not negative \(got -1.0, bound 0.0\)"),
        (SoftJointLimits(min_position=0.0), "soft_upper_limit: the other end of the soft range is given"),
        (SoftJointLimits(max_position=0.0), "soft_lower_limit: the other end of the soft range is given"),
        (SoftJointLimits(min_position=1.0, max_position=1.0), "soft_lower_limit: the soft range is empty"),
    ],
)
def test_soft_limits_that_are_refused(soft: SoftJointLimits, message: str) -> None:
    with pytest.raises(LimitsError, match=message):
        check_soft_limits(soft, "j", "f")


def test_soft_limits_are_clipped_to_both_ends_and_zero_gains_told() -> None:
    soft = SoftJointLimits(min_position=-3.0, max_position=3.0, k_position=0.0, k_velocity=0.0)
    clipped, notes = clip_to_hard(soft, HARD, "j")
    assert (clipped.min_position, clipped.max_position) == (-1.0, 1.0)
    assert [note.key for note in notes] == ["k_position", "k_velocity", "soft_lower_limit", "soft_upper_limit"]
    assert clip_to_hard(soft, JointLimits(), "j")[0] is soft
