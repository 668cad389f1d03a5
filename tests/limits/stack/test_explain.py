import math

import pytest
from hypothesis import given

from limits.errors import LimitsError
from limits.stack.explain import effective_numbers, explain
from limits.stack.fold import fold
from limits.stack.layer import Layer, LayerKind, Stack
from limits.stack.sources import safety_layer
from limits.tesseract.joint_safety import JointSafety
from schema.enums import ControlMode
from tests.limits.stack.arms import ALICE, MAKER, SITE, TWO, layer, places, stacks


@given(stacks)
def test_the_value_is_the_tightest_that_is_said(stack: Stack) -> None:
    effective = fold(stack)
    for quantity, joint in places():
        for mode in (None, ControlMode.IDLE, ControlMode.ANGULAR_JOYSTICK):
            told = explain(stack, quantity, joint, mode, effective=effective)
            values = [said.value for said in told.said]
            choose = max if quantity == "position_lower" else min
            assert told.value == effective.value(quantity, joint, mode)
            assert [said.binds for said in told.said].count(True) == bool(values)
            if values:
                assert told.value == choose(values)
                assert told.value == next(said.value for said in told.said if said.binds)
            else:
                assert math.isinf(told.value)


@given(stacks)
def test_the_numbers_are_all_that_are_limited(stack: Stack) -> None:
    effective = fold(stack)
    for mode in (None, ControlMode.IDLE):
        numbers = effective_numbers(effective, mode)
        assert [(one.quantity, one.joint) for one in numbers] == [
            place for place in places() if effective.layer(*place, mode) is not None
        ]
        for one in numbers:
            told = explain(stack, one.quantity, one.joint, mode, effective=effective)
            (binding,) = [said for said in told.said if said.binds]
            assert (one.value, one.unit) == (told.value, told.unit)
            assert (one.kind, one.origin) == (binding.kind, binding.origin)


def test_the_numbers_that_are_limited_in_a_mode() -> None:
    soft = Layer(LayerKind.SOFT, ALICE, TWO.ceilings({"velocity": [0.5, math.inf]}), ControlMode.IDLE)
    stack = Stack.of(TWO, [layer(position_lower=[-2.0, -math.inf]), layer(LayerKind.SITE, SITE, velocity=3.0), soft])
    lower = ("position_lower", "shoulder", -2.0, "rad", LayerKind.HARD, MAKER)
    elbow = ("velocity", "elbow", 3.0, "m/s", LayerKind.SITE, SITE)
    site = ("velocity", "shoulder", 3.0, "rad/s", LayerKind.SITE, SITE)
    assert effective_numbers(fold(stack), ControlMode.ANGULAR_JOYSTICK) == (lower, site, elbow)
    own = ("velocity", "shoulder", 0.5, "rad/s", LayerKind.SOFT, ALICE)
    for mode in (ControlMode.IDLE, None):
        assert effective_numbers(fold(stack), mode) == (lower, own, elbow)


def test_it_tells_value_unit_layer_source_by_and_since() -> None:
    soft = Layer(LayerKind.SOFT, ALICE, TWO.ceilings({"position_lower": [-1.0, -1.0]}), ControlMode.IDLE)
    stack = Stack.of(TWO, [layer(LayerKind.SITE, SITE, velocity=3.0), layer(position_lower=[-2.0, 0.0]), soft])
    told = explain(stack, "position_lower", "shoulder")
    assert (told.value, told.unit, told.mode) == (-1.0, "rad", None)
    assert [(said.kind, said.value, said.origin, said.binds) for said in told.said] == [
        (LayerKind.HARD, -2.0, MAKER, False),
        (LayerKind.SOFT, -1.0, ALICE, True),
    ]
    elsewhere = explain(stack, "position_lower", "shoulder", ControlMode.ANGULAR_JOYSTICK)
    assert [said.kind for said in elsewhere.said] == [LayerKind.HARD]


def test_a_law_that_depends_on_the_state_is_told() -> None:
    safety = JointSafety(soft_lower_limit=-1.0, soft_upper_limit=1.0, k_position=10.0, k_velocity=5.0)
    stack = Stack.of(TWO, [layer(velocity=3.0), safety_layer(TWO, {"shoulder": safety}, ALICE)])
    hard, law = explain(stack, "velocity", "shoulder").said
    assert (hard.binds, hard.law) == (True, None)
    assert (law.binds, law.law, law.value) == (False, safety, math.inf)
    assert len(explain(stack, "velocity", "elbow").said) == 1
    assert explain(stack, "twist_linear").said == ()


def test_unknown_names_are_refused() -> None:
    with pytest.raises(LimitsError):
        explain(Stack.of(TWO, []), "velocity", "wrist")
