import math

import pytest

from limits.errors import LimitsError
from limits.formats.urdf_records import UrdfSafety
from limits.tesseract.joint_safety import (
    JointSafety,
    almost_equal,
    check_joint_safety,
    joint_safety_equal,
    joint_safety_from_urdf,
    joint_safety_to_urdf,
)

SAFETY = JointSafety(soft_upper_limit=1.0, soft_lower_limit=-1.0, k_position=10.0, k_velocity=20.0)


def test_the_record_takes_keywords_only() -> None:
    with pytest.raises(TypeError):
        JointSafety(1.0, -1.0, 10.0, 20.0)  # type: ignore[call-arg]  # the order of the original is refused on purpose


def test_clear_gives_four_zeros_and_keeps_the_record() -> None:
    assert SAFETY.clear() == JointSafety(soft_upper_limit=0.0, soft_lower_limit=0.0, k_position=0.0, k_velocity=0.0)
    assert SAFETY.soft_upper_limit == 1.0


def test_equality_has_the_tolerances_of_the_original() -> None:
    near = JointSafety(soft_upper_limit=1.0 + 9e-7, soft_lower_limit=-1.0, k_position=10.0, k_velocity=20.0)
    far = JointSafety(soft_upper_limit=1.0 + 1.8e-6, soft_lower_limit=-1.0, k_position=10.0, k_velocity=20.0)
    assert near != SAFETY
    assert joint_safety_equal(SAFETY, near)
    assert joint_safety_equal(near, far)
    assert not joint_safety_equal(SAFETY, far)
    assert not joint_safety_equal(JointSafety(k_position=math.nan), JointSafety(k_position=math.nan))
    assert not joint_safety_equal(JointSafety(k_position=math.inf), JointSafety(k_position=math.inf))


def test_almost_equal_compares_arrays() -> None:
    assert almost_equal([1.0, 1e9, math.inf], [1.1, 1e9 + 1e-7, 0.0]).tolist() == [False, True, True]
    assert almost_equal(1.0, 1.05, max_diff=0.0, max_rel_diff=0.05).all()


def test_a_record_that_makes_no_sense_is_refused() -> None:
    check_joint_safety(SAFETY)
    check_joint_safety(JointSafety())
    for bad, key in (
        (JointSafety(k_position=-1.0), "k_position"),
        (JointSafety(k_velocity=math.nan), "k_velocity"),
        (JointSafety(soft_upper_limit=math.inf), "soft_upper_limit"),
        (JointSafety(soft_upper_limit=-1.0), "soft_lower_limit"),
    ):
        with pytest.raises(LimitsError) as caught:
            check_joint_safety(bad, joint="elbow", file="f")
        assert (caught.value.joint, caught.value.file, caught.value.key) == ("elbow", "f", key)


def test_urdf_and_back() -> None:
    assert joint_safety_from_urdf(joint_safety_to_urdf(SAFETY)) == SAFETY
    assert joint_safety_from_urdf(UrdfSafety(k_velocity=2.0)) == JointSafety(k_velocity=2.0)
