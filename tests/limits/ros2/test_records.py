import math
import sys

import pytest

from limits.ros2.records import JointLimits, SoftJointLimits


def test_disabling_all_clears_the_flags_and_opens_the_numbers() -> None:
    limits = JointLimits(has_position_limits=True, min_position=-1.0, max_effort=3.0, angle_wraparound=True)
    disabled = limits.disable_all()
    assert not any(getattr(disabled, name) for name in disabled.__struct_fields__ if name.startswith("has_"))
    numbers = {name: getattr(disabled, name) for name in disabled.__struct_fields__ if name.startswith("m")}
    assert numbers.pop("min_position") == -sys.float_info.max
    assert set(numbers.values()) == {sys.float_info.max}
    assert disabled.angle_wraparound


def test_nothing_is_given_by_default() -> None:
    assert math.isnan(JointLimits().min_position)
    assert JointLimits().has_position_limits is False
    assert math.isnan(SoftJointLimits().k_velocity)


@pytest.mark.parametrize(
    ("soft", "ranged", "limited"),
    [
        (SoftJointLimits(min_position=0.0, max_position=1.0, k_position=-2.0), True, True),
        (SoftJointLimits(min_position=0.0, max_position=1.0, k_position=1e-11), True, False),
        (SoftJointLimits(min_position=0.0, max_position=1e-11, k_position=2.0), False, False),
        (SoftJointLimits(min_position=0.0, k_position=2.0), False, False),
    ],
)
def test_the_soft_predicates(soft: SoftJointLimits, ranged: bool, limited: bool) -> None:
    assert soft.has_soft_position_limits() is ranged
    assert soft.has_soft_limits() is limited
