"""The arm of `arms`: joints shoulder and elbow."""

import numpy as np

from limits.stack.layer import LayerKind, Origin, Stack
from limits.stack.soft_ends import Margin, guard_of, guarded_ends
from limits.stack.sources import safety_layer
from limits.tesseract.joint_safety import JointSafety
from tests.limits.stack.arms import ALICE, SITE, TWO, layer

HARD = layer(position_lower=[-2.0, -1.0], position_upper=[2.0, 1.0], velocity=1.0)


def test_without_soft_ends_there_is_nothing_to_guard() -> None:
    assert guarded_ends(Stack.of(TWO, [HARD])) is None
    same = layer(LayerKind.APPLICATION, ALICE, position_lower=[-2.0, -1.0], position_upper=[2.0, 1.0])
    assert guarded_ends(Stack.of(TWO, [HARD, same])) is None


def test_an_application_limit_or_a_cap_counts_where_it_is_inside() -> None:
    application = layer(LayerKind.APPLICATION, ALICE, position_upper=[1.5, 1.0])
    cap = layer(LayerKind.SITE, SITE, position_lower=[-5.0, -0.5])
    guarded = guarded_ends(Stack.of(TWO, [cap, application, HARD]))
    assert guarded is not None
    np.testing.assert_array_equal(guarded.position_upper, [2.0, np.inf])
    np.testing.assert_array_equal(guarded.position_lower, [-np.inf, -1.0])
    assert np.isinf(guarded.velocity).all()


def test_a_safety_range_counts_even_where_it_ends_with_the_hard_one() -> None:
    record = JointSafety(soft_lower_limit=-2.0, soft_upper_limit=2.0, k_position=1.0, k_velocity=1.0)
    guarded = guarded_ends(Stack.of(TWO, [HARD, safety_layer(TWO, {"shoulder": record}, ALICE)]))
    assert guarded is not None
    np.testing.assert_array_equal(guarded.position_lower, [-2.0, -np.inf])
    np.testing.assert_array_equal(guarded.position_upper, [2.0, np.inf])


def test_the_tightest_machine_gives_the_hard_end_and_its_soft_part_a_soft_one() -> None:
    system = layer(LayerKind.SKELETON, Origin("skeleton:a#system", "", 0), position_upper=[1.8, 9.0])
    soft = layer(LayerKind.SKELETON, Origin("skeleton:a#soft", "", 0), position_upper=[1.7, 9.0])
    guarded = guarded_ends(Stack.of(TWO, [HARD, soft, system]))
    assert guarded is not None
    np.testing.assert_array_equal(guarded.position_upper, [1.8, 1.0])


def test_a_soft_end_without_a_hard_one_guards_nothing() -> None:
    application = layer(LayerKind.APPLICATION, ALICE, position_upper=1.0)
    assert guarded_ends(Stack.of(TWO, [layer(velocity=1.0), application])) is None


def test_a_guard_tells_the_smaller_margin_of_each_joint_and_what_all_modes_allow() -> None:
    application = layer(LayerKind.APPLICATION, ALICE, position_upper=[1.5, 1.0], position_lower=[-1.75, -1.0])
    cap = layer(LayerKind.SITE, SITE, velocity=0.5, acceleration=[4.0, np.inf])
    guard = guard_of(Stack.of(TWO, [HARD, application, cap]))
    assert guard is not None
    assert guard.margins == (Margin(0, 0.25, 0.5, 4.0),)
    np.testing.assert_array_equal(guard.hard.position_lower, [-2.0, -np.inf])
    assert guard_of(Stack.of(TWO, [HARD])) is None
