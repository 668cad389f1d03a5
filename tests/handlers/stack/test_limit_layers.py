import math

import pytest

from handlers.stack.arm_limits import limits_of
from handlers.stack.limit_layers import APPLICATION_SLOT, PARAMETERS_SLOT, SAFETY_SLOT, soft_layers, values_of
from handlers.state.arm_state import ArmState
from handlers.state.provenance import Setter, Stamp
from limits.stack.layer import Origin
from schema.arms import Slot
from schema.enums import ControlMode
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import JointSpeedSoftLimits, Message
from tests.handlers.builders import arm, speeds
from tests.handlers.limit_files import GAINS, parameters, sources, urdf

SPEEDS: Slot = ("joint_speed_soft_limits", 1)
MODE = ControlMode.ANGULAR_JOYSTICK
ALICE, BOB = Stamp("alice/plc-3", 1), Stamp("bob/hmi", 2)
BY_ALICE = Setter(ALICE)


def hold(state: ArmState, slot: Slot, value: Message, setter: Setter = BY_ALICE) -> ArmState:
    """Let a slot hold a value, read and desired."""
    state.reported[slot] = state.desired[slot] = value
    state.reported_by[slot] = state.desired_by[slot] = setter
    return state


def velocities(*values: float) -> JointLimits:
    return JointLimits(max_velocity=RepeatedDouble(values))


def origin(state: ArmState, quantity: str, joint: str | None = "joint_1", mode: int | None = 1) -> Origin | None:
    return limits_of(state).folded.origin(quantity, joint, mode)


def test_a_slot_that_was_never_read_has_no_value() -> None:
    state = arm()
    del state.reported[SPEEDS]
    assert list(values_of(state, SPEEDS, Message)) == []


def test_what_was_read_counts_and_what_waits_to_be_read_beside_it() -> None:
    state = hold(arm(), SPEEDS, speeds(50.0))
    state.desired[SPEEDS] = speeds(40.0)
    assert list(values_of(state, SPEEDS, JointSpeedSoftLimits)) == [(speeds(50.0), BY_ALICE)]
    state.unread[SPEEDS] = ((speeds(30.0), BY_ALICE), (speeds(50.0), Setter(BOB)), (speeds(40.0), Setter(BOB)))
    found = list(values_of(state, SPEEDS, JointSpeedSoftLimits))
    assert found == [(speeds(50.0), BY_ALICE), (speeds(30.0), BY_ALICE), (speeds(40.0), Setter(BOB))]


def test_the_tightest_of_what_is_there_and_what_is_to_be_counts_until_it_is_read() -> None:
    state = hold(arm(), SPEEDS, speeds(50.0))
    first = speeds(70.0, 70.0, 30.0, 70.0, 70.0, 70.0, 70.0)
    second = speeds(60.0, 40.0, 50.0, 50.0, 50.0, 50.0, 50.0)
    state.unread[SPEEDS] = ((first, BY_ALICE), (second, Setter(BOB)))
    limits = limits_of(state)
    degrees = [math.degrees(value) for value in limits.effective(1).velocity]
    assert degrees == pytest.approx([50.0, 40.0, 30.0, 50.0, 50.0, 50.0, 50.0])
    assert origin(state, "velocity", "joint_2") == Origin("soft:ANGULAR_JOYSTICK", BOB.by, BOB.at_us)
    assert origin(state, "velocity", "joint_1") == Origin("soft:ANGULAR_JOYSTICK", ALICE.by, ALICE.at_us)


def test_each_soft_limit_of_a_mode_has_its_own_author() -> None:
    state = hold(arm(), SPEEDS, speeds(50.0), Setter(BOB))
    assert origin(state, "velocity") == Origin("soft:ANGULAR_JOYSTICK", BOB.by, BOB.at_us)
    assert origin(state, "acceleration") == Origin("soft:ANGULAR_JOYSTICK", "", 0)
    assert origin(state, "twist_linear", None) == Origin("hard:device", "@arm", 0)


def test_what_an_arm_reads_without_sense_bounds_nothing_and_leaves_the_rest() -> None:
    state = hold(arm(), SPEEDS, speeds(-1.0))
    limits = limits_of(state)
    assert limits.effective(1).velocity[0] == pytest.approx(math.radians(80.0))
    assert limits.effective(1).acceleration[0] == pytest.approx(math.radians(57.3))
    del state.reported["joint_acceleration_soft_limits", 1]
    assert soft_layers(limits.joints, state, MODE) == []
    del state.reported[SPEEDS]
    [nothing] = soft_layers(limits.joints, state, MODE)
    assert not nothing.origins


def test_application_limits_know_who_set_each_number() -> None:
    setter = Setter(BOB, {"max_velocity[0]": ALICE})
    state = hold(arm(), APPLICATION_SLOT, velocities(*[0.25] * 7), setter)
    assert origin(state, "velocity") == Origin("application", ALICE.by, ALICE.at_us)
    assert origin(state, "velocity", "joint_2") == Origin("application", BOB.by, BOB.at_us)


def test_safety_records_name_the_urdf_until_they_are_changed() -> None:
    state = arm(sources=sources(robot=urdf()))
    hold(state, SAFETY_SLOT, JointSafetyMap({"joint_2": GAINS}))
    assert origin(state, "position_upper", "joint_2") == Origin("urdf:gen3.urdf", ALICE.by, ALICE.at_us)
    hold(state, SAFETY_SLOT, JointSafetyMap({"joint_2": JointSafetyGains(1.0, -1.0, 20.0, 5.0)}), Setter(BOB))
    state.rev += 1
    assert origin(state, "position_upper", "joint_2") == Origin("joint_safety", BOB.by, BOB.at_us)
    assert limits_of(state).effective(None).position_upper[1] == 1.0


def test_ros_parameters_name_their_file_until_they_are_changed() -> None:
    state = arm(sources=sources(values=parameters(velocity=0.25, acceleration=0.5)))
    hold(state, PARAMETERS_SLOT, JointParameterMap(parameters(velocity=0.25, acceleration=0.4)))
    assert origin(state, "velocity") == Origin("ros:limits.yaml", ALICE.by, ALICE.at_us)
    assert origin(state, "acceleration") == Origin("ros:parameters", ALICE.by, ALICE.at_us)
    assert limits_of(state).effective(None).velocity[0] == 0.25
