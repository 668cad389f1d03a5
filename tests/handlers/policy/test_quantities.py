"""The numbers of values that ceilings bound."""

import math
from typing import Any

import pytest

from handlers.policy.quantities import CEILINGS, Number, beyond, bounded, nearest, quantities_of
from handlers.stack.arm_limits import limits_of
from schema.enums import ControlMode
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.items import CONFIG_ITEMS, ITEMS
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import (
    GravityVector,
    JointAccelerationSoftLimits,
    JointSpeeds,
    LinearTwist,
    Message,
    PayloadInformation,
    ToolConfiguration,
    TwistAngularSoftLimit,
)
from tests.handlers.builders import arm

MODE = ControlMode.CARTESIAN_JOYSTICK


def found(key: str, value: Message, *references: Message) -> list[tuple[Any, ...]]:
    """What, where, how much, in which unit, of which joint."""
    numbers = bounded(ITEMS[key], value, references, limits_of(arm()).joints)
    return [(*number.quantities, number.path, number.value, number.unit, number.name) for number in numbers]


def test_items_of_the_arm_are_bounded_whole() -> None:
    assert found("desired_linear_twist", LinearTwist(0.4)) == [("twist_linear", "linear", 0.4, "m/s", "")]
    assert found("twist_angular_soft_limit", TwistAngularSoftLimit(MODE, 30.0)) == [
        ("twist_angular", "twist_angular_soft_limit", 30.0, "deg/s", "")
    ]
    speeds = found("desired_joint_speeds", JointSpeeds((1.0,) * 7), JointSpeeds((1.0,) * 7))
    assert len(speeds) == 7
    assert speeds[6] == ("velocity", "joint_speed[6]", 1.0, "deg/s", "joint_7")
    accelerations = found("joint_acceleration_soft_limits", JointAccelerationSoftLimits(MODE, (2.0,) * 7))
    assert accelerations[0] == (
        "acceleration", "deceleration", "joint_acceleration_soft_limits[0]", 2.0, "deg/s²", "joint_1",
    )  # fmt: skip
    assert found("payload_information", PayloadInformation(2.5)) == [("payload_mass", "payload_mass", 2.5, "kg", "")]
    assert found("tool_configuration", ToolConfiguration(tool_mass=0.5)) == [("tool_mass", "tool_mass", 0.5, "kg", "")]
    assert found("gravity_vector", GravityVector(0, 0, -9.81)) == []


def test_of_limits_the_numbers_that_change() -> None:
    old = JointLimits(min_position=RepeatedDouble((-1.0,) * 7), max_velocity=RepeatedDouble((1.0,) * 7))
    speeds = RepeatedDouble((1.0, 2.0, *(1.0,) * 5))
    assert found("joint_limits", JointLimits(max_velocity=speeds), old) == [
        ("velocity", "max_velocity.values[1]", 2.0, "rad/s", "joint_2"),
        *(("position_lower", f"min_position.values[{n}]", -math.inf, "rad", f"joint_{n + 1}") for n in range(7)),
    ]
    assert found("joint_limits", old, old) == []
    assert len(found("joint_limits", old)) == 14


def test_a_number_that_equals_one_reference_and_not_the_other_changes() -> None:
    ground, present = (JointLimits(max_velocity=RepeatedDouble((speed,) * 7)) for speed in (1.0, 2.0))
    assert len(found("joint_limits", present, present, ground)) == 7


def test_of_safety_the_soft_ends_of_the_joints_that_change() -> None:
    kept, ranged = JointSafetyGains(1.0, -1.0, 5.0, 5.0), JointSafetyGains(2.0, -2.0, 5.0, 5.0)
    old = JointSafetyMap({"joint_1": kept, "joint_2": kept, "joint_3": kept})
    new = JointSafetyMap({"joint_1": kept, "joint_2": ranged})
    assert found("joint_safety", new, old) == [
        ("position_lower", "joints.joint_2.soft_lower_limit", -2.0, "rad", "joint_2"),
        ("position_upper", "joints.joint_2.soft_upper_limit", 2.0, "rad", "joint_2"),
        ("position_lower", "joints.joint_3.soft_lower_limit", -math.inf, "rad", "joint_3"),
        ("position_upper", "joints.joint_3.soft_upper_limit", math.inf, "rad", "joint_3"),
    ]


def test_of_parameters_what_flags_switch() -> None:
    name = "joint_limits.joint_1"
    old = JointParameterMap({f"{name}.has_velocity_limits": True, f"{name}.max_velocity": 1.0})
    higher = JointParameterMap({f"{name}.has_velocity_limits": True, f"{name}.max_velocity": 2.0})
    off = JointParameterMap({f"{name}.has_velocity_limits": False, f"{name}.max_velocity": 1.0})
    path = f"parameters.{name}.max_velocity"
    assert found("joint_parameters", higher, old) == [("velocity", path, 2.0, "rad/s", "joint_1")]
    assert found("joint_parameters", off, old) == [("velocity", path, math.inf, "rad/s", "joint_1")]
    wraps = JointParameterMap(old.parameters | {f"{name}.angle_wraparound": True})
    assert found("joint_parameters", wraps, old) == []
    soft = {f"{name}.has_soft_limits": True, f"{name}.soft_lower_limit": -1.0, f"{name}.k_position": 3.0}
    assert found("joint_parameters", JointParameterMap(old.parameters | soft), old) == [
        ("position_lower", f"parameters.{name}.soft_lower_limit", -1.0, "rad", "joint_1"),
        ("position_upper", f"parameters.{name}.soft_upper_limit", math.inf, "rad", "joint_1"),
    ]


def test_without_the_joints_of_the_arm_numbers_have_no_names() -> None:
    numbers = list(bounded(ITEMS["desired_joint_speeds"], JointSpeeds((1.0, 2.0)), ()))
    assert [(number.joint, number.name) for number in numbers] == [(1, ""), (2, "")]


def test_what_values_of_an_item_bound() -> None:
    assert quantities_of(ITEMS["gravity_vector"]) == frozenset()
    assert quantities_of(ITEMS["payload_information"]) == {"payload_mass"}
    assert quantities_of(ITEMS["joint_speed_soft_limits"]) == {"velocity"}
    assert quantities_of(ITEMS["joint_safety"]) == {"position_lower", "position_upper"}
    assert quantities_of(ITEMS["joint_limits"]) == set(CEILINGS[:7])
    assert quantities_of(ITEMS["joint_parameters"]) == set(CEILINGS[:7])
    assert {quantity for item in CONFIG_ITEMS for quantity in quantities_of(item)} == set(CEILINGS)


@pytest.mark.parametrize(
    ("number", "ceilings", "bound"),
    [
        (Number(("twist_linear",), "", 0.25, "m/s"), {"twist_linear": 0.25}, None),
        (Number(("twist_linear",), "", 0.2500001, "m/s"), {"twist_linear": 0.25}, None),
        (Number(("twist_linear",), "", 0.26, "m/s"), {"twist_linear": 0.25}, 0.25),
        (Number(("twist_linear",), "", 0.26, "m/s"), {"velocity": 0.1}, None),
        (Number(("velocity",), "", 60.0, "deg/s", math.radians(1)), {"velocity": math.radians(50)}, 50.0),
        (Number(("acceleration", "deceleration"), "", 9.0, ""), {"acceleration": 8.0, "deceleration": 5.0}, 5.0),
        (Number(("position_lower",), "", -2.0, ""), {"position_lower": -1.0}, -1.0),
        (Number(("position_lower",), "", -0.5, ""), {"position_lower": -1.0}, None),
        (Number(("velocity",), "", math.inf, ""), {"velocity": 1.0}, 1.0),
    ],
)
def test_what_exceeds_a_ceiling(number: Number, ceilings: dict[str, float], bound: float | None) -> None:
    assert beyond(number, ceilings) == (None if bound is None else pytest.approx(bound))


def test_the_nearest_value_is_that_of_the_whole_field() -> None:
    ceilings = {"velocity": 1.0}
    assert nearest(Number(("velocity",), "", 2.0, ""), ceilings) == 1.0
    assert nearest(Number(("velocity",), "", 2.0, "", whole=(0.5, 2.0, 3.0)), ceilings) == (0.5, 1.0, 1.0)
