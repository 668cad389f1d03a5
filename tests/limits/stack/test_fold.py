import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.formats.urdf_records import JointType
from limits.kinova_models import MODELS
from limits.stack.fold import Effective, fold, row_of, tighter
from limits.stack.joints import ArmJoints
from limits.stack.layer import SLOTS, Layer, LayerKind, Origin, Stack
from limits.stack.sources import kinova_layer, site_layer
from schema.enums import ControlMode
from tests.limits.stack.arms import ALICE, MAKER, SITE, TWO, layer, layers, naive, places, stacks


@given(stacks)
def test_fold_equals_a_naive_fold(stack: Stack) -> None:
    effective = fold(stack)
    for mode in (None, *SLOTS):
        for quantity, joint in places():
            value = effective.value(quantity, joint, mode)
            assert value == naive(stack, quantity, joint, mode)
            binding = effective.layer(quantity, joint, mode)
            if binding is None:
                assert np.isinf(value)
            else:
                assert getattr(TWO.bounds(binding.ceilings), quantity) is not None
                assert float(binding.ceilings[TWO.cell(quantity, joint)]) in (value, -value)
                assert mode is None or binding.mode in (None, mode)


@given(stacks, layers())
def test_one_more_layer_never_loosens(stack: Stack, another: Layer) -> None:
    before, after = fold(stack), fold(Stack.of(TWO, [*stack.layers, another]))
    assert (after.ceilings <= before.ceilings).all()


@given(stacks.filter(lambda stack: bool(stack.layers)), st.data())
def test_tightening_a_layer_never_loosens(stack: Stack, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(stack.layers) - 1))
    cell = data.draw(st.integers(0, TWO.cells - 1))
    old = stack.layers[index]
    ceilings = old.ceilings.copy()
    ceilings[cell] = min(ceilings[cell], data.draw(st.floats(-3.0, 3.0)))
    changed = [*stack.layers]
    changed[index] = Layer(old.kind, old.origin, ceilings, old.mode)
    assert (fold(Stack.of(TWO, changed)).ceilings <= fold(stack).ceilings).all()


@given(stacks, stacks)
def test_tighter_is_the_fold_of_both(old: Stack, new: Stack) -> None:
    both = tighter(fold(old), fold(new))
    np.testing.assert_array_equal(both.ceilings, np.minimum(fold(old).ceilings, fold(new).ceilings))
    for quantity, joint in places():
        binding = both.layer(quantity, joint, ControlMode.IDLE)
        value = both.value(quantity, joint, ControlMode.IDLE)
        if binding is not None:
            assert abs(float(binding.ceilings[TWO.cell(quantity, joint)])) == abs(value)
        else:
            assert np.isinf(value)


def test_of_equal_numbers_the_outermost_binds_and_the_newer_of_two_stacks() -> None:
    stack = Stack.of(TWO, [layer(LayerKind.SITE, SITE, velocity=1.0), layer(velocity=1.0)])
    effective = fold(stack)
    assert effective.origin("velocity", "elbow") == MAKER
    again = fold(Stack.of(TWO, [layer(LayerKind.APPLICATION, ALICE, velocity=1.0)]))
    assert tighter(effective, again).origin("velocity", "elbow") == ALICE


def test_nobody_binds_what_nobody_says() -> None:
    effective = fold(Stack.of(TWO, []))
    assert effective.layer("velocity", "elbow") is None
    assert effective.origin("velocity", "elbow") is None
    assert np.isinf(effective.at(None).velocity).all()


def test_an_unknown_mode_has_the_minimum_over_the_modes() -> None:
    slow = Layer(LayerKind.SOFT, ALICE, TWO.ceilings({"velocity": [0.1, 9.0]}), ControlMode.ANGULAR_JOYSTICK)
    effective = fold(Stack.of(TWO, [layer(velocity=1.0), slow]))
    np.testing.assert_array_equal(effective.at(ControlMode.ANGULAR_JOYSTICK).velocity, [0.1, 1.0])
    np.testing.assert_array_equal(effective.at(ControlMode.IDLE).velocity, [1.0, 1.0])
    for unknown in (None, 0, 3, 99):
        np.testing.assert_array_equal(effective.at(unknown).velocity, [0.1, 1.0])
    assert effective.origin("velocity", "shoulder") == ALICE


def test_ranges_with_nothing_in_them_are_told() -> None:
    low = layer(LayerKind.SITE, SITE, position_upper=[0.0, 2.0])
    effective = fold(Stack.of(TWO, [layer(position_lower=[1.0, 1.0]), low]))
    assert effective.empty_ranges() == ("shoulder",)


def test_a_number_can_have_an_origin_of_its_own() -> None:
    one = Layer(LayerKind.HARD, MAKER, TWO.ceilings({"velocity": [1.0, 1.0]}), None, {("velocity", "elbow"): ALICE})
    effective = fold(Stack.of(TWO, [one]))
    assert effective.origin("velocity", "elbow") == ALICE
    assert effective.origin("velocity", "shoulder") == MAKER


def test_layers_of_other_joints_and_modes_are_refused() -> None:
    with pytest.raises(LimitsError, match="other joints"):
        Stack.of(TWO, [Layer(LayerKind.HARD, MAKER, np.zeros(3))])
    with pytest.raises(LimitsError, match="no control mode"):
        Stack.of(TWO, [Layer(LayerKind.SOFT, MAKER, TWO.ceilings({}), ControlMode.UNSPECIFIED_CONTROL_MODE)])
    other = ArmJoints(("a", "b"), (JointType.REVOLUTE,) * 2)
    with pytest.raises(LimitsError, match="different joints"):
        tighter(fold(Stack.of(TWO, [])), fold(Stack.of(other, [])))


def test_every_mode_has_a_row() -> None:
    assert [row_of(mode) for mode in SLOTS] == list(range(len(SLOTS)))
    assert row_of(None) == len(SLOTS)


def test_a_thousand_arms_are_folded_in_a_second() -> None:
    model = MODELS["gen3_7dof"]
    joints = ArmJoints(tuple(joint.name for joint in model.joints), (JointType.REVOLUTE,) * 7)
    soft = [kinova_layer(joints, message, Origin("soft", "alice", 1)) for message in model.soft_defaults.values()]
    stack = Stack.of(joints, [kinova_layer(joints, model.hard, MAKER), *soft, site_layer(joints, {"jerk": 50.0}, SITE)])
    started = time.process_time()
    folded: list[Effective] = [fold(stack) for _ in range(1000)]
    assert time.process_time() - started < 1.0
    assert len(folded) == 1000


def test_nobody_can_change_what_was_folded() -> None:
    bounds = fold(Stack.of(TWO, [layer(velocity=1.0)])).at(None)
    with pytest.raises(ValueError, match="read-only"):
        bounds.velocity[0] = 9.0
