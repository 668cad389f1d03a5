"""Replies for clients of little memory."""

import json
from pathlib import Path
from typing import Any

import msgpack
import pytest

from broker.record.replies import CODEC_BY_NAME, error_body, from_outcome
from broker.record.short_replies import SHORT_MOST, curt, short
from schema.envelope import Reply, Stage, Violation, Warned
from schema.errors import BrokerError
from tests.virtual_plant import Plant, play

LONG = "x" * 64
BASE = Reply(LONG, "a" * 63, "S" * 64, ok=True, stage=Stage.APPLIED, final=True, rev=2**40, seq=2**40, at_us=1)
SUGGESTED = (1 / 3,) * 64
VIOLATION = Violation("joint_speed_soft_limits[4]", 80.1, 70.2, "deg/s", "<=", "hard:device", 5, "joint_5", SUGGESTED)


def document(payload: bytes, codec: str) -> Any:
    return json.loads(payload) if codec == "json" else msgpack.unpackb(payload)


@pytest.mark.parametrize("codec", ["json", "msgpack", "protobuf"])
def test_nothing_is_longer_than_a_small_buffer(codec: str) -> None:
    refused = BrokerError("out_of_limits", "m" * 900, (VIOLATION,) * 7)
    replies = [
        BASE,
        Reply(**{**_fields(BASE), "warnings": tuple(Warned("UNIT_SUSPECT", "t" * 300, f"p{n}") for n in range(9))}),
        Reply(**{**_fields(BASE), "result": {"values": ["v" * 30] * 90}}),
        Reply(**{**_fields(BASE), "stage": Stage.READ, "result": {"values": ["v" * 30] * 90}}),
        Reply(**{**_fields(BASE), "ok": False, "stage": Stage.REFUSED, "error": error_body(refused)}),
    ]
    for reply in replies:
        payload = short(reply, CODEC_BY_NAME[codec], error_body)
        assert len(payload) <= SHORT_MOST
        if codec != "protobuf":
            told = document(payload, codec)
            assert (told["id"], told["rev"], told["seq"]) == (reply.id, reply.rev, reply.seq)
            assert all(warning["message"] == "" for warning in told["warnings"])
            assert told.get("error", {}).get("message", "") == ""
    read = document(short(replies[3], CODEC_BY_NAME["json"], error_body), "json")
    assert (read["ok"], read["error"]["kind"]) == (False, "too_large")
    changed = document(short(replies[2], CODEC_BY_NAME["json"], error_body), "json")
    assert (changed["ok"], changed["stage"], changed["result"]) == (True, "applied", {})


def _fields(reply: Reply) -> dict[str, Any]:
    return {name: getattr(reply, name) for name in reply.__struct_fields__}


def test_one_violation_is_kept() -> None:
    error = error_body(BrokerError("out_of_limits", "m", (VIOLATION, VIOLATION)))
    assert curt(Reply(**{**_fields(BASE), "ok": False, "error": error})).error == error_body(
        BrokerError("out_of_limits", "", (VIOLATION,))
    )


def test_only_who_asked_for_them_gets_short_replies_and_the_store_keeps_the_whole(tmp_path: Path) -> None:
    speeds = {"control_mode": "ANGULAR_JOYSTICK", "joint_speed_soft_limits": [900.0] * 7}

    async def scenario(plant: Plant) -> None:
        curtly = await plant.call("r1", "SetJointSpeedSoftLimits", speeds, user="plc", id="a")
        assert curtly["error"]["kind"] == "out_of_limits"
        assert (curtly["error"]["message"], len(curtly["error"]["violations"])) == ("", 1)
        row = plant.store.find("plc", "c", "a")
        assert row is not None
        kept = from_outcome(row.outcome, row.method).error
        assert kept is not None
        assert len(kept.violations) == 7
        whole = await plant.call("r1", "SetJointSpeedSoftLimits", speeds)
        assert (whole["error"]["message"], len(whole["error"]["violations"])) == (kept.message, 7)
        events = await plant.call("r1", "GetEvents", {"after_seq": 0}, user="plc")
        assert events["ok"]

    play(tmp_path, scenario, clients={"plc": {"replies": "short"}})
