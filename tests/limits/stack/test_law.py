import numpy as np
import pytest

from limits.stack.fold import fold
from limits.stack.law import state_bounds
from limits.stack.layer import LayerKind, Stack
from limits.stack.sources import safety_layer
from limits.tesseract.joint_safety import JointSafety
from limits.tesseract.law import LARGEST
from schema.enums import ControlMode
from tests.limits.stack.arms import ALICE, MAKER, TWO, layer


def safety(k_position: float) -> JointSafety:
    return JointSafety(soft_lower_limit=-1.0, soft_upper_limit=1.0, k_position=k_position, k_velocity=20.0)


def test_without_joint_safety_the_effective_limits_bound() -> None:
    effective = fold(Stack.of(TWO, [layer(velocity=[2.0, np.inf], effort=3.0)]))
    bounds = state_bounds(effective, None, [0.0, 0.0], [0.0, 0.0])
    np.testing.assert_array_equal(bounds.velocity_max, [2.0, LARGEST])
    np.testing.assert_array_equal(bounds.effort_min, [-3.0, -3.0])


def test_the_law_closes_the_velocity_towards_the_soft_end_inside_the_effective_velocity() -> None:
    stack = Stack.of(TWO, [layer(velocity=1.5, effort=30.0), safety_layer(TWO, {"shoulder": safety(10.0)}, ALICE)])
    positions = np.array([[0.0, 0.9], [0.9, 0.9], [1.2, 0.9], [np.nan, 0.9]])
    bounds = state_bounds(fold(stack), ControlMode.IDLE, positions, np.zeros((4, 2)))
    np.testing.assert_allclose(bounds.velocity_max[:, 0], [1.5, 1.0, -1.5, 0.0])
    np.testing.assert_array_equal(bounds.velocity_max[:, 1], 1.5)


def test_the_tightest_of_several_laws_counts() -> None:
    layers = [
        layer(velocity=1.5, effort=30.0),
        safety_layer(TWO, {"shoulder": safety(10.0)}, MAKER, kind=LayerKind.URDF),
        safety_layer(TWO, {"shoulder": safety(2.0)}, ALICE),
    ]
    bounds = state_bounds(fold(Stack.of(TWO, layers)), None, [0.5, 0.0], [0.0, 0.0])
    assert bounds.velocity_max[0] == pytest.approx(1.0)
    assert bounds.velocity_min[0] == pytest.approx(-1.5)
    assert bounds.effort_max[0] == pytest.approx(20.0)


def test_a_gain_of_zero_stops_but_not_in_soft_limits_of_ros() -> None:
    record = JointSafety(soft_lower_limit=-1.0, soft_upper_limit=1.0)
    for kind, velocity, effort in ((LayerKind.JOINT_SAFETY, 0.0, 0.0), (LayerKind.ROS, 1.5, 30.0)):
        layers = [layer(velocity=1.5, effort=30.0), safety_layer(TWO, {"shoulder": record}, ALICE, kind=kind)]
        effective = fold(Stack.of(TWO, layers))
        bounds = state_bounds(effective, None, [0.9, 0.0], [0.0, 0.0])
        assert (bounds.velocity_max[0], bounds.effort_max[0]) == (velocity, effort)
        assert (effective.value("velocity", "shoulder"), effective.value("effort", "shoulder")) == (velocity, effort)
        assert effective.value("position_upper", "shoulder") == 1.0
        assert bounds.effort_min[1] == -30.0
