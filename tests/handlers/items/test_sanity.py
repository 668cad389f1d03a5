import math
from typing import Any

import pytest

from handlers.rpc.outcome import Proposal
from handlers.state.arm_state import ArmState
from handlers.state.limit_sources import LimitSources
from limits.formats.urdf import read_urdf
from schema.arms import JointInfo
from schema.enums import ControlMode
from schema.envelope import Warned
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, JointLimitsUpdate, RepeatedDouble
from schema.joint_items import JointSafetyChange, JointSafetyGains, JointSafetyMap, JointSafetyRecord
from schema.messages import (
    CartesianTransform,
    GravityVector,
    JointAccelerationSoftLimits,
    KinematicLimits,
    Message,
    PayloadInformation,
    ToolConfiguration,
)
from tests.handlers.builders import arm, decide, description, propose, speeds, values

JOYSTICK = ControlMode.ANGULAR_JOYSTICK

URDF = """<robot name="two"><link name="base"/><link name="arm"/><link name="hand"/>
<joint name="joint_1" type="revolute"><parent link="base"/><child link="arm"/>
  <limit lower="-2" upper="2" velocity="2" effort="9"/></joint>
<joint name="joint_2" type="prismatic"><parent link="arm"/><child link="hand"/>
  <limit lower="0" upper="1" velocity="2" effort="9"/></joint></robot>"""


def two(**changes: Any) -> ArmState:
    """An arm of two joints with hard ends, both 1 rad/s (m/s) and 2 rad/s² (m/s²) at most."""
    hard = KinematicLimits(
        twist_linear=0.5,
        twist_angular=100.0,
        joint_speed_limits=(math.degrees(1.0),) * 2,
        joint_acceleration_limits=(math.degrees(2.0),) * 2,
    )
    told = description(joints=(JointInfo("joint_1", "revolute"), JointInfo("joint_2", "prismatic")), hard_limits=hard)
    held = values() | {("joint_limits", 0): JointLimits()}
    for slot in held:
        if slot[0] == "joint_speed_soft_limits":
            held[slot] = speeds(*hard.joint_speed_limits, mode=ControlMode(slot[1]))
        elif slot[0] == "joint_acceleration_soft_limits":
            held[slot] = JointAccelerationSoftLimits(ControlMode(slot[1]), hard.joint_acceleration_limits)
    known = {
        "description": told,
        "sources": LimitSources(urdf=read_urdf(URDF), urdf_file="two.urdf"),
        "desired": dict(held),
        "reported": dict(held),
    }
    return arm(**(known | changes))


def safety(lower: float, upper: float) -> JointSafetyChange:
    return JointSafetyChange({"joint_1": JointSafetyRecord(upper, lower, 5.0, 5.0)})


def guarded(state: ArmState, lower: float, upper: float) -> ArmState:
    """The arm with a soft range of joint 1."""
    held: Message = JointSafetyMap({"joint_1": JointSafetyGains(upper, lower, 5.0, 5.0)})
    state.desired["joint_safety", 0] = state.reported["joint_safety", 0] = held
    return state


def stopping(proposal: Proposal) -> list[Warned]:
    return [warning for warning in proposal.warnings if warning.name == "STOPPING_DISTANCE"]


def test_a_soft_range_too_near_to_the_hard_ends_is_told_with_numbers() -> None:
    (warning,) = stopping(propose(two(), "SetJointSafety", safety(-1.9, 1.75)))
    assert warning.path == "joint_safety"
    assert warning.message == (
        "joint_safety: joint 1 (joint_1) needs 0.25 rad to stop from 1 rad/s at 2 rad/s², 0.1 rad are between its "
        "soft and hard lower end. Consistent: at most 0.632455532 rad/s, or a soft range of [-1.75, 1.75] rad"
    )


def test_what_the_warning_calls_consistent_is_taken_without_one() -> None:
    assert stopping(propose(two(), "SetJointSafety", safety(-1.75, 1.75))) == []
    slow = math.degrees(0.632455532)
    state = guarded(two(), -1.9, 1.9)
    for mode in ControlMode:
        if ("joint_speed_soft_limits", int(mode)) in state.desired:
            assert stopping(propose(state, "SetJointSpeedSoftLimits", speeds(slow - 1e-3, 57.0, mode=mode))) == []


def test_a_speed_that_is_too_fast_for_the_margin_is_told() -> None:
    state = guarded(two(), -1.9, 1.9)
    state.desired["joint_speed_soft_limits", int(JOYSTICK)] = speeds(30.0, 57.0)
    state.reported["joint_speed_soft_limits", int(JOYSTICK)] = speeds(30.0, 57.0)
    (warning,) = stopping(propose(state, "SetJointSpeedSoftLimits", speeds(40.0, 57.0)))
    assert warning.path == "joint_speed_soft_limits"
    assert "at most 0.632455532 rad/s" in warning.message


def test_a_deceleration_that_is_too_small_for_the_margin_is_told() -> None:
    state = guarded(two(), -1.7, 1.7)
    slower = JointAccelerationSoftLimits(JOYSTICK, (math.degrees(1.0), math.degrees(2.0)))
    (warning,) = stopping(propose(state, "SetJointAccelerationSoftLimits", slower))
    assert "needs 0.5 rad to stop from 1 rad/s at 1 rad/s²" in warning.message
    kept = JointAccelerationSoftLimits(JOYSTICK, (math.degrees(2.0),) * 2)
    assert stopping(propose(state, "SetJointAccelerationSoftLimits", kept)) == []


def test_application_limits_inside_the_hard_range_want_a_margin_too() -> None:
    update = JointLimitsUpdate(
        min_position=RepeatedDouble((-2.0, 0.1)), max_position=RepeatedDouble((1.9, 1.0)),
        max_velocity=RepeatedDouble((1.0, 1.0)),
    )  # fmt: skip
    first, second = stopping(propose(two(), "SetJointLimits", update))
    assert "joint 1 (joint_1) needs 0.25 rad" in first.message
    assert "joint 2 (joint_2) needs 0.25 m to stop from 1 m/s at 2 m/s², 0.1 m are" in second.message


def test_what_a_change_makes_no_worse_is_not_doubted() -> None:
    state = guarded(two(strict=True), -1.9, 1.9)
    assert stopping(propose(state, "SetJointSafety", safety(-1.9, 1.9))) == []
    assert stopping(propose(state, "SetJointSafety", safety(-1.8, 1.9))) == []
    assert stopping(propose(state, "SetJointSpeedSoftLimits", speeds(50.0, 40.0))) == []
    with pytest.raises(BrokerError, match="joint_1"):
        decide(state, "SetJointSafety", safety(-1.95, 1.9))


def test_without_a_hard_range_or_a_soft_one_nothing_is_doubted() -> None:
    assert stopping(propose(arm(), "SetJointSpeedSoftLimits", speeds(40.0))) == []
    assert stopping(propose(two(), "SetJointSpeedSoftLimits", speeds(40.0, 57.0))) == []
    no_files = two(sources=LimitSources())
    assert stopping(propose(no_files, "SetJointSafety", safety(-1.9, 1.9))) == []


def test_strict_checks_refuse_what_cannot_stop() -> None:
    with pytest.raises(BrokerError, match=r"needs 0\.25 rad .* \(checks\.strict\)\. Nothing was changed") as caught:
        decide(two(strict=True), "SetJointSafety", safety(-1.9, 1.9))
    assert caught.value.kind == "implausible_value"


@pytest.mark.parametrize("vector", [(0.0, 0.0, 9.81), (0.0, 1.0, 9.75)])
def test_gravity_that_points_up_is_doubted(vector: tuple[float, float, float]) -> None:
    (warning,) = propose(arm(), "SetGravityVector", GravityVector(*vector)).warnings
    assert (warning.name, warning.path) == ("GRAVITY_DIRECTION", "gravity_vector")
    assert "deg from the present [0, 0, -9.81]: a wrong sign? Along the present one: [0, 0, -9.8" in warning.message
    with pytest.raises(BrokerError, match="a wrong sign"):
        decide(arm(strict=True), "SetGravityVector", GravityVector(*vector))


@pytest.mark.parametrize("vector", [(9.81, 0.0, 0.0), (0.0, -9.81, 0.0), (5.66, 5.66, -5.66)])
def test_gravity_of_another_mounting_is_not(vector: tuple[float, float, float]) -> None:
    assert propose(arm(strict=True), "SetGravityVector", GravityVector(*vector)).warnings == ()


@pytest.mark.parametrize("before", [None, GravityVector()])
def test_without_a_direction_before_there_is_no_turn(before: GravityVector | None) -> None:
    held = {slot: value for slot, value in values().items() if slot[0] != "gravity_vector"}
    if before is not None:
        held["gravity_vector", 0] = before
    assert propose(arm(desired=held), "SetGravityVector", GravityVector(0.0, 0.0, 9.81)).warnings == ()


def loaded(mass: float) -> ArmState:
    state = arm()
    state.desired["payload_information", 0] = PayloadInformation(mass)
    return state


def test_another_tool_below_the_same_payload_is_doubted() -> None:
    longer = ToolConfiguration(CartesianTransform(z=0.2), 0.925)
    (warning,) = propose(loaded(1.5), "SetToolConfiguration", longer).warnings
    assert (warning.name, warning.path) == ("PAYLOAD_KEPT", "tool_configuration")
    assert "the payload of 1.5 kg stays" in warning.message
    assert propose(loaded(0.0), "SetToolConfiguration", longer).warnings == ()


def test_the_same_tool_below_the_same_payload_is_not() -> None:
    same = values()["tool_configuration", 0]
    assert propose(loaded(1.5), "SetToolConfiguration", same).warnings == ()
