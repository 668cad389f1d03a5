"""Parameters of joint limits; the two texts are the structure and values of the package's own documentation."""

import math

import pytest

from limits.errors import LimitsError
from limits.formats.diagnostics import Weight
from limits.formats.ros_yaml import write_parameters
from limits.ros2.keys import HARD_KEYS, SOFT_KEYS
from limits.ros2.parameters import (
    as_parameters,
    declare_parameters,
    get_joint_limits,
    joint_names,
    load_joint_limits,
)
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.store import ParameterStore

HARD_EXAMPLE = """
node_name:
  ros__parameters:
    joint_limits:
      foo_joint:
        has_position_limits: true
        min_position: 0.0
        max_position: 1.0
        has_velocity_limits: true
        max_velocity: 2.0
        has_acceleration_limits: true
        max_acceleration: 5.0
        has_jerk_limits: true
        max_jerk: 100.0
        has_effort_limits: true
        max_effort: 20.0
      bar_joint:
        has_position_limits: false   # Continuous joint
        angle_wraparound: true       # available only for continuous joints
        has_velocity_limits: true
        max_velocity: 4.0
"""
SOFT_EXAMPLE = """
node_name:
  ros__parameters:
    joint_limits:
      foo_joint:
        soft_lower_limit: 0.0
        soft_upper_limit: 1.0
        k_position: 10.0
        k_velocity: 10.0
"""


@pytest.mark.parametrize("compat", [True, False])
def test_the_documented_hard_example(compat: bool) -> None:
    store = ParameterStore.read(HARD_EXAMPLE, compat=compat)
    found, foo = get_joint_limits("foo_joint", store, JointLimits())
    assert found
    flags = {f"has_{name}_limits": True for name in ("position", "velocity", "acceleration", "jerk", "effort")}
    assert as_parameters("j", foo) == as_parameters(
        "j",
        JointLimits(
            **flags,
            min_position=0.0,
            max_position=1.0,
            max_velocity=2.0,
            max_acceleration=5.0,
            max_jerk=100.0,
            max_effort=20.0,
        ),
    )
    found, bar = get_joint_limits("bar_joint", store, JointLimits(has_position_limits=True))
    assert found
    assert (bar.has_position_limits, bar.angle_wraparound, bar.max_velocity) == (False, True, 4.0)
    assert not store.diagnostics


def test_the_documented_soft_example() -> None:
    store = ParameterStore.read(SOFT_EXAMPLE, "node_name")
    expected = SoftJointLimits(min_position=0.0, max_position=1.0, k_position=10.0, k_velocity=10.0)
    assert get_joint_limits("foo_joint", store, SoftJointLimits()) == (True, expected)


def test_declaring_gives_nineteen_parameters_with_their_defaults() -> None:
    store = ParameterStore({}, compat=True)
    assert declare_parameters("j", store)
    assert len(HARD_KEYS + SOFT_KEYS) == 19
    for key in HARD_KEYS + SOFT_KEYS:
        name = f"joint_limits.j.{key}"
        assert store.has(name)
        if key.startswith(("has_", "angle_")):
            assert store.flag(name) is False
        else:
            assert math.isnan(store.number(name))
    assert store.names() == ()


def test_declaring_stops_at_a_wrong_type() -> None:
    store = ParameterStore(
        {"joint_limits.j.max_velocity": "fast", "joint_limits.j.has_effort_limits": 1.0}, compat=True
    )
    assert not declare_parameters("j", store)
    assert store.has("joint_limits.j.has_velocity_limits")
    assert not store.has("joint_limits.j.has_acceleration_limits")
    assert store.diagnostics[0].key == "max_velocity"
    assert not declare_parameters("j", ParameterStore({"joint_limits.j.has_position_limits": "true"}))


def test_what_does_not_count_is_told() -> None:
    text = """
    joint_limits:
      j: {max_effort: 3.0, angle_wraparound: true, has_jerk_limits: false, max_spin: 1.0, has_soft_limits: false}
      j.k: {max_effort: 3.0}
    """
    store = ParameterStore.read(text)
    assert get_joint_limits("j", store, JointLimits()) == (True, JointLimits())
    assert [(note.joint, note.key) for note in store.diagnostics] == [
        ("j", "max_effort"),
        ("j", "angle_wraparound"),
        ("j", "max_spin"),
    ]
    assert get_joint_limits("j", store, SoftJointLimits(k_velocity=1.0)) == (False, SoftJointLimits(k_velocity=1.0))


def test_an_incomplete_soft_set_without_its_flag_is_told() -> None:
    store = ParameterStore.read("joint_limits: {j: {k_position: 1.0, soft_lower_limit: -0.5}}")
    assert get_joint_limits("j", store, SoftJointLimits())[0] is False
    reason = "does not count, because k_velocity and soft_upper_limit of the soft limits are not given"
    assert store.diagnostics == [
        ("j", "k_position", 1.0, reason, Weight.LOSS),
        ("j", "soft_lower_limit", -0.5, reason, Weight.LOSS),
    ]
    assert get_joint_limits("other", store, SoftJointLimits())[0] is False


def test_loading_a_robot_tells_of_joints_that_only_one_side_knows() -> None:
    store = ParameterStore.read(HARD_EXAMPLE)
    assert joint_names(store) == ("foo_joint", "bar_joint")
    foo, baz = load_joint_limits(["foo_joint", "baz_joint"], store)
    assert (foo.joint, foo.found, foo.soft) == ("foo_joint", True, None)
    assert (baz.found, baz.limits) == (False, JointLimits())
    assert [(note.joint, note.reason) for note in store.diagnostics] == [
        ("bar_joint", "has limits, but is no joint of the robot"),
        ("baz_joint", "no limits are given for this joint"),
    ]


def test_loading_refuses_a_joint_named_twice_and_a_wrong_type() -> None:
    with pytest.raises(LimitsError, match="joint a: is named twice"):
        load_joint_limits(["a", "a"], ParameterStore({}))
    store = ParameterStore({"joint_limits.a.max_jerk": (1.0, 2.0)}, compat=True, file="f.yaml")
    with pytest.raises(LimitsError, match=r"f\.yaml, joint a, max_jerk: is of type array, not double"):
        load_joint_limits(["a"], store)


def test_limits_are_written_so_that_they_are_read_back() -> None:
    hard = JointLimits(
        has_position_limits=True, min_position=-1.0, max_position=2.0, has_effort_limits=True, max_effort=87.0
    )
    soft = SoftJointLimits(min_position=-0.5, max_position=1.5, k_position=10.0, k_velocity=1e16)
    text = write_parameters(as_parameters("elbow", hard, soft), "arm")
    assert "max_effort: 87.0" in text
    for compat in (True, False):
        store = ParameterStore.read(text, compat=compat)
        assert as_parameters("e", get_joint_limits("elbow", store, JointLimits())[1]) == as_parameters("e", hard)
        assert get_joint_limits("elbow", store, SoftJointLimits()) == (True, soft)
