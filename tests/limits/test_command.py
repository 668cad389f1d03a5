import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.command import CommandChecker, LimiterKind, joint_values, ros_limits, soft_limits
from limits.errors import LimitsError
from limits.formats.urdf_records import JointType
from limits.ros2.arrays import JointValues
from limits.ros2.reasons import Reason
from limits.ros2.records import LARGEST
from limits.stack.fold import Effective, fold
from limits.stack.joints import ArmJoints
from limits.stack.layer import Layer, LayerKind, Stack
from limits.stack.sources import safety_layer
from limits.tesseract.joint_safety import JointSafety
from schema.enums import ControlMode
from schema.intrinsic import DynamicLimitsCheckMode
from tests.limits.stack.arms import ALICE, SITE, TWO, layer

SAFETY = JointSafety(soft_lower_limit=-0.5, soft_upper_limit=0.5, k_position=2.0, k_velocity=5.0)
NO_ACCELERATION = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_NONE


def effective(*more: Layer) -> Effective:
    hard = layer(position_lower=-1.0, position_upper=1.0, velocity=2.0, acceleration=10.0, effort=20.0)
    return fold(Stack.of(TWO, [hard, *more]))


STATE = joint_values({"position": [0.0, 0.0], "velocity": [0.0, 0.0]})


def values(check: JointValues, quantity: str) -> list[float]:
    numbers: list[float] = getattr(check, quantity).tolist()
    return numbers


def test_a_command_inside_the_limits_passes() -> None:
    check = CommandChecker(effective()).check(LimiterKind.RANGE, STATE, joint_values({"velocity": [0.05, -0.05]}), 0.01)
    assert values(check.command, "velocity") == [0.05, -0.05]
    assert check.limited() == ()


def test_what_is_changed_is_told_with_the_limit_that_acted() -> None:
    checker = CommandChecker(effective())
    check = checker.check(
        LimiterKind.RANGE, STATE, joint_values({"velocity": [3.0, 0.0], "effort": [0.0, -30.0]}), 0.01
    )
    first, second = check.limited()
    assert (first.joint, first.quantity, first.wanted, first.reason) == (
        "shoulder",
        "velocity",
        3.0,
        Reason.MAX_ACCELERATION,
    )
    assert first.value == pytest.approx(0.1)
    assert second == ("elbow", "effort", -30.0, -20.0, Reason.MAX_EFFORT)


def test_nothing_is_remembered() -> None:
    checker = CommandChecker(effective())
    command = joint_values({"velocity": [0.1, 0.1]})
    for _ in range(3):
        assert values(checker.check(LimiterKind.RANGE, STATE, command, 0.01).command, "velocity") == [0.1, 0.1]


def test_without_acceleration_checks_the_velocity_counts() -> None:
    checker = CommandChecker(effective())
    check = checker.check(LimiterKind.RANGE, STATE, joint_values({"velocity": [3.0, 0.0]}), 0.01, NO_ACCELERATION)
    assert check.limited()[0][3:] == (2.0, Reason.MAX_VELOCITY)


def test_the_mode_of_the_arm_counts() -> None:
    soft = Layer(LayerKind.SOFT, ALICE, TWO.ceilings({"velocity": [0.5, 0.5]}), ControlMode.ANGULAR_JOYSTICK)
    command = joint_values({"velocity": [3.0, 0.0]})
    for mode, expected in ((ControlMode.ANGULAR_JOYSTICK, 0.5), (ControlMode.IDLE, 2.0), (None, 0.5)):
        checker = CommandChecker(effective(soft), mode)
        check = checker.check(LimiterKind.RANGE, STATE, command, 1.0)
        assert values(check.command, "velocity")[0] <= expected


def test_the_soft_limiter_slows_down_towards_the_soft_end() -> None:
    checker = CommandChecker(effective(safety_layer(TWO, {"shoulder": SAFETY}, ALICE)))
    state = joint_values({"position": [0.4, 0.4], "velocity": [0.2, 0.2]})
    check = checker.check(LimiterKind.SOFT, state, joint_values({"velocity": [0.25, 0.25]}), 0.01)
    (limited,) = check.limited()
    assert (limited.joint, limited.reason) == ("shoulder", Reason.SOFT_POSITION)
    assert limited.value == pytest.approx(0.2)


def test_a_trajectory_point_is_limited_as_a_whole() -> None:
    checker = CommandChecker(effective())
    check = checker.check(LimiterKind.SATURATION, STATE, joint_values({"position": [1.5, 0.0]}), 1.0)
    (limited,) = check.limited()
    assert (limited.joint, limited.quantity, limited.wanted) == ("shoulder", "position", 1.5)
    assert limited.value <= 1.0
    assert check.command.effort is None
    for quantity in ("effort", "jerk"):
        command = joint_values({"position": [0.0, 0.0], quantity: [0.0, 0.0]})
        with pytest.raises(LimitsError, match=quantity):
            checker.check(LimiterKind.SATURATION, STATE, command, 1.0)


@given(st.sampled_from(LimiterKind), st.lists(st.floats(-9.0, 9.0), min_size=2, max_size=2), st.floats(1e-3, 1.0))
def test_no_limiter_lets_a_velocity_beyond_the_effective_one_pass(
    kind: LimiterKind, wanted: list[float], dt: float
) -> None:
    checker = CommandChecker(effective(safety_layer(TWO, {"elbow": SAFETY}, ALICE)))
    check = checker.check(kind, STATE, joint_values({"velocity": wanted}), dt)
    assert (np.abs(values(check.command, "velocity")) <= 2.0).all()


def test_a_bad_step_of_time_and_wrong_sizes_are_refused() -> None:
    checker = CommandChecker(effective())
    with pytest.raises(LimitsError, match="dt"):
        checker.check(LimiterKind.RANGE, STATE, joint_values({"velocity": [0.0, 0.0]}), 0.0)
    with pytest.raises(LimitsError, match="velocity"):
        checker.check(LimiterKind.RANGE, STATE, joint_values({"velocity": [0.0]}), 0.1)
    with pytest.raises(LimitsError, match="unknown mode"):
        checker.check(LimiterKind.RANGE, STATE, joint_values({}), 0.1, 9)


def test_limits_that_leave_no_position_are_refused_at_once() -> None:
    with pytest.raises(LimitsError, match="shoulder"):
        CommandChecker(effective(layer(LayerKind.SITE, SITE, position_lower=[2.0, 0.0])))


def test_what_is_no_command_is_refused() -> None:
    with pytest.raises(LimitsError, match="speed"):
        joint_values({"speed": [1.0]})
    with pytest.raises(LimitsError, match="velocity"):
        joint_values({"velocity": ["fast"]})  # type: ignore[list-item]  # what a request may hold


def test_an_end_alone_is_the_largest_double_and_a_joint_without_ends_wraps() -> None:
    bounds = TWO.bounds(TWO.ceilings({"position_lower": [-1.0, -math.inf], "deceleration": [3.0, 3.0]}))
    first, second = ros_limits(TWO, bounds)
    assert (first.has_position_limits, first.min_position, first.max_position) == (True, -1.0, LARGEST)
    assert (second.has_position_limits, second.has_acceleration_limits) == (False, False)
    assert first.max_deceleration == 3.0
    assert not second.angle_wraparound


def test_several_soft_records_give_the_tightest_range_and_the_smallest_gains() -> None:
    other = JointSafety(soft_lower_limit=-0.4, soft_upper_limit=0.9, k_position=3.0, k_velocity=4.0)
    both, none = soft_limits(TWO, [(SAFETY, None), (other, None)])
    assert (both.min_position, both.max_position, both.k_position, both.k_velocity) == (-0.4, 0.5, 2.0, 4.0)
    assert math.isnan(none.k_velocity)


def test_soft_records_that_give_no_range() -> None:
    away = JointSafety(soft_lower_limit=0.6, soft_upper_limit=0.9, k_position=3.0, k_velocity=4.0)
    turning = ArmJoints(TWO.names, (JointType.CONTINUOUS, JointType.REVOLUTE))
    for joints, records, gain in (
        (TWO, [JointSafety()], math.nan),
        (TWO, [SAFETY, away], 4.0),
        (turning, [SAFETY], 5.0),
    ):
        soft, _ = soft_limits(joints, [(record, None) for record in records])
        assert math.isnan(soft.min_position)
        assert soft.k_velocity == pytest.approx(gain, nan_ok=True)


def test_a_soft_range_without_a_gain_is_a_range_all_the_same() -> None:
    soft, _ = soft_limits(TWO, [(JointSafety(soft_lower_limit=-0.5, soft_upper_limit=0.5), None)])
    assert (soft.min_position, soft.max_position) == (-0.5, 0.5)
    assert math.isnan(soft.k_position)


def test_the_soft_limiter_lets_a_joint_come_back_and_the_range_limiter_refuses() -> None:
    checker = CommandChecker(effective(safety_layer(TWO, {"shoulder": SAFETY}, ALICE)))
    outside = joint_values({"position": [0.8, 0.0], "velocity": [0.0, 0.0]})
    back = joint_values({"position": [0.79, 0.0]})
    assert checker.check(LimiterKind.SOFT, outside, back, 0.1).limited() == ()
    with pytest.raises(LimitsError, match="shoulder"):
        checker.check(LimiterKind.RANGE, outside, back, 0.1)


def test_a_cleared_joint_safety_lets_nothing_move() -> None:
    checker = CommandChecker(effective(safety_layer(TWO, {"elbow": JointSafety()}, ALICE)))
    check = checker.check(LimiterKind.SOFT, STATE, joint_values({"velocity": [0.05, 0.05]}), 0.01)
    assert values(check.command, "velocity") == [0.05, 0.0]


def test_a_decision_is_fast() -> None:
    checker = CommandChecker(effective())
    command = joint_values({"velocity": [0.05, 0.05]})
    durations = []
    for _ in range(200):
        started = time.perf_counter()
        checker.check(LimiterKind.RANGE, STATE, command, 0.01)
        durations.append(time.perf_counter() - started)
    assert min(durations) < 5e-4  # bench/limits_engine.py measures it; this only catches a change of its order
