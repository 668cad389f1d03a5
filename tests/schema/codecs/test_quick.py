"""What is read in one step is what the strict readers read; what they refuse is not read in one step."""

import json
import math
import sys
from collections.abc import Callable
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.rpc_table import RPC_TABLE
from schema.codecs import CODECS, Codec
from schema.codecs.plain import to_plain
from schema.codecs.protobuf import encode_message
from schema.codecs.quick import JSON, MSGPACK
from schema.codecs.quick_fields import MOST_ITEMS, reader_of
from schema.codecs.registry import MESSAGES
from schema.envelope import Reply, RequestEnvelope, Stage, View, Wait
from schema.errors import BrokerError
from schema.intrinsic import JointLimitsUpdate, RepeatedDouble
from schema.items import CONFIG_ITEMS, ConfigItem
from schema.joint_items import JointNames, JointParameterMap, JointSafetyChange, JointSafetyRecord
from schema.messages import (
    Empty,
    GravityVector,
    JointSpeeds,
    JointSpeedSoftLimits,
    KinematicLimits,
    KinematicLimitsList,
    Message,
    NotificationOptions,
    Position,
    ToolConfiguration,
)
from schema.proto.armbroker.v1 import armbroker_pb2 as wire
from tests.handlers.builders import values as values_of_an_arm
from tests.schema.everything import Everything
from tests.schema.strategies import records

CLASSES = sorted({rpc.request for rpc in RPC_TABLE.values() if rpc.request is not None}, key=lambda cls: cls.__name__)
JSON_CODEC, MSGPACK_CODEC, PROTOBUF_CODEC = CODECS.values()
ID = "7-1"
Read = tuple[RequestEnvelope, Message]


def strictly(codec: Codec, payload: bytes, cls: type[Message]) -> Read | None:
    try:
        envelope = codec.decode_request(payload)
        params = codec.decode_params(envelope.params, cls)
    except BrokerError:
        return None
    return msgspec.structs.replace(envelope, params=None), params


def agrees(codec: Codec, payload: bytes, cls: type[Message]) -> bool:
    """Both readers agree; whether the quick one took the payload."""
    whole = codec.decode_whole(payload, cls)
    if whole is None:
        return False
    assert repr(whole) == repr(strictly(codec, payload, cls))  # repr tells -0.0 from 0.0 and 1 from 1.0
    return True


def packed(codec: Codec, document: dict[str, Any], message: Message | None = None) -> bytes:
    """A request as an ordinary client sends it."""
    if codec is JSON_CODEC:
        return json.dumps(document).encode()
    if codec is MSGPACK_CODEC:
        packed: bytes = msgpack.packb(document)
        return packed
    params = b""
    if message is not None:
        params = encode_message(message) if type(message) in MESSAGES else json.dumps(document["params"]).encode()
    return wire.Request(id=document["id"], params=params).SerializeToString()


def request(codec: Codec, message: Message) -> bytes:
    return packed(codec, {"id": ID, "params": to_plain(message)}, message)


@pytest.mark.parametrize("codec", CODECS.values(), ids=lambda codec: codec.name)
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_what_ordinary_clients_send_is_read_in_one_step(codec: Codec, cls: type[Message]) -> None:
    payload = request(codec, cls())
    assert agrees(codec, payload, cls)
    found = codec.decode_whole(payload, cls)
    assert found == (RequestEnvelope(ID), cls())


values = st.sampled_from(CLASSES).flatmap(records)


@pytest.mark.parametrize("codec", CODECS.values(), ids=lambda codec: codec.name)
@given(message=values)
def test_every_message_is_read_alike(codec: Codec, message: Message) -> None:
    agrees(codec, request(codec, message), type(message))


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(width=32) | st.floats() | st.text(max_size=6)
    | st.sampled_from(["IDLE", "Infinity", "rad", "applied", "stored", "2026-11-30T09:12:04Z", "a-1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip
FIELDS = ("id", "if_rev", "dry_run", "wait", "issued_at", "ttl_ms", "valid_for_ms", "reason", "unit", "view", "more")
options = st.dictionaries(st.sampled_from(FIELDS), plain, max_size=3)


@st.composite
def altered(draw: st.DrawFn) -> tuple[type[Message], dict[str, Any]]:
    """A request with some keys left out, in another order, or with another value."""
    message = draw(values)
    params = to_plain(message)
    keys = draw(st.permutations(list(params)))
    kept = {key: params[key] for key in keys if draw(st.booleans())}
    for key in draw(st.lists(st.sampled_from([*params, "more"]), max_size=1)):
        kept[key] = draw(plain)
    document = {"id": draw(st.just(ID) | plain), "params": kept} if draw(st.booleans()) else {"params": kept, "id": ID}
    return type(message), document | draw(options)


def finite_json(document: dict[str, Any], *, indent: int | None) -> bytes:
    return json.dumps(document, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")


def packable(document: Any) -> bytes:
    try:
        found: bytes = msgpack.packb(document, use_single_float=False)
    except (OverflowError, UnicodeEncodeError):
        found = b""
    return found


@given(altered(), st.sampled_from([None, 0, 2]))
def test_altered_requests_are_read_alike_or_strictly(
    case: tuple[type[Message], dict[str, Any]], indent: int | None
) -> None:
    cls, document = case
    agrees(JSON_CODEC, finite_json(document, indent=indent), cls)
    agrees(MSGPACK_CODEC, packable(document), cls)


edits = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 12), st.binary(max_size=3) | st.sampled_from(
        [b'"', b":", b" ", b"\\", b'"id":"a",', b'"x":1,', b"NaN", b"1e999", b"\x82", b"\xc0", b"\xa1x", b"\0"]
    )),
    min_size=1, max_size=3,
)  # fmt: skip


@pytest.mark.parametrize("codec", CODECS.values(), ids=lambda codec: codec.name)
@given(message=values, changes=edits)
def test_damaged_payloads_are_read_alike_or_strictly(
    codec: Codec, message: Message, changes: list[tuple[int, int, bytes]]
) -> None:
    payload = request(codec, message)
    for at, length, piece in changes:
        payload = payload[:at] + piece + payload[at + length :]
    agrees(codec, payload, type(message))


@pytest.mark.parametrize("codec", CODECS.values(), ids=lambda codec: codec.name)
@given(message=values, start=st.integers(0, 200), length=st.integers(1, 60))
def test_repeated_parts_are_read_alike_or_strictly(codec: Codec, message: Message, start: int, length: int) -> None:
    payload = request(codec, message)
    agrees(codec, payload[:start] + payload[start : start + length] * 2 + payload[start + length :], type(message))


TWICE = [
    (JSON_CODEC, b'{"id":"a","id":"b","params":{}}', Empty),
    (JSON_CODEC, b'{"id" :"a","id":"b"}', Empty),
    (JSON_CODEC, b'{"id":"a","params":{"x":1,"x":1,"z":-9.81}}', GravityVector),
    (JSON_CODEC, b'{"id":"a","params":{"tool_transform":{"x":1,"x":2}}}', ToolConfiguration),
    (JSON_CODEC, b'{"id":"a","params":{"tool_transform":{"x":1},"tool_mass":1,"tool_mass":2}}', ToolConfiguration),
    (JSON_CODEC, b'{"id":"a","params":{"parameters":{"a":1,"a":1}}}', JointParameterMap),
    (JSON_CODEC, b'{"id":"a","params":{"joints":{"a":{"k_position":1,"k_position":1}}}}', JointSafetyChange),
    (JSON_CODEC, b'{"id":"a","params":{"\\u0078":1,"x":1}}', GravityVector),
    (MSGPACK_CODEC, b"\x83\xa2id\xa1a\xa2id\xa1b\xa6params\x80", Empty),
    (MSGPACK_CODEC, b"\x82\xa2id\xa1a\xa6params\x82\xa1x\x01\xd9\x01x\x01", GravityVector),
    (MSGPACK_CODEC, b"\x82\xa2id\xa1a\xa6params\xde\x00\x02\xa1x\x01\xa1x\x01", GravityVector),
    (MSGPACK_CODEC, b"\x82\xa2id\xa1a\xa6params\x81\xaaparameters\x82\xa1a\x01\xa1a\x01", JointParameterMap),
]


@pytest.mark.parametrize(("codec", "payload", "cls"), TWICE)
def test_a_key_that_is_given_twice_is_found(codec: Codec, payload: bytes, cls: type[Message]) -> None:
    assert codec.decode_whole(payload, cls) is None
    assert strictly(codec, payload, cls) is None


UNUSUAL = [
    (PROTOBUF_CODEC, wire.Request(id="a", params=b"{} ").SerializeToString(), JointNames),
    (PROTOBUF_CODEC, wire.Request(id="a", params=b"{}").SerializeToString(), Everything),
    (JSON_CODEC, b'{"id":"a","params":{"z" : -9.81}}', GravityVector),
    (JSON_CODEC, b'{"id":7}', Empty),
    (JSON_CODEC, b'{"id":"a","reason":"caf\\u00e9"}', Empty),
    (JSON_CODEC, b'{"id":"a"} ', Empty),
    (JSON_CODEC, b'{"id":"a"}\0', Empty),
    (MSGPACK_CODEC, b"\xdf\x00\x00\x00\x01\xa2id\xa1a", Empty),
    (PROTOBUF_CODEC, wire.Request(id="a", reason="b").SerializeToString(), Empty),
    (PROTOBUF_CODEC, wire.Request(id="a", if_rev=0).SerializeToString(), Empty),
    (PROTOBUF_CODEC, wire.Request().SerializeToString() + b"\x08\x00", Empty),
]


@pytest.mark.parametrize(("codec", "payload", "cls"), UNUSUAL)
def test_what_is_unusual_is_left_to_the_strict_reader(codec: Codec, payload: bytes, cls: type[Message]) -> None:
    assert codec.decode_whole(payload, cls) is None


BOUNDLESS = JointLimitsUpdate(max_jerk=RepeatedDouble((1.0, math.inf)))
REFUSED = [
    (JSON_CODEC, b"", Empty),
    (JSON_CODEC, b'{"id":"a b"}', Empty),
    (JSON_CODEC, b'{"id":"a","more":1}', Empty),
    (JSON_CODEC, b'{"id":"a","ttl_ms":0}', Empty),
    (JSON_CODEC, b'{"id":"a","params":null}', Empty),
    (JSON_CODEC, b'{"id":"a","params":{"z":1e400}}', GravityVector),
    (JSON_CODEC, b'{"id":"a","params":{"z":1e39}}', GravityVector),
    (JSON_CODEC, b'{"id":"a","params":{"type":"NO"}}', NotificationOptions),
    (JSON_CODEC, b'{"id":"a","params":{"rate_m_sec":4294967296}}', NotificationOptions),
    (JSON_CODEC, b'{"id":"a","params":{"rate_m_sec":1.0}}', NotificationOptions),
    (MSGPACK_CODEC, b"", Empty),
    (MSGPACK_CODEC, msgpack.packb({"id": "a", "params": {"z": math.nan}}), GravityVector),
    (MSGPACK_CODEC, msgpack.packb({"id": "a", "params": {"joint_speed": [1.0, math.inf]}}), JointSpeeds),
    (MSGPACK_CODEC, msgpack.packb({"id": "a", "params": {"joint_speed": [0] * (MOST_ITEMS + 1)}}), JointSpeeds),
    (MSGPACK_CODEC, msgpack.packb({"id": "a", "params": {"parameters": {"a": math.inf}}}), JointParameterMap),
    (MSGPACK_CODEC, msgpack.packb({"id": "a", "params": {"max_jerk": {"values": [1.0, math.nan]}}}), JointLimitsUpdate),
    (PROTOBUF_CODEC, packed(PROTOBUF_CODEC, {"id": "a"}, BOUNDLESS), JointLimitsUpdate),
    (PROTOBUF_CODEC, b"", Empty),
    (PROTOBUF_CODEC, b"\xff", Empty),
    (PROTOBUF_CODEC, wire.Request(id="a b").SerializeToString(), Empty),
    (PROTOBUF_CODEC, wire.Request(id="a").SerializeToString() + b"\xf8\x07\x01", Empty),
    (PROTOBUF_CODEC, wire.Request(id="a", params=b"\xff").SerializeToString(), GravityVector),
    (PROTOBUF_CODEC, wire.Request(id="a", params=b"\xf8\x07\x01").SerializeToString(), GravityVector),
    (PROTOBUF_CODEC, wire.Request(id="a", params=b"\x08\x63").SerializeToString(), JointSpeedSoftLimits),
]


@pytest.mark.parametrize(("codec", "payload", "cls"), REFUSED)
def test_what_is_refused_is_never_read_in_one_step(codec: Codec, payload: bytes, cls: type[Message]) -> None:
    assert codec.decode_whole(payload, cls) is None


def test_options_are_read_in_one_step_too() -> None:
    document = {"if_rev": 4, "dry_run": True, "wait": "stored", "reason": "trial", "view": "desired", "id": "a"}
    expected = RequestEnvelope("a", if_rev=4, dry_run=True, wait=Wait.STORED, reason="trial", view=View.DESIRED)
    for codec in (JSON_CODEC, MSGPACK_CODEC):
        assert codec.decode_whole(packed(codec, document), Empty) == (expected, Empty())


def test_a_request_without_an_id_is_read_in_one_step() -> None:
    for codec in (JSON_CODEC, MSGPACK_CODEC):
        assert codec.decode_whole(packed(codec, {"params": {}}), Empty) == (RequestEnvelope(), Empty())


def test_absent_parts_take_their_defaults() -> None:
    message = ToolConfiguration(tool_mass=1.5, tool_mass_center=Position(z=0.25))
    document = {"id": ID, "params": {"tool_mass": 1.5, "tool_mass_center": {"z": 0.25}}}
    for codec in CODECS.values():
        assert codec.decode_whole(packed(codec, document, message), ToolConfiguration) == (RequestEnvelope(ID), message)


def test_maps_are_read_in_one_step() -> None:
    long = JointParameterMap({f"joint_limits.joint_{number}.max_velocity": 1.5 for number in range(40)})
    safety = JointSafetyChange({"joint_1": JointSafetyRecord(1.0, -1.0, 20.0, 5.0), "joint_2": JointSafetyRecord()})
    for codec in CODECS.values():
        for message in (long, safety):
            assert codec.decode_whole(request(codec, message), type(message)) == (RequestEnvelope(ID), message)


def test_lists_of_doubles_are_read_in_one_step_as_they_are() -> None:
    message = JointLimitsUpdate(max_velocity=RepeatedDouble((0.1, 1e300)), max_jerk=RepeatedDouble(()))
    for codec in CODECS.values():
        assert codec.decode_whole(request(codec, message), JointLimitsUpdate) == (RequestEnvelope(ID), message)


def test_a_payload_of_records_in_a_list_is_left_to_the_strict_reader() -> None:
    payload = request(PROTOBUF_CODEC, KinematicLimitsList((KinematicLimits(),)))
    assert PROTOBUF_CODEC.decode_whole(payload, KinematicLimitsList) is None
    assert strictly(PROTOBUF_CODEC, payload, KinematicLimitsList) is not None


@pytest.mark.parametrize("form", [JSON, MSGPACK])
def test_records_with_lists_of_records_or_bytes_are_never_read_in_one_step(form: Any) -> None:
    assert reader_of(Everything, form) is None


decoders: list[Callable[[bytes, type[Message]], Read | None]] = [codec.decode_whole for codec in CODECS.values()]


@pytest.mark.parametrize("decode", decoders)
def test_no_payload_of_such_a_record_is_taken(decode: Callable[[bytes, type[Message]], Read | None]) -> None:
    assert decode(b'{"id":"a"}', Everything) is None


def calls_of(work: Callable[[], object]) -> int:
    """How many functions of Python and C are called, once everything is made that is made once."""
    work()
    count = 0

    def hear(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(hear)
    work()
    sys.setprofile(None)
    return count


SETS = [item for item in CONFIG_ITEMS if not item.kept_by_service]
READ_MOST, ANSWERED_MOST = 40, 12
"""Calls to read a Set, and to answer it."""


@pytest.mark.parametrize("codec", CODECS.values(), ids=lambda codec: codec.name)
@pytest.mark.parametrize("item", SETS, ids=lambda item: item.key)
def test_every_set_takes_few_calls_in_every_codec(codec: Codec, item: ConfigItem) -> None:
    message = next(value for (key, _), value in values_of_an_arm().items() if key == item.key)
    payload = request(codec, message)
    reply = Reply("1", "r1", f"Set{item.noun}", True, Stage.APPLIED, True, 42, 17, 1_796_029_924_512_345, Empty())
    assert agrees(codec, payload, item.record)
    assert calls_of(lambda: codec.decode_whole(payload, item.record)) <= READ_MOST
    assert calls_of(lambda: codec.encode_reply(reply)) <= ANSWERED_MOST
