"""The rows of docs/limits_ros2.md: what the reference does, what we do by default."""

import math
from typing import Any

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.ros2.arrays import JointValues
from limits.ros2.helpers import compute_velocity_limits
from limits.ros2.limiter import Enforced
from limits.ros2.limiters import JointSaturationLimiter, joint_range_limiter, joint_soft_limiter
from limits.ros2.parameters import declare_parameters, get_joint_limits, load_joint_limits
from limits.ros2.reasons import Reason
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.saturation import TrajectoryPoint
from limits.ros2.store import ParameterStore
from limits.ros2.strict_soft import StrictSoftLimiter
from limits.ros2.updates import Parameter, check_for_limits_update

NAN, INF, DT = math.nan, math.inf, 0.1
RANGE = JointLimits(has_position_limits=True, min_position=-1.0, max_position=1.0)
MOVING = JointLimits(
    has_position_limits=True, min_position=-1.0, max_position=1.0, has_velocity_limits=True, max_velocity=0.5
)
SOFT = SoftJointLimits(min_position=-0.5, max_position=0.5, k_position=10.0, k_velocity=5.0)


def values(**given: float) -> JointValues:
    """Return the values of one joint."""
    return JointValues(**{name: np.array([value]) for name, value in given.items()})


def both(
    limits: JointLimits,
    actual: JointValues,
    desired: JointValues,
    soft: SoftJointLimits | None = None,
    dt: float = DT,
) -> tuple[Enforced, Enforced]:
    """Return what compat and strict make of a first command."""
    answers = []
    for compat in (True, False):
        limiter = (
            joint_range_limiter([limits], compat=compat)
            if soft is None
            else joint_soft_limiter([limits], [soft], compat=compat)
        )
        answers.append(limiter.enforce(actual, desired, dt))
    return answers[0], answers[1]


def only(array: Any) -> float:
    """Return the value of the one joint."""
    (value,) = array
    return float(value)


def test_a_first_command_outside_the_hard_range() -> None:
    compat, strict = both(RANGE, values(), values(position=9.0), SOFT)
    assert only(compat.desired.position) == 0.5
    assert only(strict.desired.position) == 0.5
    seeded, refused = (joint_soft_limiter([MOVING], [SoftJointLimits()], compat=compat) for compat in (True, False))
    assert only(seeded.enforce(values(), values(position=9.0), DT).desired.position) == 9.0
    with pytest.raises(LimitsError, match="joint #0, position: is not known, so max_velocity cannot be kept"):
        refused.enforce(values(), values(position=9.0), DT)


def test_a_nan_position_state_with_a_position_command() -> None:
    passing, refusing = (joint_range_limiter([MOVING], compat=compat) for compat in (True, False))
    assert only(passing.enforce(values(position=NAN), values(position=9.0), DT).desired.position) == 9.0
    with pytest.raises(LimitsError, match="position: is not known"):
        refusing.enforce(values(position=NAN), values(position=9.0), DT)


def test_a_nan_position_state_with_a_velocity_command() -> None:
    compat, strict = both(MOVING, values(position=NAN), values(velocity=50.0))
    assert only(compat.desired.velocity) == 50.0
    assert only(strict.desired.velocity) == 0.0
    assert strict.reasons["velocity"][0] == Reason.UNKNOWN_STATE


def test_a_missing_position_state_with_a_velocity_command() -> None:
    compat, strict = both(MOVING, values(), values(velocity=0.4))
    assert only(compat.desired.velocity) == 0.4
    assert only(strict.desired.velocity) == 0.0


def test_a_nan_velocity_state_with_a_velocity_command() -> None:
    limits = JointLimits(has_velocity_limits=True, max_velocity=0.5, has_acceleration_limits=True, max_acceleration=1.0)
    compat, strict = both(limits, values(velocity=NAN), values(velocity=50.0))
    assert only(compat.desired.velocity) == 50.0
    assert only(strict.desired.velocity) == pytest.approx(0.1)
    assert strict.reasons["velocity"][0] == Reason.MAX_ACCELERATION


def test_an_unknown_state_with_an_effort_command() -> None:
    limits = JointLimits(
        has_position_limits=True,
        min_position=-1.0,
        max_position=1.0,
        has_velocity_limits=True,
        max_velocity=1.0,
        has_effort_limits=True,
        max_effort=5.0,
    )
    compat, strict = both(limits, values(), values(effort=4.0))
    assert only(compat.desired.effort) == 4.0
    assert only(strict.desired.effort) == 0.0
    assert strict.reasons["effort"][0] == Reason.UNKNOWN_STATE


def test_an_unknown_velocity_with_an_acceleration_command() -> None:
    limits = JointLimits(has_deceleration_limits=True, max_deceleration=2.0)
    compat, strict = both(limits, values(), values(acceleration=9.0))
    assert only(compat.desired.acceleration) == 9.0
    assert only(strict.desired.acceleration) == 2.0
    assert strict.reasons["acceleration"][0] == Reason.MAX_DECELERATION


def test_a_soft_range_wholly_outside_the_hard_range() -> None:
    soft = SoftJointLimits(min_position=2.0, max_position=3.0)
    compat = joint_soft_limiter([RANGE], [soft], compat=True)
    assert only(compat.enforce(values(position=0.0), values(position=0.5), DT).desired.position) == 2.0
    with pytest.raises(LimitsError, match="the soft range lies outside the hard range"):
        joint_soft_limiter([RANGE], [soft])


def test_a_soft_range_that_is_wider_than_the_hard_range() -> None:
    soft = SoftJointLimits(min_position=-2.0, max_position=0.5)
    limiter = StrictSoftLimiter([RANGE], [soft], ["elbow"])
    assert limiter.soft[0].min_position == -1.0
    (note,) = limiter.diagnostics
    assert note == ("elbow", "soft_lower_limit", -2.0, "is outside the hard range; -1.0 is used")


def test_limits_that_make_no_sense() -> None:
    unlimited = JointLimits(
        has_position_limits=True, min_position=-1.0, max_position=1.0, has_velocity_limits=True, max_velocity=NAN
    )
    compat = joint_range_limiter([unlimited], compat=True)
    assert only(compat.enforce(values(position=0.0), values(position=9.0), DT).desired.position) == 9.0
    with pytest.raises(LimitsError, match="max_velocity: has_velocity_limits is true, so it must be finite"):
        joint_range_limiter([unlimited])


def test_an_empty_velocity_range() -> None:
    with np.errstate(divide="ignore"):
        lower, upper = compute_velocity_limits(MOVING, -1.0, 1.001, None, 1e-4)
    assert float(lower) == pytest.approx(-10.0)
    assert float(upper) == -0.5
    compat, strict = both(MOVING, values(position=1.001), values(velocity=-20.0), dt=1e-4)
    assert only(compat.desired.velocity) == pytest.approx(-10.0)
    assert only(strict.desired.velocity) == -0.5


def test_a_position_state_just_outside_the_hard_range() -> None:
    compat, strict = both(MOVING, values(position=1.001), values(velocity=-0.001))
    assert only(compat.desired.velocity) == pytest.approx(-0.01)
    assert only(strict.desired.velocity) == -0.001
    compat, strict = both(MOVING, values(position=1.1), values(velocity=-0.3))
    assert only(compat.desired.velocity) == 0.0
    assert only(strict.desired.velocity) == -0.3


def test_position_limits_without_velocity_limits() -> None:
    compat, strict = both(RANGE, values(position=0.99), values(velocity=5.0))
    assert only(compat.desired.velocity) == 5.0
    assert only(strict.desired.velocity) == pytest.approx(0.1)
    assert strict.reasons["velocity"][0] == Reason.HARD_POSITION


def test_numbers_behind_a_flag_that_is_off() -> None:
    limits = JointLimits(min_position=-1.0, max_position=1.0, max_jerk=2.0)
    compat, strict = both(limits, values(position=0.0), values(position=9.0, jerk=9.0))
    assert (only(compat.desired.position), only(compat.desired.jerk)) == (1.0, 2.0)
    assert (only(strict.desired.position), only(strict.desired.jerk)) == (9.0, 9.0)


def test_a_k_velocity_of_zero() -> None:
    limits = JointLimits(has_effort_limits=True, max_effort=5.0, has_velocity_limits=True, max_velocity=1.0)
    soft = SoftJointLimits(k_velocity=0.0)
    compat, strict = both(limits, values(position=0.0, velocity=0.0), values(effort=4.0), soft)
    assert only(compat.desired.effort) == 0.0
    assert only(strict.desired.effort) == 4.0
    (note,) = StrictSoftLimiter([limits], [soft]).diagnostics
    assert note.key == "k_velocity"


def test_a_k_position_of_zero() -> None:
    soft = SoftJointLimits(min_position=-0.5, max_position=0.5, k_position=0.0)
    compat, strict = both(MOVING, values(position=0.49), values(velocity=0.5), soft)
    assert only(compat.desired.velocity) == 0.5
    assert only(strict.desired.velocity) == pytest.approx(0.1)
    (note,) = StrictSoftLimiter([MOVING], [soft]).diagnostics
    assert note.key == "k_position"


def test_a_joint_outside_its_soft_range() -> None:
    compat, strict = both(MOVING, values(position=0.7), values(velocity=0.0), SOFT)
    assert only(compat.desired.velocity) == pytest.approx(-math.pi / 180.0)
    assert only(strict.desired.velocity) == 0.0
    _, outwards = both(MOVING, values(position=0.7), values(velocity=0.2, position=0.8), SOFT)
    assert only(outwards.desired.velocity) == 0.0
    assert only(outwards.desired.position) == 0.7
    assert outwards.reasons["velocity"][0] == outwards.reasons["position"][0] == Reason.SOFT_POSITION
    _, back = both(MOVING, values(position=0.7), values(velocity=-0.4, position=0.66), SOFT)
    assert not back.limited.any()


def test_negative_gains_and_half_a_soft_range() -> None:
    for soft in (SoftJointLimits(k_position=-1.0), SoftJointLimits(min_position=0.0), SoftJointLimits(k_velocity=INF)):
        joint_soft_limiter([RANGE], [soft], compat=True)
        with pytest.raises(LimitsError, match="joint #0"):
            joint_soft_limiter([RANGE], [soft])


def test_a_change_of_the_commanded_interface() -> None:
    for compat, reached in ((True, 0.05), (False, 0.85)):
        limiter = joint_range_limiter([MOVING], compat=compat)
        limiter.enforce(values(position=0.0), values(position=0.0), DT)
        limiter.enforce(values(position=0.4), values(velocity=0.5), DT)
        answer = limiter.enforce(values(position=0.8), values(position=0.9), DT)
        assert only(answer.desired.position) == pytest.approx(reached)


def test_an_infinite_command_in_the_memory() -> None:
    limits = JointLimits(has_velocity_limits=False)
    compat = joint_range_limiter([limits], compat=True)
    strict = joint_range_limiter([limits])
    for limiter in (compat, strict):
        limiter.enforce(values(), values(velocity=INF), DT)
        limiter.update([MOVING_WITH_ACCELERATION])
    assert only(compat.enforce(values(), values(velocity=0.5), DT).desired.velocity) == 0.5
    assert only(strict.enforce(values(), values(velocity=0.5), DT).desired.velocity) == pytest.approx(0.1)


MOVING_WITH_ACCELERATION = JointLimits(
    has_velocity_limits=True, max_velocity=0.5, has_acceleration_limits=True, max_acceleration=1.0
)


def test_no_time_between_two_commands() -> None:
    compat = joint_range_limiter([RANGE], compat=True)
    assert only(compat.enforce(values(), values(position=9.0), 0.0).desired.position) == 9.0
    for dt in (0.0, -1.0, NAN, INF):
        with pytest.raises(LimitsError, match="dt: must be positive and finite"):
            joint_range_limiter([RANGE]).enforce(values(), values(position=9.0), dt)


def test_the_limit_that_acted_is_told() -> None:
    compat, strict = both(MOVING, values(position=0.0), values(position=0.3, velocity=0.9))
    assert compat.limited.all()
    assert not compat.reasons
    assert {name: int(codes[0]) for name, codes in strict.reasons.items()} == {
        "position": Reason.MAX_VELOCITY,
        "velocity": Reason.MAX_VELOCITY,
    }


def test_soft_velocity_bounds_and_a_velocity_command_in_the_same_call() -> None:
    limits = JointLimits(
        has_velocity_limits=True,
        max_velocity=1.0,
        has_acceleration_limits=True,
        max_acceleration=1.0,
        has_effort_limits=True,
        max_effort=50.0,
    )
    soft = SoftJointLimits(k_velocity=10.0)
    for compat, same in ((True, False), (False, True)):
        efforts = [
            only(
                joint_soft_limiter([limits], [soft], compat=compat)
                .enforce(values(position=0.0, velocity=0.5), desired, DT)
                .desired.effort
            )
            for desired in (values(effort=40.0), values(effort=40.0, velocity=0.5))
        ]
        assert (efforts[0] == efforts[1]) is same


def test_a_velocity_far_above_the_soft_bounds() -> None:
    limits = JointLimits(
        has_position_limits=True,
        min_position=-1.0,
        max_position=1.0,
        has_velocity_limits=True,
        max_velocity=0.5,
        has_acceleration_limits=True,
        max_acceleration=1.0,
    )
    state = values(position=0.0, velocity=5.0)
    compat, strict = both(limits, state, values(velocity=0.2), SOFT)
    assert only(compat.desired.velocity) == 0.5
    assert only(strict.desired.velocity) == 0.5
    assert strict.reasons["velocity"][0] == Reason.MAX_ACCELERATION


def saturated(compat: bool, limits: JointLimits, current: TrajectoryPoint, desired: TrajectoryPoint) -> TrajectoryPoint:
    return JointSaturationLimiter([limits], compat=compat).enforce(current, desired, DT).desired


def point(position: float | None = None, velocity: float | None = None) -> TrajectoryPoint:
    return TrajectoryPoint(
        positions=None if position is None else np.array([position]),
        velocities=None if velocity is None else np.array([velocity]),
    )


def test_a_trajectory_point_with_velocity_zero() -> None:
    limits = JointLimits(has_velocity_limits=True, max_velocity=0.25)
    compat, strict = (saturated(one, limits, point(1.0, 0.0), point(velocity=0.0)) for one in (True, False))
    assert only(compat.velocities) == -0.25
    assert only(strict.velocities) == 0.0


def test_braking_before_both_ends() -> None:
    limits = JointLimits(
        has_position_limits=True,
        min_position=-1.0,
        max_position=1.0,
        has_deceleration_limits=True,
        max_deceleration=7.5,
    )
    for compat, braked in ((True, -2.0), (False, -1.25)):
        result = saturated(compat, limits, point(-0.6, -2.0), point(velocity=-2.0))
        assert only(result.velocities) == pytest.approx(braked)
        result = saturated(compat, limits, point(0.6, 2.0), point(velocity=2.0))
        assert only(result.velocities) == pytest.approx(1.25)


def test_a_trajectory_point_that_cannot_be_limited() -> None:
    doubtful = [
        (point(velocity=0.0), point(9.0)),
        (point(0.0), TrajectoryPoint(accelerations=np.array([9.0]))),
        (point(0.0), point(NAN)),
        (point(NAN), point(9.0)),
        (point(0.0), TrajectoryPoint(positions=np.array([9.0, 9.0]))),
    ]
    for current, desired in doubtful:
        JointSaturationLimiter([MOVING], compat=True).enforce(current, desired, DT)
        with pytest.raises(LimitsError):
            JointSaturationLimiter([MOVING]).enforce(current, desired, DT)


def test_a_trajectory_point_beyond_the_range_after_braking() -> None:
    limits = JointLimits(
        has_position_limits=True,
        min_position=-1.0,
        max_position=1.0,
        has_acceleration_limits=True,
        max_acceleration=1.0,
    )
    compat, strict = (saturated(one, limits, point(0.99, 2.0), point(1.0)) for one in (True, False))
    assert only(compat.positions) > 1.0
    assert only(strict.positions) == 1.0


def test_a_whole_number_for_a_double() -> None:
    text = "joint_limits: {j1: {has_velocity_limits: true, max_velocity: 2}}"
    with pytest.raises(LimitsError, match="joint j1, max_velocity: is of type integer, not double"):
        get_joint_limits("j1", ParameterStore.read(text, compat=True), JointLimits())
    assert get_joint_limits("j1", ParameterStore.read(text), JointLimits())[1].max_velocity == 2.0
    with pytest.raises(LimitsError, match="integer"):
        get_joint_limits("j1", ParameterStore.read(text, integers=False), JointLimits())


SOFT_TEXT = "joint_limits: {j1: {soft_lower_limit: 0.0, soft_upper_limit: 1.0, k_position: 10.0, k_velocity: 10.0}}"


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
