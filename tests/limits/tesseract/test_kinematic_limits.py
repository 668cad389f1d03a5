import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.tesseract.joint_limits import JointLimits
from limits.tesseract.kinematic_limits import (
    KinematicLimits,
    enforce_limits,
    kinematic_limits_equal,
    kinematic_limits_of,
    matrices_equal,
    satisfies_limits,
    within_limits,
)

LIMITS = [[-1.0, 1.0], [0.0, math.inf]]


def limits_of(position: list[list[float]]) -> KinematicLimits:
    other = np.array([[-1.0, 1.0]])
    return KinematicLimits(position=np.array(position), velocity=other, acceleration=other, jerk=other)


def test_matrices_compare_by_their_norm() -> None:
    assert matrices_equal([[1.0, 2.0]], [[1.0, 2.00001]])
    assert not matrices_equal([[1.0, 2.0]], [[1.0, 2.001]])
    assert not matrices_equal([[1.0, 2.0]], [[1.0, 2.0], [0.0, 0.0]])
    assert not matrices_equal([[math.nan, 2.0]], [[math.nan, 2.0]])
    assert not matrices_equal([[-math.inf, 2.0]], [[-math.inf, 2.0]])
    assert matrices_equal(np.zeros((0, 2)), np.zeros((0, 2)))


def test_all_four_matrices_count() -> None:
    assert kinematic_limits_equal(limits_of([[-1.0, 2.0]]), limits_of([[-1.0, 2.00001]]))
    assert not kinematic_limits_equal(limits_of([[-1.0, 2.0]]), limits_of([[-1.0, 2.1]]))


def test_the_bounds_of_joints_are_symmetric_but_for_the_position() -> None:
    joint = JointLimits(lower=-1.0, upper=2.0, velocity=3.0, acceleration=4.0, jerk=5.0)
    found = kinematic_limits_of([joint, JointLimits()])
    assert [matrix.tolist() for matrix in found.matrices()] == [
        [[-1.0, 2.0], [0.0, 0.0]],
        [[-3.0, 3.0], [0.0, 0.0]],
        [[-4.0, 4.0], [0.0, 0.0]],
        [[-5.0, 5.0], [0.0, 0.0]],
    ]
    assert all(matrix.shape == (0, 2) for matrix in kinematic_limits_of([]).matrices())


def test_the_interval_is_closed() -> None:
    assert within_limits([1.0, 0.0], LIMITS)
    assert not within_limits([1.0 + 1e-12, 0.0], LIMITS)
    assert satisfies_limits([1.0 + 1e-7, -1e-7], LIMITS)
    assert not satisfies_limits([1.0 + 1e-5, 0.0], LIMITS)
    assert satisfies_limits([1.5, 0.0], LIMITS, max_diff=[0.6, 0.0])
    assert within_limits([], np.zeros((0, 2)))


def test_nan_is_outside_unless_compat() -> None:
    assert not within_limits([math.nan, 0.0], LIMITS)
    assert within_limits([math.nan, 0.0], LIMITS, compat=True)
    for compat in (False, True):
        assert not satisfies_limits([math.nan, 0.0], LIMITS, compat=compat)


def test_an_infinite_value_needs_an_infinite_bound_unless_compat() -> None:
    assert satisfies_limits([0.0, math.inf], LIMITS)
    assert not satisfies_limits([-math.inf, 0.0], LIMITS)
    assert satisfies_limits([-math.inf, 0.0], LIMITS, compat=True)
    assert not satisfies_limits([0.0, math.inf], LIMITS, compat=True)


def test_enforcing_clamps() -> None:
    assert enforce_limits([-3.0, 7.0], LIMITS).tolist() == [-1.0, 7.0]


@pytest.mark.parametrize(
    ("values", "limits", "key", "index"),
    [
        ([0.0, math.nan], LIMITS, "value", "1"),
        ([0.0], [[math.nan, 1.0]], "lower", "0"),
        ([0.0], [[0.0, math.nan]], "upper", "0"),
        ([0.0], [[1.0, 0.0]], "lower", "0"),
        ([0.0], LIMITS, "limits", None),
        ([[0.0]], [[0.0, 1.0]], "limits", None),
        ([0.0, 1.0], [0.0, 1.0], "limits", None),
    ],
)
def test_enforcing_refuses_what_has_no_answer(values: list[float], limits: object, key: str, index: str | None) -> None:
    with pytest.raises(LimitsError) as caught:
        enforce_limits(values, np.asarray(limits))
    assert (caught.value.key, caught.value.joint) == (key, index)


def test_with_compat_the_lower_bound_wins_where_they_cross() -> None:
    assert enforce_limits([5.0], [[2.0, 1.0]], compat=True).tolist() == [2.0]


@given(st.lists(st.tuples(*[st.floats(allow_nan=False)] * 3)))
def test_enforced_values_are_inside_and_stay(rows: list[tuple[float, float, float]]) -> None:
    limits = np.array([sorted(row[1:]) for row in rows]).reshape(-1, 2)
    enforced = enforce_limits([row[0] for row in rows], limits)
    assert within_limits(enforced, limits)
    assert satisfies_limits(enforced, limits)
    assert enforce_limits(enforced, limits).tolist() == enforced.tolist()
