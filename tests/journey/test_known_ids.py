"""One outcome per id: repeats, reuse, and what is not remembered."""

from typing import Any

import pytest

from tests.journey.conftest import ClientMaker
from tests.journey.forms import CONTENT_TYPES, decode_reply, encode_request

SET = "SetTwistLinearSoftLimit"
VALUE = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}
OTHER = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.3}
FAULT = {"fault": "hang"}


async def test_a_repeat_gets_the_same_outcome_and_changes_nothing(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    first = await client.call(arm, SET, VALUE, id="1")
    assert "duplicate" not in first
    assert "in_force" not in first
    again = await client.call(arm, SET, VALUE, id="1", wait="stored", reason="other words", ttl_ms=5000)
    assert again == {**first, "duplicate": True, "in_force": True}
    assert (await client.call(arm, "GetEvents", {"after_seq": 0}))["result"]["head_seq"] == 1
    assert len(client.events(arm)) == 1


async def test_a_repeat_tells_whether_the_change_is_still_in_force(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    first = await client.change(arm, SET, VALUE, id="1")
    second = await client.change(arm, SET, OTHER, id="2")
    again = await client.call(arm, SET, VALUE, id="1")
    assert (again["rev"], again["seq"], again["in_force"]) == (first["rev"], first["seq"], False)
    assert (await client.call(arm, SET, OTHER, id="2"))["in_force"] is True
    foreign = {"fault": "foreign_change", "item": "twist_linear_soft_limit", "slot": "CARTESIAN_JOYSTICK", "value": 0.1}
    monitor = await connect(f"evt/{arm}/#", user="monitor")
    await client.change(arm, "SimFault", foreign)
    await monitor.take(lambda message: message.document["cause"] == "foreign")
    again = await client.call(arm, SET, OTHER, id="2")
    assert (again["rev"], again["in_force"]) == (second["rev"], False)


async def test_an_unchanged_change_is_in_force_as_long_as_its_value(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.change(arm, SET, VALUE)
    await client.change(arm, SET, VALUE, id="same")
    assert (await client.call(arm, SET, VALUE, id="same"))["in_force"] is True
    await client.change(arm, SET, OTHER)
    assert (await client.call(arm, SET, VALUE, id="same"))["in_force"] is False


@pytest.mark.parametrize("codec", ["msgpack", "protobuf"])
async def test_a_repeat_may_come_in_another_codec_to_another_address(
    connect: ClientMaker, arm: str, codec: str
) -> None:
    client = await connect()
    first = await client.change(arm, SET, VALUE, id="1")
    payload = encode_request(codec, SET, {"id": "1", "params": VALUE})
    topic = f"res/{client.user}/elsewhere/again"
    await client.publish(
        f"req/{client.user}/{client.conn}/{arm}/{SET}",
        payload,
        content_type=CONTENT_TYPES[codec],
        response_topic=f"{client.root}/{topic}",
        correlation=b"retry",
    )
    message = await client.take_topic(topic)
    assert (message.correlation, message.content_type) == (b"retry", CONTENT_TYPES[codec])
    again = decode_reply(codec, message.payload)
    assert (again["id"], again["rev"], again["duplicate"], again["in_force"]) == ("1", first["rev"], True, True)
    assert again["result"] == {}


async def test_a_refusal_is_remembered(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    wrong = {**VALUE, "twist_linear_soft_limit": 9.0}
    first = await client.call(arm, SET, wrong, id="1")
    assert (first["stage"], first["error"]["kind"]) == ("refused", "out_of_limits")
    again = await client.call(arm, SET, wrong, id="1")
    assert again == {**first, "duplicate": True, "in_force": False}


async def test_bytes_that_cannot_be_decoded_are_remembered_by_their_bytes(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    for payload, duplicate, kind in (
        (b'{"id":"1","params":{"control_mode":7}}', False, "malformed"),
        (b'{"id":"1","params":{"control_mode":7}}', True, "malformed"),
        (b'{"id":"1","params":{"control_mode":8}}', False, "id_reused"),
    ):
        await client.publish(f"req/{client.user}/{client.conn}/{arm}/{SET}", payload)
        reply = await client.reply("1")
        assert (reply.get("duplicate", False), reply["error"]["kind"]) == (duplicate, kind)


async def test_an_id_is_not_used_for_another_request(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    first = await client.change(arm, SET, VALUE, id="1", if_rev=1)
    others: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
        (SET, OTHER, {"if_rev": 1}),
        (SET, VALUE, {"if_rev": 2}),
        (SET, VALUE, {}),
        ("SetGravityVector", {"z": -9.81}, {}),
        ("NoSuchMethod", {}, {}),
    )
    for method, params, fields in others:
        reply = await client.call(arm, method, params, id="1", **fields)
        assert (reply["stage"], reply["error"]["kind"], reply["error"]["retry"]) == ("refused", "id_reused", "new_id")
        for part in (SET, arm, first["at"][:10]):
            assert part in reply["error"]["message"]
    assert (await client.call(arm, SET, VALUE, id="1", if_rev=1))["duplicate"] is True


async def test_ids_belong_to_a_connection(connect: ClientMaker, arm: str) -> None:
    one, two = await connect(), await connect()
    assert (await one.change(arm, SET, VALUE, id="1"))["rev"] == 2
    assert (await two.change(arm, SET, OTHER, id="1"))["rev"] == 3


async def test_reads_and_dry_runs_are_not_remembered(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    assert (await client.call(arm, "GetGravityVector", id="1"))["stage"] == "read"
    assert (await client.call(arm, SET, VALUE, id="1", dry_run=True))["stage"] == "checked"
    assert (await client.call(arm, SET, VALUE, id="1"))["stage"] == "applied"
    again = await client.call(arm, "GetGravityVector", id="1")
    assert (again["stage"], "duplicate" in again) == ("read", False)


async def test_a_repeat_of_an_unsettled_request_waits_for_its_reply(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.change(arm, "SimFault", FAULT)
    await client.send(arm, SET, {"id": "1", "params": VALUE})
    await client.send(arm, SET, {"id": "1", "params": VALUE}, correlation=b"second")
    stored = await client.call(arm, SET, VALUE, id="1", wait="stored")
    assert (stored["ok"], stored["stage"], stored["final"]) == (True, "stored", False)
    assert (stored["duplicate"], stored["in_force"]) == (True, False)
    await client.change(arm, "SimFault", {"fault": "none"})
    messages = [await client.take_topic(f"res/{client.user}/{client.conn}/1") for _ in range(2)]
    first, second = sorted(messages, key=lambda message: message.correlation)
    assert second.correlation == b"second"
    assert (first.document["stage"], "duplicate" in first.document) == ("applied", False)
    assert second.document == {**first.document, "duplicate": True, "in_force": True}


async def test_a_busy_refusal_may_be_sent_again_as_it_is(connect: ClientMaker, start_service: ClientMaker) -> None:
    own = start_service("r1", arm_defaults={"queue": 2})
    client = await connect(to=own)
    await client.change("r1", "SimFault", FAULT)
    for number in range(2):
        await client.send("r1", SET, {"id": f"q{number}", "params": VALUE})
    refused = await client.call("r1", SET, OTHER, id="again")
    assert (refused["error"]["kind"], refused["error"]["retry"], refused["final"]) == ("busy", "same_id", False)
    await client.change("r1", "SimFault", {"fault": "none"})
    for number in range(2):
        assert (await client.reply(f"q{number}"))["stage"] == "applied"
    accepted = await client.call("r1", SET, OTHER, id="again")
    assert (accepted["stage"], "duplicate" in accepted) == ("applied", False)


async def test_a_stored_change_later_gives_its_latest_stage(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    stored = await client.change(arm, SET, VALUE, id="1", wait="stored")
    assert (stored["stage"], stored["final"], stored["rev"], stored["seq"]) == ("stored", False, 2, 0)
    event = (await client.take_topic(f"evt/{arm}/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED")).document
    assert (event["request_id"], event["rev"]) == (f"{client.user}/{client.conn}/1", 2)
    again = await client.call(arm, SET, VALUE, id="1")
    assert (again["stage"], again["final"], again["seq"]) == ("applied", True, event["seq"])
    assert (again["duplicate"], again["in_force"]) == (True, True)
    assert client.inbox == []


async def test_ids_outlive_a_restart(connect: ClientMaker, start_service: ClientMaker) -> None:
    own = start_service("r1")
    client = await connect(to=own)
    first = await client.change("r1", SET, VALUE, id="1")
    own.restart()
    again = await client.call("r1", SET, VALUE, id="1")
    assert again == {**first, "duplicate": True, "in_force": True}
    assert (await client.call("r1", SET, OTHER, id="1"))["error"]["kind"] == "id_reused"
