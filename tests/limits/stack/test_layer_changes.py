"""A change of each layer moves the effective limits as docs/limits.md says: one test a row of its table."""

from typing import Any

import pytest

from limits.conversion.formats import Format
from limits.conversion.layers import layers_of
from limits.conversion.limit_set import JointNumbers, LimitedJoint, LimitSet
from limits.conversion.ros import limits_of_parameters
from limits.conversion.skeleton import limits_from_skeleton, limits_to_skeleton
from limits.conversion.urdf import limits_from_urdf, limits_to_urdf
from limits.formats.urdf_records import JointType
from limits.intrinsic.joint_limits import simple_limits
from limits.intrinsic.joint_limits_messages import merge_joint_limits
from limits.ros2.store import ParameterStore
from limits.stack.fold import Effective, fold, tighter
from limits.stack.joints import ArmJoints
from limits.stack.law import state_bounds
from limits.stack.layer import Layer, LayerKind, Origin, Stack
from limits.stack.sources import (
    application_layer,
    kinova_layer,
    safety_layer,
    site_layer,
)
from limits.tesseract.joint_safety import JointSafety
from schema.enums import ControlMode
from schema.intrinsic import JointLimitsUpdate, RepeatedDouble
from schema.messages import KinematicLimits

ARM = ArmJoints(("shoulder", "elbow"), (JointType.REVOLUTE, JointType.REVOLUTE))
MAKER = Origin("hard:device", "arm", 1)
FILE = Origin("file", "config", 0)
ALICE = Origin("application", "alice/hmi", 2)
SAFETY = JointSafety(soft_lower_limit=-1.0, soft_upper_limit=1.0, k_position=10.0, k_velocity=5.0)
DEGREES = 57.29577951308232


def base(*more: Layer) -> Effective:
    """An arm whose maker gives ±2 rad, 2 rad/s, 4 rad/s², 30 N·m and 0.5 m/s."""
    ceilings = ARM.ceilings(
        {
            "position_lower": [-2.0, -2.0],
            "position_upper": [2.0, 2.0],
            "velocity": [2.0, 2.0],
            "acceleration": [4.0, 4.0],
            "effort": [30.0, 30.0],
            "twist_linear": 0.5,
        }
    )
    return fold(Stack.of(ARM, [Layer(LayerKind.HARD, MAKER, ceilings), *more]))


def moved(*more: Layer, mode: ControlMode | None = None) -> dict[tuple[str, str | None], float]:
    """What the layers move, by quantity and joint."""
    before, after = base(), base(*more)
    places = [ARM.named(cell) for cell in range(ARM.cells)]
    found = {
        place: after.value(*place, mode) for place in places if after.value(*place, mode) != before.value(*place, mode)
    }
    assert all(after.layer(*place, mode) in more for place in found)
    return found


def robot(**joint: Any) -> Any:
    limits = JointNumbers(position_lower=-3.0, position_upper=3.0, velocity=9.0, effort=99.0)
    joints = (LimitedJoint(name="shoulder", **{"limits": limits, **joint}), LimitedJoint(name="elbow", limits=limits))
    return LimitSet(joints=joints)


def test_hard_limits_of_the_device() -> None:
    slower = kinova_layer(ARM, KinematicLimits(0, 0.25, 0.0, (1.0 * DEGREES, 9.0 * DEGREES)), MAKER)
    assert moved(slower) == {("velocity", "shoulder"): pytest.approx(1.0), ("twist_linear", None): 0.25}


def test_limits_of_a_urdf() -> None:
    numbers = JointNumbers(position_lower=-3.0, position_upper=1.5, velocity=1.0, effort=99.0)
    found = layers_of(ARM, limits_from_urdf(limits_to_urdf(robot(limits=numbers))), Format.URDF, FILE)
    assert moved(*found.layers) == {("position_upper", "shoulder"): 1.5, ("velocity", "shoulder"): 1.0}


def test_limits_of_ros2_control() -> None:
    joint = '<joint name="elbow"><command_interface name="velocity"><param name="max">0.8</param></command_interface>'
    text = limits_to_urdf(robot()).replace(
        b"</robot>", f"<ros2_control>{joint}</joint></ros2_control></robot>".encode()
    )
    found = layers_of(ARM, limits_from_urdf(text), Format.URDF, FILE)
    assert moved(*found.layers) == {("velocity", "elbow"): 0.8}


def test_a_safety_controller_of_a_urdf() -> None:
    found = layers_of(ARM, limits_from_urdf(limits_to_urdf(robot(safety=SAFETY))), Format.URDF, FILE)
    assert moved(*found.layers) == {("position_lower", "shoulder"): -1.0, ("position_upper", "shoulder"): 1.0}


def ros(**parameters: float | bool) -> tuple[Layer, ...]:
    store = ParameterStore({f"joint_limits.elbow.{key}": value for key, value in parameters.items()})
    return layers_of(ARM, limits_of_parameters(store), Format.ROS, FILE).layers


def test_limits_of_ros_parameters() -> None:
    assert moved(*ros(has_velocity_limits=True, max_velocity=0.5)) == {("velocity", "elbow"): 0.5}
    assert moved(*ros(has_velocity_limits=False, max_velocity=0.5)) == {}


def test_soft_limits_of_ros_parameters() -> None:
    layers = ros(
        has_soft_limits=True,
        soft_lower_limit=-1.0,
        soft_upper_limit=3.0,
        k_position=0.0,
        k_velocity=0.0,
    )
    assert moved(*layers) == {("position_lower", "elbow"): -1.0}


def test_system_and_soft_limits_of_a_skeleton() -> None:
    hard = JointNumbers(position_upper=1.5, velocity=1.0)
    soft = JointNumbers(position_upper=1.25, velocity=1.0)
    limits = robot(limits=hard, soft=soft)
    found = layers_of(ARM, limits_from_skeleton(limits_to_skeleton(limits)), Format.SKELETON, FILE)
    assert moved(*found.layers) == {("position_upper", "shoulder"): 1.25, ("velocity", "shoulder"): 1.0}


def test_an_update_of_the_application_limits() -> None:
    given = simple_limits(dof=2, position=9.0, velocity=9.0, acceleration=9.0, jerk=9.0)
    updated = merge_joint_limits(given, JointLimitsUpdate(max_velocity=RepeatedDouble((0.0, 9.0))))
    jerks = {("jerk", name): 9.0 for name in ARM.names}
    assert moved(application_layer(ARM, given, ALICE)) == jerks
    assert moved(application_layer(ARM, updated, ALICE)) == {**jerks, ("velocity", "shoulder"): 0.0}


def test_soft_limits_of_a_control_mode() -> None:
    slow = kinova_layer(ARM, KinematicLimits(ControlMode.ANGULAR_JOYSTICK, 0.0, 0.0, (0.5 * DEGREES,) * 2), ALICE)
    expected = {("velocity", name): pytest.approx(0.5) for name in ARM.names}
    assert moved(slow, mode=ControlMode.ANGULAR_JOYSTICK) == expected
    assert moved(slow, mode=ControlMode.ANGULAR_TRAJECTORY) == {}
    assert moved(slow, mode=None) == expected


def test_a_twist_that_is_reset() -> None:
    unset = kinova_layer(ARM, KinematicLimits(ControlMode.CARTESIAN_JOYSTICK), ALICE)
    assert moved(unset, mode=ControlMode.CARTESIAN_JOYSTICK) == {}


def test_joint_safety() -> None:
    layer = safety_layer(ARM, {"elbow": SAFETY}, ALICE)
    assert moved(layer) == {("position_lower", "elbow"): -1.0, ("position_upper", "elbow"): 1.0}
    bounds = state_bounds(base(layer), None, [0.9, 0.9], [0.0, 0.0])
    assert bounds.velocity_max == pytest.approx([2.0, 1.0])


def test_a_joint_safety_that_is_cleared() -> None:
    layer = safety_layer(ARM, {"elbow": SAFETY.clear()}, ALICE)
    assert moved(layer) == {("velocity", "elbow"): 0.0, ("effort", "elbow"): 0.0}


def test_site_caps() -> None:
    caps = site_layer(ARM, {"velocity": {"elbow": 0.1}, "acceleration": 1.0, "twist_linear": 0.25}, FILE)
    assert moved(caps) == {
        ("velocity", "elbow"): 0.1,
        ("acceleration", "shoulder"): 1.0,
        ("acceleration", "elbow"): 1.0,
        ("deceleration", "shoulder"): 1.0,
        ("deceleration", "elbow"): 1.0,
        ("twist_linear", None): 0.25,
    }


def test_a_looser_number_moves_nothing_and_a_removed_layer_loosens() -> None:
    assert moved(site_layer(ARM, {"velocity": 99.0}, FILE)) == {}
    capped, free = base(site_layer(ARM, {"velocity": 0.5}, FILE)), base()
    assert (capped.value("velocity", "elbow"), free.value("velocity", "elbow")) == (0.5, 2.0)
    assert tighter(capped, free).value("velocity", "elbow") == 0.5
