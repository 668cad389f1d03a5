"""Births and deaths as they come."""

import json
from typing import Any

import pytest

from devices.mqtt_agent.birth import read_birth, read_death, write_birth, write_death
from devices.mqtt_agent.documents import NUMBER_MOST, PAYLOAD_MOST, UnreadableError, write_document
from schema.arms import Activity
from tests.devices.mqtt_agent.messages import birth


def test_what_is_written_is_read() -> None:
    first = read_birth(write_document(birth(7, ready=False, why="moving")))
    written = write_birth(first, "2026-11-30T09:12:04Z")
    assert read_birth(written) == first
    assert (first.session, first.ready, first.why) == (7, False, "moving")
    assert json.loads(written)["at"] == "2026-11-30T09:12:04Z"
    assert read_death(write_death(7)) == 7


def test_what_a_newer_agent_says_beside_it_is_left_out() -> None:
    newer = birth(colour="red", methods=["GetGravityVector", "Dance"], modes_settable=["IDLE", "DANCING"])
    read = read_birth(write_document(newer))
    assert read.methods == {"GetGravityVector"}
    assert len(read.description.modes_settable) == 1


@pytest.mark.parametrize(
    ("said", "read"), [("moving", Activity.MOVING), ("unknown", Activity.UNKNOWN), ("dancing", Activity.UNKNOWN)]
)
def test_what_an_arm_does_may_be_said(said: str, read: Activity) -> None:
    first = read_birth(write_document(birth(activity=said)))
    assert first.activity is read
    assert read_birth(write_birth(first, "")) == first
    assert read_birth(write_document(birth())).activity is Activity.UNKNOWN


def test_a_text_for_people_is_cut() -> None:
    assert read_birth(write_document(birth(why="a\x00" * 200))).why == "a?" * 100


BAD: list[dict[str, Any]] = [
    *({name: None} for name in birth()),
    {"session": 0},
    {"session": NUMBER_MOST + 1},
    {"session": 1.5},
    {"session": True},
    {"serial": ""},
    {"serial": "S\u0000"},
    {"serial": "Ж"},
    {"model": "m" * 101},
    {"joints": []},
    {"joints": [{"name": "a", "type": "revolute"}] * 65},
    {"joints": [{"name": "a", "type": "rotary"}]},
    {"hard_limits": {}},
    {"hard_limits": {**birth()["hard_limits"], "joint_speed_limits": [80]}},
    {"hard_limits": {**birth()["hard_limits"], "twist_linear": -1}},
    {"hard_limits": {**birth()["hard_limits"], "twist_linear": 1e300}},
    {"hard_source": "guess"},
    {"payload_max": -1},
    {"items": ["gravity_vector"]},
    {"resolution_rad": 2},
    {"fence": [1]},
    {"fence": [-1, 0]},
    {"ready": "yes"},
    {"why": "x" * 1001},
    {"activity": 3},
    {"activity": ""},
]


@pytest.mark.parametrize("changes", BAD, ids=str)
def test_what_breaks_the_protocol_is_unreadable_and_named(changes: dict[str, Any]) -> None:
    with pytest.raises(UnreadableError, match=next(iter(changes)).partition("_")[0]):
        read_birth(write_document(birth() | changes))


def test_what_is_too_large_or_no_object_is_unreadable() -> None:
    for payload in (b"", b"[]", b"{", b" " * (PAYLOAD_MOST + 1), b'{"session":1}'):
        with pytest.raises(UnreadableError):
            read_birth(payload)
    with pytest.raises(UnreadableError):
        read_death(b'{"session":"7"}')
