"""Rows of docs/limits_ros2.md: parameters and their updates, as the reference and by default."""

import math
from typing import Any

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.ros2.arrays import JointValues
from limits.ros2.limiters import joint_range_limiter
from limits.ros2.parameters import declare_parameters, get_joint_limits, load_joint_limits
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.store import ParameterStore
from limits.ros2.updates import Parameter, check_for_limits_update

DT = 0.1
RANGE = JointLimits(has_position_limits=True, min_position=-1.0, max_position=1.0)


SOFT_TEXT = "joint_limits: {j1: {soft_lower_limit: 0.0, soft_upper_limit: 1.0, k_position: 10.0, k_velocity: 10.0}}"


def values(**given: float) -> JointValues:
    """Return the values of one joint."""
    return JointValues(**{name: np.array([value]) for name, value in given.items()})


def only(array: Any) -> float:
    """Return the value of the one joint."""
    (value,) = array
    return float(value)


def test_a_whole_number_for_a_double() -> None:
    text = "joint_limits: {j1: {has_velocity_limits: true, max_velocity: 2}}"
    with pytest.raises(LimitsError, match="joint j1, max_velocity: is of type integer, not double"):
        get_joint_limits("j1", ParameterStore.read(text, compat=True), JointLimits())
    assert get_joint_limits("j1", ParameterStore.read(text), JointLimits())[1].max_velocity == 2.0
    with pytest.raises(LimitsError, match="integer"):
        get_joint_limits("j1", ParameterStore.read(text, integers=False), JointLimits())


def test_soft_limits_without_their_flag() -> None:
    assert get_joint_limits("j1", ParameterStore.read(SOFT_TEXT, compat=True), SoftJointLimits())[0] is False
    store = ParameterStore.read(SOFT_TEXT)
    assert get_joint_limits("j1", store, SoftJointLimits())[0] is True
    assert [note.key for note in store.diagnostics] == ["has_soft_limits"]


def test_parameters_that_are_only_declared() -> None:
    given = JointLimits(has_velocity_limits=True, max_velocity=9.0)
    compat = ParameterStore({}, compat=True)
    assert declare_parameters("j1", compat)
    assert get_joint_limits("j1", compat, given) == (True, JointLimits(max_velocity=9.0))
    strict = ParameterStore({})
    assert declare_parameters("j1", strict)
    assert get_joint_limits("j1", strict, given) == (False, given)


def test_a_flag_without_its_number() -> None:
    text = "joint_limits: {j1: {has_velocity_limits: true}}"
    compat = ParameterStore.read(text, compat=True)
    assert get_joint_limits("j1", compat, JointLimits()) == (True, JointLimits())
    with pytest.raises(LimitsError, match="joint j1, max_velocity: has_velocity_limits is true, but this is not given"):
        get_joint_limits("j1", ParameterStore.read(text), JointLimits())


def test_an_incomplete_soft_set_with_its_flag() -> None:
    text = "joint_limits: {j1: {has_soft_limits: true, k_position: 1.0}}"
    compat = ParameterStore.read(text, compat=True)
    assert get_joint_limits("j1", compat, SoftJointLimits())[0] is False
    declare_parameters("j1", compat)
    found, limits = get_joint_limits("j1", compat, SoftJointLimits())
    assert found
    assert math.isnan(limits.k_velocity)
    with pytest.raises(LimitsError, match="joint j1, k_velocity: has_soft_limits is true, but this is not given"):
        get_joint_limits("j1", ParameterStore.read(text), SoftJointLimits())


def test_parameters_that_make_no_sense() -> None:
    text = "joint_limits: {j1: {has_position_limits: true, min_position: 1.0, max_position: -1.0}}"
    assert get_joint_limits("j1", ParameterStore.read(text, compat=True), JointLimits())[1].min_position == 1.0
    with pytest.raises(
        LimitsError, match=r"arm.yaml, joint j1, min_position: is above max_position \(got 1.0, bound -1"
    ):
        get_joint_limits("j1", ParameterStore.read(text, file="arm.yaml"), JointLimits())


def test_null_as_a_value() -> None:
    text = "joint_limits: {j1: {has_jerk_limits: null, has_effort_limits: true, max_effort: 87}}"
    with pytest.raises(LimitsError, match="has_jerk_limits: is of type string, not bool"):
        get_joint_limits("j1", ParameterStore.read(text, compat=True), JointLimits())
    store = ParameterStore.read(text)
    assert get_joint_limits("j1", store, JointLimits())[1].max_effort == 87.0
    assert [note.key for note in store.diagnostics] == ["has_jerk_limits"]


def test_a_key_that_is_there_twice() -> None:
    text = "joint_limits: {j1: {has_velocity_limits: true, max_velocity: 2.0, max_velocity: 3.0}}"
    assert get_joint_limits("j1", ParameterStore.read(text, compat=True), JointLimits())[1].max_velocity == 3.0
    with pytest.raises(LimitsError, match=r"max_velocity: is there twice \(line 1\)"):
        ParameterStore.read(text)


def test_soft_limits_of_a_node() -> None:
    text = SOFT_TEXT.replace("soft_lower", "has_soft_limits: true, soft_lower")
    assert load_joint_limits(["j1"], ParameterStore.read(text, compat=True))[0].soft is None
    assert load_joint_limits(["j1"], ParameterStore.read(text))[0].soft is not None


def test_an_update_that_switches_position_limits_off() -> None:
    parameters = [Parameter("joint_limits.#0.has_position_limits", value=False)]
    assert check_for_limits_update("#0", parameters, RANGE, compat=True)[0] is False
    assert check_for_limits_update("#0", parameters, RANGE)[0] is True
    for compat, position in ((True, 1.0), (False, 9.0)):
        limiter = joint_range_limiter([RANGE], compat=compat)
        assert limiter.set_parameters(parameters) is not compat
        assert only(limiter.enforce(values(position=0.0), values(position=9.0), DT).desired.position) == position


def test_an_update_that_makes_no_sense() -> None:
    parameters = [Parameter("joint_limits.#0.min_position", 2.0)]
    compat = joint_range_limiter([RANGE], compat=True)
    assert compat.set_parameters(parameters)
    assert compat.limits[0].min_position == 2.0
    strict = joint_range_limiter([RANGE])
    with pytest.raises(LimitsError, match="is above max_position"):
        strict.set_parameters(parameters)
    assert strict.limits == (RANGE,)
