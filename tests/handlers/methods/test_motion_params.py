from typing import Any

import numpy as np
import pytest

from handlers.methods.motion_params import check_mode_of, joint_order, rows, vector
from handlers.state.limit_sources import LimitSources
from schema.codecs.large import Grid
from schema.errors import BrokerError
from schema.intrinsic import DynamicLimitsCheckMode
from tests.handlers.builders import arm

CHECK = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_JOINT_ACCELERATION
NONE = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_NONE
UNSPECIFIED = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_TYPE_UNSPECIFIED


def kind_of(call: Any, *arguments: Any) -> tuple[str, str]:
    with pytest.raises(BrokerError) as caught:
        call(*arguments)
    return caught.value.kind, caught.value.message


@pytest.mark.parametrize(
    ("params", "mode"),
    [
        ({}, CHECK),
        ({"check_mode": "CHECK_NONE"}, NONE),
        ({"check_mode": "DYNAMIC_LIMITS_CHECK_MODE_CHECK_NONE"}, NONE),
        ({"check_mode": "TYPE_UNSPECIFIED"}, UNSPECIFIED),
    ],
)
def test_accelerations_are_checked_unless_told(params: dict[str, object], mode: DynamicLimitsCheckMode) -> None:
    assert check_mode_of(arm(), params) is mode


def test_the_settings_cap_how_loose_a_check_may_be() -> None:
    state = arm(sources=LimitSources(loosest=CHECK))
    assert check_mode_of(state, {"check_mode": "CHECK_JOINT_ACCELERATION"}) is CHECK
    assert check_mode_of(state, {}) is CHECK
    assert kind_of(check_mode_of, state, {"check_mode": "CHECK_NONE"}) == (
        "not_permitted",
        "params.check_mode: the settings of r12 allow CHECK_JOINT_ACCELERATION at the loosest, not CHECK_NONE",
    )


def test_a_check_mode_that_does_not_exist_is_refused() -> None:
    kind, message = kind_of(check_mode_of, arm(), {"check_mode": "CHECK_LESS"})
    assert kind == "unknown_enum"
    assert message.endswith("known: TYPE_UNSPECIFIED, CHECK_JOINT_ACCELERATION, CHECK_NONE")


def test_joints_stand_in_the_order_of_the_arm_or_as_they_are_named() -> None:
    assert joint_order({}, ("a", "b")) == [0, 1]
    assert joint_order({"joints": ["b", "a"]}, ("a", "b")) == [1, 0]


@pytest.mark.parametrize(
    ("joints", "kind", "words"),
    [
        ("a", "malformed", "params.joints: a list of names is needed"),
        (["a", 1], "malformed", "params.joints: a list of names is needed"),
        (["a", "c"], "unknown_enum", "params.joints[1]: 'c' is no joint of the arm; joints: a, b"),
        (["a", "a"], "unknown_enum", "params.joints[1]: 'a' stands twice; joints: a, b"),
        (["a"], "wrong_joint_count", "params.joints: 1 names for 2 joints"),
    ],
)
def test_other_joints_are_refused(joints: object, kind: str, words: str) -> None:
    assert kind_of(joint_order, {"joints": joints}, ("a", "b")) == (kind, words)


def test_numbers_may_be_integers() -> None:
    np.testing.assert_array_equal(vector([1, 2.5], "x"), [1.0, 2.5])
    np.testing.assert_array_equal(rows([[1, 2], [3.5, 4]], "x", 2), [[1, 2], [3.5, 4]])
    np.testing.assert_array_equal(rows([], "x", 2), np.empty((0, 2)))


def test_tuples_come_from_a_decoder_that_took_nothing_but_numbers() -> None:
    np.testing.assert_array_equal(vector((1.0, 2.0), "x"), [1.0, 2.0])
    np.testing.assert_array_equal(rows(((1.0,), (2.0,)), "x", 1), [[1.0], [2.0]])
    np.testing.assert_array_equal(rows(Grid([1.0, 2.0, 3.0, 4.0], 2), "x", 2), [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (1.0, "malformed", "x: a list of numbers is needed"),
        ([1.0, "2"], "malformed", "x[1]: '2' is no number"),
        ([True], "malformed", "x[0]: true is no number"),
        ([[1.0]], "malformed", "x[0]: [1.0] is no number"),
        ([10**400], "not_finite", "x: an integer does not fit a double"),
        ((1.0, float("nan")), "not_finite", "x[1]: nan is not finite"),
    ],
)
def test_what_is_no_list_of_numbers_is_refused(value: object, kind: str, words: str) -> None:
    assert kind_of(vector, value, "x") == (kind, words)


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (1.0, "malformed", "x: a list of lists of numbers is needed"),
        ([1.0, 2.0], "malformed", "x[0]: a list of numbers is needed"),
        ([[1.0, 2.0], ["1", 2.0]], "malformed", "x[1][0]: '1' is no number"),
        ([[1.0, 2.0], [1.0]], "wrong_joint_count", "x[1]: 1 numbers for 2 joints"),
        (((1.0, 2.0), (1.0, 2.0, 3.0)), "wrong_joint_count", "x[1]: 3 numbers for 2 joints"),
        (Grid([1.0, 2.0, 3.0], 3), "wrong_joint_count", "x[0]: 3 numbers for 2 joints"),
        (((1.0, 2.0), (1.0, float("inf"))), "not_finite", "x[1][1]: inf is not finite"),
    ],
)
def test_what_is_no_list_of_points_is_refused(value: object, kind: str, words: str) -> None:
    assert kind_of(rows, value, "x", 2) == (kind, words)
