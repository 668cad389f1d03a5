"""Where replies go, and what they carry."""

import json

import pytest

from tests.journey.conftest import ClientMaker
from tests.journey.forms import CONTENT_TYPES, decode_reply

GET = "GetGravityVector"
WRONG = ["res/{user}/{conn}", "res/{user}/{conn}/a/b", "res/{user}/{conn}/a.b", "res/{user}/.x/a", "res/bob/bob-1/a"]


async def test_a_response_topic_of_the_user_is_used(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    topic = f"res/{client.user}/another-conn/leaf_1-A"
    await client.send(arm, GET, {"id": "1"}, response_topic=f"{client.root}/{topic}", correlation=b"\x00\xff1")
    message = await client.take_topic(topic)
    assert (message.correlation, message.qos) == (b"\x00\xff1", 1)
    assert message.content_type == "application/json"
    assert 0 < message.expiry_s <= 300
    assert not message.retained
    assert message.document["warnings"] == []


@pytest.mark.parametrize("wrong", WRONG)
async def test_another_response_topic_is_ignored_with_a_warning(connect: ClientMaker, arm: str, wrong: str) -> None:
    client = await connect()
    topic = wrong.format(user=client.user, conn=client.conn)
    await client.send(arm, GET, {"id": "r7"}, response_topic=f"{client.root}/{topic}", correlation=b"c")
    message = await client.take_topic(f"res/{client.user}/{client.conn}/r7")
    assert message.correlation == b"c"
    assert [warning["name"] for warning in message.document["warnings"]] == ["RESPONSE_TOPIC_IGNORED"]


async def test_a_response_topic_outside_the_root_is_ignored(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.send(arm, "SetGravityVector", {"id": "w1", "params": {"z": -9.81}}, response_topic="elsewhere/1")
    reply = await client.reply("w1")
    assert reply["stage"] == "applied"
    assert [warning["name"] for warning in reply["warnings"]] == ["RESPONSE_TOPIC_IGNORED"]


@pytest.mark.parametrize("version", [4, 5])
async def test_without_an_id_the_leaf_is_an_underscore(connect: ClientMaker, arm: str, version: int) -> None:
    client = await connect(version=version)
    await client.send(arm, GET, {})
    reply = await client.reply("_")
    assert (reply["id"], reply["ok"]) == ("", True)
    await client.send(arm, "SetGravityVector", {"params": {"z": -9.81}})
    reply = await client.reply("_")
    assert (reply["id"], reply["error"]["kind"]) == ("", "id_missing")


@pytest.mark.parametrize("length", [16, 32])
async def test_correlation_data_serves_as_id_in_hex(connect: ClientMaker, arm: str, length: int) -> None:
    client = await connect()
    correlation = bytes(range(length))
    for duplicate in (False, True):
        await client.send(arm, "SetGravityVector", {"params": {"x": 9.81}}, correlation=correlation)
        message = await client.take_topic(f"res/{client.user}/{client.conn}/{correlation.hex()}")
        assert message.correlation == correlation
        assert message.document["id"] == correlation.hex()
        assert message.document.get("duplicate", False) is duplicate


@pytest.mark.parametrize("length", [15, 33])
async def test_other_correlation_data_is_no_id(connect: ClientMaker, arm: str, length: int) -> None:
    client = await connect()
    await client.send(arm, "SetGravityVector", {"params": {"x": 9.81}}, correlation=bytes(length))
    assert (await client.reply("_"))["error"]["kind"] == "id_missing"


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (b'{"id":"known","nonsense":1}', "unknown_field"),
        (b'{"id":"known","ttl_ms":0}', "bad_request_field"),
        (b'{"id":"known","reason":"a\\u202eb"}', "bad_request_field"),
    ],
)
async def test_the_id_is_taken_although_the_envelope_is_wrong(
    connect: ClientMaker, arm: str, payload: bytes, kind: str
) -> None:
    client = await connect()
    await client.publish(f"req/{client.user}/{client.conn}/{arm}/SetGravityVector", payload)
    reply = await client.reply("known")
    assert (reply["id"], reply["error"]["kind"]) == ("known", kind)


@pytest.mark.parametrize("codec", ["json", "msgpack", "protobuf"])
async def test_what_cannot_be_decoded_is_answered_in_the_codec_of_its_content_type(
    connect: ClientMaker, arm: str, codec: str
) -> None:
    client = await connect()
    topic = f"req/{client.user}/{client.conn}/{arm}/SetGravityVector"
    await client.publish(topic, b"\xc1\xff", content_type=f"{CONTENT_TYPES[codec]}; charset=utf-8")
    message = await client.take_topic(f"res/{client.user}/{client.conn}/_")
    assert message.content_type == CONTENT_TYPES[codec]
    assert decode_reply(codec, message.payload)["error"]["kind"] == "malformed"


async def test_an_unknown_content_type_is_answered_in_json(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.publish(f"req/{client.user}/{client.conn}/{arm}/{GET}", b'{"id":"x"}', content_type="text/plain")
    message = await client.take_topic(f"res/{client.user}/{client.conn}/_")
    assert json.loads(message.payload)["error"]["kind"] == "unsupported_codec"
    assert message.content_type == "application/json"


@pytest.mark.parametrize("codec", ["json", "msgpack", "protobuf"])
async def test_without_a_content_type_the_payload_tells_its_codec(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    await client.send(arm, GET, {"id": "sniffed"}, content_type="")
    message = await client.take_topic(f"res/{client.user}/{client.conn}/sniffed")
    assert message.content_type == CONTENT_TYPES[codec]
    assert decode_reply(codec, message.payload)["ok"]


async def test_levels_users_and_connections_that_are_bad_get_no_reply(connect: ClientMaker, arm: str) -> None:
    client = await connect("res/#")
    base = f"req/{client.user}"
    for topic in (
        f"{base}/{client.conn}/{arm}",
        f"{base}/{client.conn}/{arm}/{GET}/more",
        f"{base}//{arm}/{GET}",
        f"{base}/-x/{arm}/{GET}",
        f"{base}/c o/{arm}/{GET}",
        f"req/.al/{client.conn}/{arm}/{GET}",
        f"req/{'a' * 64}/{client.conn}/{arm}/{GET}",
    ):
        await client.publish(topic, b'{"id":"dropped"}')
    assert (await client.call(arm, GET))["ok"]
    assert client.inbox == []


async def test_a_reply_may_go_to_another_connection_of_the_user(connect: ClientMaker, arm: str) -> None:
    listener = await connect()
    sender = await connect()
    await sender.send(arm, GET, {"id": "for-the-other"})
    assert (await listener.reply("for-the-other", conn=sender.conn))["ok"]
