import msgspec
import numpy as np

from limits.conversion.formats import Format
from limits.conversion.layers import joints_of, layers_of
from limits.conversion.limit_set import JointNumbers, LimitedJoint, LimitSet
from limits.stack.disagreement import disagreements
from limits.stack.fold import fold
from limits.stack.layer import LayerKind, Origin, Stack
from schema.enums import ControlMode
from tests.limits.conversion import sets

ORIGIN = Origin("file", "config", 0)


def test_a_set_gives_hard_soft_and_safety_layers() -> None:
    joints = joints_of(sets.SKELETON)
    placed = layers_of(joints, sets.SKELETON, Format.SKELETON, ORIGIN)
    hard, soft = (joints.bounds(layer.ceilings) for layer in placed.layers)
    np.testing.assert_array_equal(hard.velocity, [2.0, 2.0, np.inf])
    np.testing.assert_array_equal(soft.velocity, [1.0, np.inf, np.inf])
    assert placed.layers[1].origin.source == "file#soft"
    assert placed.reports == ()

    joints = joints_of(sets.ROS)
    placed = layers_of(joints, sets.ROS, Format.ROS, ORIGIN)
    assert [bool(layer.safeties) for layer in placed.layers] == [False, True]
    bounds = fold(Stack.of(joints, placed.layers)).at(None)
    assert (bounds.position_upper[0], bounds.deceleration[0]) == (0.5, 4.0)
    np.testing.assert_array_equal(bounds.position_lower, [-0.5, -np.inf, -np.inf])


def test_joints_are_matched_by_name_and_what_does_not_fit_is_told() -> None:
    placed = layers_of(joints_of(sets.ROS), sets.URDF, Format.URDF, ORIGIN)
    assert "file: joint elbow is missing; it gives no limits of it" in placed.reports
    assert placed.layers[0].kind is LayerKind.URDF


def test_without_names_the_order_counts() -> None:
    joints = joints_of(LimitSet(joints=sets.URDF.joints[:2]))
    placed = layers_of(joints, sets.KINOVA, Format.KINOVA, ORIGIN)
    (layer,) = placed.layers
    assert (layer.kind, layer.mode, placed.reports) == (LayerKind.SOFT, ControlMode.ANGULAR_JOYSTICK, ())
    np.testing.assert_array_equal(joints.bounds(layer.ceilings).velocity, [0.5, 0.0])


def test_without_names_another_count_of_joints_is_told() -> None:
    joints = joints_of(LimitSet(joints=sets.URDF.joints[:3]))
    placed = layers_of(joints, sets.KINOVA, Format.KINOVA, ORIGIN)
    assert "file: joint joint_2 is no joint of the arm; its limits are not used" in placed.reports
    assert np.isinf(placed.layers[0].ceilings).all()


def test_what_ros2_control_says_is_a_layer_of_its_own() -> None:
    numbers = JointNumbers(position_upper=0.9, velocity=1.25)
    limits = LimitSet(joints=(LimitedJoint(name="j", limits=JointNumbers(velocity=2.0), control=numbers),))
    joints = joints_of(limits)
    hard, control = layers_of(joints, limits, Format.URDF, Origin("urdf:cell/arm.urdf", "config", 7)).layers
    assert (control.kind, control.origin) == (LayerKind.URDF, Origin("ros2_control:cell/arm.urdf", "config", 7))
    bounds = fold(Stack.of(joints, (hard, control))).at(None)
    assert (bounds.position_upper[0], bounds.velocity[0]) == (0.9, 1.25)
    [found] = disagreements(Stack.of(joints, (hard, control)))
    assert (found.quantity, found.tighter, found.looser) == (
        "velocity",
        "ros2_control:cell/arm.urdf",
        "urdf:cell/arm.urdf",
    )


def test_names_that_were_given_count_and_not_the_order() -> None:
    joints = joints_of(LimitSet(joints=sets.URDF.joints[:2]))
    limits = msgspec.structs.replace(
        sets.KINOVA,
        joints=tuple(
            msgspec.structs.replace(joint, name=name)
            for joint, name in zip(sets.KINOVA.joints, ("slide", "shoulder"), strict=True)
        ),
    )
    (layer,) = layers_of(joints, limits, Format.KINOVA, ORIGIN).layers
    np.testing.assert_array_equal(joints.bounds(layer.ceilings).velocity, [0.0, 0.5])


def test_the_twist_belongs_to_the_arm() -> None:
    joints = joints_of(sets.KINOVA)
    placed = layers_of(joints, sets.CARTESIAN, Format.KINOVA, ORIGIN)
    (layer,) = placed.layers
    assert placed.reports == ()
    assert joints.bounds(layer.ceilings).twist_linear == 0.5
