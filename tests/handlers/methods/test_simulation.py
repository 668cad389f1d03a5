from typing import Any

import pytest

from handlers.methods.simulation import FAULTS
from handlers.rpc.outcome import FaultOrder
from schema.arms import Fault
from schema.errors import BrokerError
from schema.messages import GravityVector, Message
from tests.handlers.builders import arm, decide, linear, never_read, speeds

DAY_MS = 86_400_000


def order(**params: Any) -> Fault:
    outcome = decide(arm(faults_allowed=True), "SimFault", params)
    assert isinstance(outcome, FaultOrder)
    return outcome.fault


def kind(**params: Any) -> str:
    with pytest.raises(BrokerError) as caught:
        order(**params)
    return caught.value.kind


def test_the_faults_are_pinned() -> None:
    lasting = ("refuse", "delay", "hang", "lose_answer", "offline", "foreign_change")
    assert (*lasting, "garbage", "clamp", "reboot", "swap_serial", "moving", "local", "fault", "none") == FAULTS


def test_an_arm_without_faults_does_not_have_the_method() -> None:
    with pytest.raises(BrokerError) as caught:
        decide(arm(), "SimFault", {"fault": "hang"})
    assert (caught.value.kind, caught.value.name) == ("unknown_method", "UNSUPPORTED_METHOD")


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "foreign_change"])
def test_a_fault_begins_until_told_otherwise(name: str) -> None:
    assert order(fault=name) == Fault(name)
    assert order(fault=name, for_ms=200, delay_ms=50) == Fault(name, 200, 50)
    assert order(fault=name, for_ms=DAY_MS, delay_ms=DAY_MS) == Fault(name, DAY_MS, DAY_MS)


def test_a_fault_needs_no_arm_that_was_read() -> None:
    outcome = decide(never_read(faults_allowed=True), "SimFault", {"fault": "offline"})
    assert outcome == FaultOrder(Fault("offline"))


def test_a_refusal_can_be_narrowed_to_an_item_or_one_of_its_slots() -> None:
    assert order(fault="refuse", item="gravity_vector").slot == ("gravity_vector", 0)
    narrowed = order(fault="refuse", item="twist_linear_soft_limit", slot="CARTESIAN_TRAJECTORY")
    assert narrowed.slot == ("twist_linear_soft_limit", 5)


GRAVITY = {"x": 9.81, "y": 0.0, "z": 0.0}


@pytest.mark.parametrize(
    ("item", "slot", "value", "message"),
    [
        ("gravity_vector", "", GRAVITY, GravityVector(9.81, 0.0, 0.0)),
        ("twist_linear_soft_limit", "CARTESIAN_JOYSTICK", 0.2, linear(0.2)),
        ("joint_speed_soft_limits", "ANGULAR_JOYSTICK", [40.0] * 7, speeds(40.0)),
    ],
)
def test_a_foreign_change_names_the_bare_value(item: str, slot: str, value: object, message: Message) -> None:
    params = {"fault": "foreign_change", "item": item, "value": value} | ({"slot": slot} if slot else {})
    assert order(**params).value == message


@pytest.mark.parametrize(
    ("params", "refused_as"),
    [
        ({}, "unknown_enum"),
        ({"fault": "dance"}, "unknown_enum"),
        ({"fault": 1}, "malformed"),
        ({"fault": "hang", "until": 3}, "unknown_field"),
        ({"fault": "hang", "for_ms": -1}, "out_of_limits"),
        ({"fault": "hang", "for_ms": DAY_MS + 1}, "out_of_limits"),
        ({"fault": "hang", "for_ms": 1.5}, "malformed"),
        ({"fault": "delay", "delay_ms": DAY_MS + 1}, "out_of_limits"),
        ({"fault": "refuse", "item": "gravity"}, "unknown_enum"),
        ({"fault": "refuse", "item": "gravity_vector", "slot": "IDLE"}, "malformed"),
        ({"fault": "refuse", "item": "twist_linear_soft_limit", "slot": "IDLE"}, "unknown_enum"),
        ({"fault": "refuse", "item": "twist_linear_soft_limit", "slot": "DANCE"}, "unknown_enum"),
        ({"fault": "refuse", "item": "twist_linear_soft_limit"}, "unknown_enum"),
        ({"fault": "foreign_change"}, "malformed"),
        ({"fault": "foreign_change", "value": GRAVITY}, "malformed"),
        ({"fault": "foreign_change", "item": "gravity_vector"}, "malformed"),
        ({"fault": "foreign_change", "item": "gravity_vector", "value": 9.81}, "malformed"),
        ({"fault": "foreign_change", "item": "gravity_vector", "value": {"w": 1.0}}, "unknown_field"),
        (
            {"fault": "foreign_change", "item": "twist_linear_soft_limit", "slot": "IDLE", "value": 0.2},
            "unknown_enum",
        ),
        (
            {"fault": "foreign_change", "item": "twist_linear_soft_limit", "slot": "CARTESIAN_JOYSTICK", "value": "a"},
            "malformed",
        ),
    ],
)
def test_bad_params_are_refused(params: dict[str, Any], refused_as: str) -> None:
    assert kind(**params) == refused_as


def test_a_bad_slot_is_told_with_the_slots_of_its_item() -> None:
    with pytest.raises(BrokerError, match="ANGULAR_JOYSTICK, ANGULAR_TRAJECTORY"):
        order(fault="refuse", item="joint_acceleration_soft_limits", slot="IDLE")
