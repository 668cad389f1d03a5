import math

import msgspec
import pytest

from limits.errors import LimitsError
from limits.formats.diagnostics import Diagnostic
from limits.formats.urdf_checks import check_limit, check_safety, diagnose
from limits.formats.urdf_records import JointType, UrdfJoint, UrdfLimit, UrdfMimic, UrdfRobot, UrdfSafety

LIMIT = UrdfLimit(lower=-1.0, upper=2.0, effort=30.0, velocity=1.5)
SAFETY = UrdfSafety(soft_lower_limit=-0.5, soft_upper_limit=1.5, k_position=10.0, k_velocity=20.0)
JOINT = UrdfJoint(name="j", type=JointType.REVOLUTE, parent="a", child="b", limit=LIMIT, safety=SAFETY)


def doubts(*joints: UrdfJoint, unread: tuple[str, ...] = ()) -> list[tuple[str | None, str]]:
    found = diagnose(UrdfRobot(name="r", joints=joints, unread=unread))
    assert all(isinstance(doubt, Diagnostic) and doubt.reason for doubt in found)
    return [(doubt.joint, doubt.key) for doubt in found]


def changed(**fields: object) -> UrdfJoint:
    return msgspec.structs.replace(JOINT, **fields)


def test_sound_numbers_pass() -> None:
    check_limit(LIMIT)
    check_limit(UrdfLimit())
    check_safety(SAFETY)
    check_safety(UrdfSafety(soft_lower_limit=-1.0))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused(value: float) -> None:
    for key in UrdfLimit.__struct_fields__:
        with pytest.raises(LimitsError, match="not finite") as caught:
            check_limit(UrdfLimit(**{key: value}), joint="j", file="f")
        assert (caught.value.key, caught.value.joint, caught.value.file) == (key, "j", "f")


def test_ends_out_of_order_name_both() -> None:
    with pytest.raises(LimitsError) as caught:
        check_limit(UrdfLimit(lower=2.0, upper=1.0))
    assert (caught.value.value, caught.value.bound) == (2.0, 1.0)
    with pytest.raises(LimitsError) as caught:
        check_safety(UrdfSafety(soft_upper_limit=-1.0))
    assert (caught.value.key, caught.value.value, caught.value.bound) == ("soft_lower_limit", 0.0, -1.0)


def test_nothing_is_doubtful_about_a_sound_joint() -> None:
    assert doubts(JOINT) == []
    assert doubts(changed(type=JointType.FIXED, limit=None, safety=None)) == []


@pytest.mark.parametrize(
    ("joint", "keys"),
    [
        (changed(type=JointType.CONTINUOUS, limit=None), ["limit"]),
        (changed(type=JointType.CONTINUOUS, limit=UrdfLimit(effort=1.0, velocity=1.0)), []),
        (changed(type=JointType.CONTINUOUS), ["lower", "upper"]),
        (changed(limit=UrdfLimit(effort=1.0, velocity=1.0), safety=None), ["lower", "upper", "lower"]),
        (changed(limit=msgspec.structs.replace(LIMIT, velocity=0.0)), ["velocity"]),
        (changed(limit=msgspec.structs.replace(LIMIT, effort=0.0)), ["effort"]),
        (changed(safety=UrdfSafety(k_velocity=1.0)), ["k_position"]),
        (changed(safety=msgspec.structs.replace(SAFETY, k_velocity=0.0)), ["k_velocity"]),
        (changed(safety=msgspec.structs.replace(SAFETY, soft_lower_limit=-1.1)), ["soft_lower_limit"]),
        (changed(safety=msgspec.structs.replace(SAFETY, soft_upper_limit=2.1)), ["soft_upper_limit"]),
    ],
)
def test_what_is_doubtful_is_pointed_out(joint: UrdfJoint, keys: list[str]) -> None:
    assert doubts(joint) == [("j", key) for key in keys]


def test_an_element_that_was_not_read_is_pointed_out() -> None:
    assert doubts(JOINT, unread=("ros2_control",)) == [(None, "ros2_control")]


@pytest.mark.parametrize(
    ("mimic", "doubtful"),
    [
        (UrdfMimic(joint="j"), False),
        (UrdfMimic(joint="j", multiplier=-1.0), True),
        (UrdfMimic(joint="j", multiplier=-1.0, offset=1.0), False),
        (UrdfMimic(joint="j", offset=0.1), True),
        (UrdfMimic(joint="nobody", offset=9.0), False),
    ],
)
def test_a_mimic_that_leaves_its_range_is_pointed_out(mimic: UrdfMimic, doubtful: bool) -> None:
    follower = UrdfJoint(name="k", type=JointType.PRISMATIC, parent="b", child="c", limit=LIMIT, mimic=mimic)
    assert doubts(JOINT, follower) == ([("k", "mimic")] if doubtful else [])


def test_a_mimic_without_a_range_says_nothing() -> None:
    follower = changed(name="k", type=JointType.CONTINUOUS, safety=None, limit=UrdfLimit(effort=1.0, velocity=1.0))
    assert doubts(JOINT, msgspec.structs.replace(follower, mimic=UrdfMimic(joint="j", offset=9.0))) == []
