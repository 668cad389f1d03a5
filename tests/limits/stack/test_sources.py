import math
from collections.abc import Callable

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.formats.intrinsic_files import read_skeleton, write_message
from limits.formats.urdf import read_urdf
from limits.intrinsic.joint_limits import simple_limits
from limits.kinova_models import MODELS
from limits.ros2.parameters import joint_names, load_joint_limits
from limits.ros2.store import ParameterStore
from limits.stack.fold import fold
from limits.stack.joints import Bounds
from limits.stack.layer import LayerKind, Origin, Stack
from limits.stack.sources import (
    application_layer,
    joints_of_model,
    kinova_layer,
    ros_layers,
    safety_layer,
    site_layer,
    skeleton_layers,
    urdf_layers,
)
from limits.tesseract.joint_safety import JointSafety
from schema.enums import ControlMode
from schema.intrinsic import Element, Joint, JointParameters, LimitPair, Limits, Link, Point, Skeleton
from schema.messages import KinematicLimits
from tests.limits.stack.arms import ALICE, MAKER, SITE, TWO

URDF = """<robot name="r"><link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/>
<joint name="shoulder" type="continuous"><parent link="a"/><child link="b"/>
  <limit velocity="2" effort="30" acceleration="4"/></joint>
<joint name="elbow" type="prismatic"><parent link="b"/><child link="c"/>
  <limit lower="-1" upper="1" velocity="3" effort="40"/>
  <safety_controller soft_lower_limit="-0.5" soft_upper_limit="0.5" k_position="10" k_velocity="5"/></joint>
<joint name="tool" type="fixed"><parent link="c"/><child link="d"/></joint>
<joint name="finger" type="continuous"><parent link="d"/><child link="e"/></joint></robot>"""

YAML = """driver:
  ros__parameters:
    joint_limits:
      elbow:
        has_velocity_limits: true
        max_velocity: 1.5
        has_position_limits: true
        min_position: -2.0
        max_position: 2.0
        has_soft_limits: true
        soft_lower_limit: -1.0
        soft_upper_limit: 1.0
        k_position: 4.0
        k_velocity: 2.0
"""


def numbers(*layers: object) -> Bounds:
    return fold(Stack.of(TWO, layers)).at(None)  # type: ignore[arg-type]  # always layers


def test_a_message_without_a_mode_is_hard_and_one_with_a_mode_soft() -> None:
    hard = kinova_layer(TWO, KinematicLimits(0, 0.5, 90.0, (180.0, 90.0), (180.0, 180.0)), MAKER)
    assert (hard.kind, hard.mode) == (LayerKind.HARD, None)
    bounds = TWO.bounds(hard.ceilings)
    np.testing.assert_allclose(bounds.velocity, [math.pi, math.pi / 2])
    np.testing.assert_allclose(bounds.deceleration, [math.pi, math.pi])
    assert bounds.twist_linear == 0.5
    assert bounds.twist_angular == pytest.approx(math.pi / 2)
    soft = kinova_layer(TWO, KinematicLimits(2, 0.1), ALICE, {("twist_linear", None): SITE})
    assert (soft.kind, soft.mode) == (LayerKind.SOFT, ControlMode.CARTESIAN_JOYSTICK)
    assert soft.origin_of("twist_linear") == SITE
    assert math.isinf(TWO.bounds(soft.ceilings).twist_angular)


def test_a_urdf_gives_limits_and_its_safety_controllers() -> None:
    found = urdf_layers(TWO, read_urdf(URDF), Origin("urdf:r.urdf", "config", 0))
    plain, safety = (TWO.bounds(layer.ceilings) for layer in found.layers)
    np.testing.assert_array_equal(plain.position_upper, [np.inf, 1.0])
    np.testing.assert_array_equal(plain.velocity, [2.0, 3.0])
    np.testing.assert_array_equal(plain.deceleration, [4.0, np.inf])
    np.testing.assert_array_equal(plain.effort, [30.0, 40.0])
    np.testing.assert_array_equal(safety.position_upper, [np.inf, 0.5])
    assert [layer.kind for layer in found.layers] == [LayerKind.URDF, LayerKind.URDF]
    assert found.match.extra == ("finger",)


def test_a_urdf_without_limits_says_nothing() -> None:
    robot = read_urdf(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="shoulder" type="continuous">'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )
    found = urdf_layers(TWO, robot, SITE)
    assert len(found.layers) == 1
    assert np.isinf(found.layers[0].ceilings).all()
    assert found.match.missing == ("elbow",)


def test_ros_parameters_give_hard_and_soft_limits() -> None:
    store = ParameterStore.read(YAML)
    found = ros_layers(TWO, load_joint_limits(joint_names(store), store), SITE)
    plain, soft = (TWO.bounds(layer.ceilings) for layer in found.layers)
    np.testing.assert_array_equal(plain.velocity, [np.inf, 1.5])
    np.testing.assert_array_equal(plain.position_lower, [-np.inf, -2.0])
    np.testing.assert_array_equal(soft.position_lower, [-np.inf, -1.0])
    assert found.match.missing == ("shoulder",)


def test_ros_parameters_without_soft_limits_are_one_layer() -> None:
    store = ParameterStore({"joint_limits.elbow.has_jerk_limits": True, "joint_limits.elbow.max_jerk": 7.0})
    found = ros_layers(TWO, load_joint_limits(TWO.names, store), SITE)
    (plain,) = found.layers
    np.testing.assert_array_equal(TWO.bounds(plain.ceilings).jerk, [np.inf, 7.0])


def skeleton() -> Skeleton:
    limits = Limits(LimitPair(-1.0, 1.0), 2.0, 3.0, 4.0, 5.0)
    soft = Limits(LimitPair(-0.5, 0.5), 1.0, 1.5, 2.0, 2.5)
    parameters = JointParameters(axis=Point(z=1.0), system_limits=limits, soft_limits=soft)
    return Skeleton(
        links=(Link(Element(1, "base", children=(2,))), Link(Element(3, "arm", parent=2))),
        joints=(Joint(Element(2, "elbow", parent=1, children=(3,)), parameters),),
        element_id_to_dof_index={2: 0},
    )


def test_a_skeleton_gives_system_and_soft_limits() -> None:
    found = skeleton_layers(TWO, read_skeleton(write_message(skeleton())), Origin("skeleton:s.pb", "config", 0))
    system, soft = (TWO.bounds(layer.ceilings) for layer in found.layers)
    np.testing.assert_array_equal(system.velocity, [np.inf, 2.0])
    np.testing.assert_array_equal(soft.effort, [np.inf, 2.5])
    assert [layer.origin.source for layer in found.layers] == ["skeleton:s.pb#system", "skeleton:s.pb#soft"]


def test_application_limits_are_in_the_order_of_the_joints() -> None:
    vectors = simple_limits(dof=2, position=1.0, velocity=2.0, acceleration=3.0, jerk=4.0)
    layer = application_layer(TWO, vectors, ALICE, {("velocity", "elbow"): SITE})
    bounds = numbers(layer)
    np.testing.assert_array_equal(bounds.position_lower, [-1.0, -1.0])
    np.testing.assert_array_equal(bounds.deceleration, [3.0, 3.0])
    assert layer.origin_of("velocity", "elbow") == SITE


@pytest.mark.parametrize(
    ("safety", "expected"),
    [
        (
            JointSafety(soft_lower_limit=-1.0, soft_upper_limit=1.0, k_position=2.0, k_velocity=3.0),
            (-1.0, np.inf, np.inf),
        ),
        (JointSafety(soft_lower_limit=-1.0, soft_upper_limit=1.0), (-1.0, 0.0, 0.0)),
        (JointSafety(), (-np.inf, 0.0, 0.0)),
    ],
)
def test_joint_safety_gives_what_the_law_never_exceeds(safety: JointSafety, expected: tuple[float, ...]) -> None:
    bounds = numbers(safety_layer(TWO, {"elbow": safety}, ALICE))
    assert (bounds.position_lower[1], bounds.velocity[1], bounds.effort[1]) == expected
    assert np.isinf(bounds.velocity[0])


def test_site_caps_are_one_number_or_numbers_by_joint() -> None:
    bounds = numbers(site_layer(TWO, {"velocity": 1.0, "jerk": {"elbow": 5.0}, "twist_linear": 0.25}, SITE))
    np.testing.assert_array_equal(bounds.velocity, [1.0, 1.0])
    np.testing.assert_array_equal(bounds.jerk, [np.inf, 5.0])
    assert bounds.twist_linear == 0.25


@pytest.mark.parametrize(
    ("build", "joint", "key"),
    [
        (lambda: site_layer(TWO, {"speed": 1.0}, SITE), None, "speed"),
        (lambda: site_layer(TWO, {"velocity": {"wrist": 1.0}}, SITE), "wrist", "velocity"),
        (lambda: site_layer(TWO, {"twist_linear": {"elbow": 1.0}}, SITE), None, "twist_linear"),
        (lambda: site_layer(TWO, {"velocity": -1.0}, SITE), "shoulder", "velocity"),
        (lambda: safety_layer(TWO, {"wrist": JointSafety()}, SITE), "wrist", None),
        (lambda: safety_layer(TWO, {"elbow": JointSafety(k_velocity=-1.0)}, SITE), "elbow", "k_velocity"),
        (lambda: kinova_layer(TWO, KinematicLimits(0, 0.0, 0.0, (1.0,)), SITE), None, "joint_speed_limits"),
    ],
)
def test_what_does_not_fit_is_refused(build: Callable[[], object], joint: str | None, key: str | None) -> None:
    with pytest.raises(LimitsError) as caught:
        build()
    assert (caught.value.joint, caught.value.key) == (joint, key)


def test_the_joints_of_a_model_have_its_names_and_types() -> None:
    joints = joints_of_model(MODELS["gen3_7dof"])
    assert joints.names[0] == "joint_1"
    assert [kind.value for kind in joints.types[:2]] == ["continuous", "revolute"]
