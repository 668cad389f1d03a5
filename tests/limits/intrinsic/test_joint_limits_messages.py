import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.intrinsic.joint_limits import FIELDS, JointLimitVectors, joint_limits_equal, simple_limits, vectors
from limits.intrinsic.joint_limits_messages import (
    joint_limits_from_message,
    joint_limits_to_message,
    joint_limits_to_update,
    merge_joint_limits,
    update_joint_limits,
)
from schema.intrinsic import JointLimits, JointLimitsUpdate, RepeatedDouble

BASE = simple_limits(dof=2, position=1.0, velocity=2.0, acceleration=3.0, jerk=4.0, effort=5.0)


def repeated(*values: float) -> RepeatedDouble:
    return RepeatedDouble(values)


def test_absent_max_is_unlimited_and_absent_positions_are_no_joints() -> None:
    limits = joint_limits_from_message(JointLimits(min_position=repeated(0.0), max_position=repeated(1.0)))
    assert [values.tolist() for values in limits] == [[0.0], [1.0], *[[math.inf]] * 4]
    assert joint_limits_from_message(JointLimits()).size == 0


def test_present_and_empty_is_not_absent() -> None:
    message = JointLimits(min_position=repeated(0.0), max_position=repeated(1.0), max_velocity=RepeatedDouble())
    with pytest.raises(LimitsError, match="max_velocity: size differs"):
        joint_limits_from_message(message)


def test_fixed_size() -> None:
    message = joint_limits_to_message(simple_limits(dof=26, position=1, velocity=1, acceleration=1, jerk=1))
    assert joint_limits_from_message(message).size == 26
    with pytest.raises(LimitsError, match="too many joints"):
        joint_limits_from_message(message, max_dof=25)


def test_every_entry_is_written() -> None:
    limits = BASE._replace(max_velocity=np.array([1.0, math.inf]))
    message = joint_limits_to_message(limits)
    assert message.max_velocity == repeated(1.0, math.inf)
    assert joint_limits_equal(joint_limits_from_message(message), limits)


def test_compat_drops_a_vector_with_an_infinite_entry() -> None:
    limits = BASE._replace(max_velocity=np.array([1.0, math.inf]), max_position=np.array([1.0, math.inf]))
    message = joint_limits_to_message(limits, compat=True)
    assert message.max_velocity is None
    assert message.max_position == repeated(1.0, math.inf)
    assert joint_limits_from_message(message).max_velocity.tolist() == [math.inf, math.inf]


def test_update_of_limits() -> None:
    free = BASE._replace(max_jerk=np.array([1.0, math.inf]), min_position=np.full(2, -math.inf))
    assert joint_limits_to_update(free).max_jerk == repeated(1.0, math.inf)
    compat = joint_limits_to_update(free, compat=True)
    assert (compat.max_jerk, compat.min_position) == (None, None)
    assert compat.max_position == repeated(1.0, 1.0)


def test_absent_and_empty_keep_and_zero_freezes() -> None:
    update = JointLimitsUpdate(max_velocity=repeated(0.0, 0.0), max_jerk=RepeatedDouble())
    updated = update_joint_limits(BASE, update)
    assert updated.max_velocity.tolist() == [0.0, 0.0]
    assert updated.max_jerk.tolist() == [4.0, 4.0]
    assert BASE.max_velocity.tolist() == [2.0, 2.0]


def test_a_wrong_size_is_named() -> None:
    with pytest.raises(LimitsError, match=r"max_effort: size differs from the limits updated \(got 1, bound 2\)"):
        merge_joint_limits(BASE, JointLimitsUpdate(max_effort=repeated(1.0)))


def test_an_update_only_tightens_unless_told_how_far() -> None:
    update = JointLimitsUpdate(max_velocity=repeated(1.0, 2.5))
    with pytest.raises(LimitsError, match="joint elbow, max_velocity: beyond the outer limit"):
        update_joint_limits(BASE, update, names=("shoulder", "elbow"))
    wider = BASE._replace(max_velocity=np.array([3.0, 3.0]))
    assert update_joint_limits(BASE, update, within=wider).max_velocity.tolist() == [1.0, 2.5]
    assert merge_joint_limits(BASE, update).max_velocity.tolist() == [1.0, 2.5]


@given(
    st.lists(
        st.none() | st.lists(st.floats(), max_size=2),
        min_size=len(FIELDS),
        max_size=len(FIELDS),
    )
)
def test_an_update_never_loosens(lists: list[list[float] | None]) -> None:
    update = JointLimitsUpdate(*(None if entry is None else RepeatedDouble(tuple(entry)) for entry in lists))
    try:
        updated = update_joint_limits(BASE, update)
    except LimitsError:
        return
    assert (updated.min_position >= BASE.min_position).all()
    for name in FIELDS[1:]:
        assert (getattr(updated, name) <= getattr(BASE, name)).all()


@given(st.lists(st.tuples(*[st.floats(0, 5) | st.just(math.inf)] * 6), max_size=4))
def test_round_trip_keeps_every_entry(rows: list[tuple[float, ...]]) -> None:
    columns: list[list[float]] = [[row[index] for row in rows] for index in range(6)]
    columns[0] = [-value for value in columns[0]]
    limits: JointLimitVectors = vectors(**dict(zip(FIELDS, columns, strict=True)))
    assert joint_limits_equal(joint_limits_from_message(joint_limits_to_message(limits)), limits)
    assert joint_limits_equal(merge_joint_limits(limits, joint_limits_to_update(limits)), limits)
