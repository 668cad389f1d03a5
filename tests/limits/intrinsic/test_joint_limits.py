import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.intrinsic.joint_limits import (
    FIELDS,
    FIXED_MAX_DOF,
    JointLimitVectors,
    check_joint_limits,
    check_within,
    joint_limits_equal,
    joint_limits_valid,
    positions_within,
    simple_limits,
    vectors,
)


def limits(dof: int = 2) -> JointLimitVectors:
    return simple_limits(dof=dof, position=1.0, velocity=2.0, acceleration=3.0, jerk=4.0)


def changed(**fields: Any) -> JointLimitVectors:
    return limits()._replace(**{name: np.array(values, dtype=float) for name, values in fields.items()})


def test_simple_limits_are_symmetric_and_leave_effort_free() -> None:
    assert limits().min_position.tolist() == [-1.0, -1.0]
    assert limits().max_effort.tolist() == [math.inf, math.inf]


def test_no_joints_equal_bounds_and_zeros_are_valid() -> None:
    assert joint_limits_valid(vectors(**{name: [] for name in FIELDS}))
    assert joint_limits_valid(vectors(**{name: [0.0] for name in FIELDS}))
    assert joint_limits_valid(changed(min_position=[-np.inf, 1.0], max_position=[np.inf, 1.0]))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"max_jerk": [1.0]}, "max_jerk: size differs from min_position (got 1, bound 2)"),
        ({"min_position": [0.0, 1.5]}, "joint b, min_position: bounds leave no position (got 1.5, bound 1.0)"),
        ({"min_position": [math.nan, 0.0]}, "joint a, min_position: not a number (got nan, bound 1.0)"),
        ({"max_position": [0.0, math.nan]}, "joint b, max_position: not a number (got nan, bound -1.0)"),
        ({"min_position": [np.inf, 0.0], "max_position": [np.inf, 0.0]}, "joint a, min_position: bounds leave no"),
        ({"min_position": [-np.inf, 0], "max_position": [-np.inf, 0]}, "joint a, max_position: bounds leave no"),
        ({"max_velocity": [0.0, -0.5]}, "joint b, max_velocity: negative (got -0.5, bound 0.0)"),
        ({"max_effort": [math.nan, 0.0]}, "joint a, max_effort: not a number (got nan, bound 0.0)"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, list[float]], text: str) -> None:
    with pytest.raises(LimitsError) as caught:
        check_joint_limits(changed(**fields), names=("a", "b"))
    assert str(caught.value).startswith(text)


def test_fixed_size_holds_25_joints() -> None:
    assert joint_limits_valid(limits(25), max_dof=FIXED_MAX_DOF)
    assert not joint_limits_valid(limits(26), max_dof=FIXED_MAX_DOF)
    assert joint_limits_valid(limits(26))


def test_equality() -> None:
    assert joint_limits_equal(limits(), limits())
    assert not joint_limits_equal(limits(), limits(3))
    assert joint_limits_equal(changed(max_jerk=[math.nan, 0.0]), changed(max_jerk=[math.nan, -0.0]))
    above, below = changed(max_jerk=[math.inf, 0]), changed(max_jerk=[-math.inf, 0])
    assert not joint_limits_equal(above, below)
    assert joint_limits_equal(above, below, compat=True)
    assert not joint_limits_equal(above, changed(max_jerk=[math.inf, 1]), compat=True)


def test_within() -> None:
    check_within(limits(), limits())
    check_within(changed(min_position=[0.0, 0.0], max_effort=[0.0, 5.0]), limits())
    with pytest.raises(LimitsError, match=r"joint 1, max_velocity: beyond the outer limit \(got 2.5, bound 2.0\)"):
        check_within(changed(max_velocity=[2.0, 2.5]), limits())
    with pytest.raises(LimitsError, match=r"joint 0, min_position: beyond the outer limit \(got -2.0, bound -1.0\)"):
        check_within(changed(min_position=[-2.0, 0.0]), limits())
    with pytest.raises(LimitsError, match="number of joints differs"):
        check_within(limits(3), limits())
    with pytest.raises(LimitsError, match="negative"):
        check_within(limits(), changed(max_jerk=[-1.0, 0.0]))


def test_positions_lie_in_the_closed_interval() -> None:
    points = np.array([[1.0, -1.0], [1.5, math.nan], [-1.25, math.inf]])
    assert positions_within(limits(), points).tolist() == [[True, True], [False, False], [False, False]]
    assert positions_within(limits(), points, tolerance=0.25).tolist() == [[True, True], [False, False], [True, False]]


@given(st.data())
def test_valid_limits_admit_a_position_and_nothing_else_is_valid(data: st.DataObject) -> None:
    one = st.lists(st.floats(), min_size=1, max_size=3)
    low = data.draw(one)
    high = data.draw(st.lists(st.floats(), min_size=len(low), max_size=len(low)))
    free = {name: [math.inf] * len(low) for name in FIELDS}
    found = vectors(**(free | {"min_position": low, "max_position": high}))
    possible = all(a <= b and a < math.inf and b > -math.inf for a, b in zip(low, high, strict=True))
    assert joint_limits_valid(found) is possible
