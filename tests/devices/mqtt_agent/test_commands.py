"""Commands and acknowledgements, written and read."""

import json
from typing import Any

import pytest

from devices.adapter import ArmRefusedError, Command
from devices.mqtt_agent.commands import (
    AckHead,
    Order,
    UnfitOrderError,
    all_values,
    read_ack,
    read_order,
    write_all,
    write_done,
    write_order,
    write_refusal,
)
from devices.mqtt_agent.documents import COMMAND_MOST, UnreadableError
from devices.mqtt_agent.values import SLOTS, from_value
from devices.simulated.cells import cells_of
from schema.arms import Verb

VALUES = {slot: cell.default for slot, cell in cells_of("gen3_7dof").items()}
SET = {
    "session": 4, "epoch": 2, "cmd_seq": 9, "verb": "set", "item": "desired_linear_twist", "value": {"linear": 0.1},
    "expires_in_ms": 5000,
}  # fmt: skip
READ = {"session": 4, "read": 9, "verb": "read", "item": "gravity_vector", "expires_in_ms": 2000}


def test_an_arm_has_the_slots_of_the_service() -> None:
    assert set(SLOTS) == set(VALUES)


@pytest.mark.parametrize("slot", SLOTS, ids=str)
@pytest.mark.parametrize("verb", Verb)
def test_every_command_is_read_as_it_was_written(verb: Verb, slot: tuple[str, int]) -> None:
    command = Command(2, 9, verb, slot, VALUES[slot] if verb is Verb.SET else None)
    order = Order(4, (2, 9), 5000, command, slot)
    assert read_order(write_order(order)) == order


def test_reads_are_read_as_they_were_written() -> None:
    for slot in (None, *SLOTS):
        order = Order(4, (17,), 2000, None, slot)
        assert read_order(write_order(order)) == order


def test_answers_are_read_as_they_were_written() -> None:
    done = read_ack(write_done(AckHead(4, (2, 9), (2, 9))))
    assert (done.session, done.key, done.fence, done.refusal, done.value) == (4, (2, 9), (2, 9), None, None)
    for slot, value in VALUES.items():
        assert from_value(slot, read_ack(write_done(AckHead(4, (17,), (0, 0)), slot, value)).value) == value
    assert all_values(read_ack(write_all(AckHead(4, (17,), (0, 0)), VALUES))) == VALUES
    refusal = read_ack(
        write_refusal(AckHead(4, (2, 9), (2, 9)), ArmRefusedError(3, 48, "VALUE_IS_ABOVE_MAXIMUM", "no"))
    ).refusal
    assert refusal is not None
    assert (refusal.code, refusal.sub_code, refusal.name, str(refusal)) == (3, 48, "VALUE_IS_ABOVE_MAXIMUM", "no")


@pytest.mark.parametrize(
    "changes",
    [
        {"verb": "jump"},
        {"verb": "read"},
        {"item": "no_item"},
        {"item": None},
        {"slot": "IDLE"},
        {"value": None},
        {"value": 0.1},
        {"value": {}},
        {"value": {"linear": "0.1"}},
        {"value": {"linear": 0.1, "angular": 0.1}},
        {"expires_in_ms": 0},
        {"expires_in_ms": 3_600_001},
        {"expires_in_ms": None},
        {"only_if": "a field of later"},
    ],
    ids=str,
)
def test_a_command_that_is_not_wholly_understood_is_refused(changes: dict[str, Any]) -> None:
    document = {name: value for name, value in (SET | changes).items() if value is not None}
    with pytest.raises(UnfitOrderError) as refusal:
        read_order(json.dumps(document).encode())
    assert (refusal.value.session, refusal.value.key) == (4, (2, 9))
    assert str(refusal.value)


def test_a_read_takes_no_write() -> None:
    with pytest.raises(UnfitOrderError):
        read_order(json.dumps({**READ, "verb": "set"}).encode())


@pytest.mark.parametrize(
    "document",
    [
        {**SET, "read": 3},
        {name: value for name, value in SET.items() if name != "cmd_seq"},
        {name: value for name, value in SET.items() if name != "session"},
        {**SET, "epoch": "2"},
        {**READ, "read": 0},
        {**SET, "reason": "x" * COMMAND_MOST},
    ],
)
def test_a_command_without_a_number_has_no_answer(document: dict[str, Any]) -> None:
    with pytest.raises(UnreadableError):
        read_order(json.dumps(document).encode())
