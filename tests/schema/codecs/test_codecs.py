"""The table of codecs, and the rules that hold in each of them."""

import json
from typing import Any

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schema.codecs import CODECS, PRESUMED, Codec, codec_for, sniff, taken_back
from schema.codecs.plain import to_plain
from schema.codecs.protobuf import encode_message
from schema.codecs.registry import MESSAGES
from schema.errors import BrokerError
from schema.messages import JointSpeedSoftLimits, Message, TwistLinearSoftLimit
from schema.proto.armbroker.v1 import armbroker_pb2 as wire
from tests.schema.strategies import any_record

JSON, MSGPACK, PROTOBUF = CODECS.values()
NAMES = ("json", "msgpack", "protobuf")


def request(codec: Codec, record: Message) -> bytes:
    """A request in a codec with a record as its params."""
    if codec.name == "protobuf":
        return wire.Request(id="7-1", params=encode_message(record)).SerializeToString()
    document = {"id": "7-1", "params": to_plain(record)}
    return json.dumps(document).encode() if codec.name == "json" else bytes(msgpack.packb(document))


@pytest.mark.parametrize(
    ("content_type", "name"),
    [("", "json"), ("text/plain", "json"), ("application/msgpack", "msgpack"), ("Application/MsgPack; v=1", "msgpack")],
)
def test_the_codec_of_a_reply_to_what_may_not_be_decodable(content_type: str, name: str) -> None:
    assert PRESUMED[content_type].name == name


def test_the_table() -> None:
    assert {content_type: codec.name for content_type, codec in CODECS.items()} == {
        "application/json": "json",
        "application/msgpack": "msgpack",
        "application/x-protobuf": "protobuf",
    }
    assert all(codec.content_type == content_type for content_type, codec in CODECS.items())


@pytest.mark.parametrize("codec", CODECS.values(), ids=NAMES)
def test_requests_round_trip_in_every_codec(codec: Codec) -> None:
    @settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
    @given(any_record(*MESSAGES))
    def check(record: Message) -> None:
        envelope = codec.decode_request(request(codec, record))
        assert envelope.id == "7-1"
        assert codec.decode_params(envelope.params, type(record)) == record

    check()


@pytest.mark.parametrize("codec", CODECS.values(), ids=NAMES)
@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (TwistLinearSoftLimit(2, float("nan")), "not_finite"),
        (TwistLinearSoftLimit(2, float("-inf")), "not_finite"),
        (JointSpeedSoftLimits(1, (1.0, float("inf"))), "not_finite"),
        (TwistLinearSoftLimit(3, 0.2), "unknown_enum"),
    ],
)
def test_a_bad_value_is_refused_in_every_codec(codec: Codec, record: Message, kind: str) -> None:
    allowed = {
        ("json", "not_finite"): "malformed",
        ("json", "unknown_enum"): "malformed",
        ("msgpack", "unknown_enum"): "malformed",
    }
    with pytest.raises(BrokerError) as caught:
        codec.decode_params(codec.decode_request(request(codec, record)).params, type(record))
    assert caught.value.kind == allowed.get((codec.name, kind), kind)


@pytest.mark.parametrize("codec", CODECS.values(), ids=NAMES)
@pytest.mark.parametrize("decode", ["decode_request", "params", "plain"])
def test_any_bytes_are_decoded_or_refused(codec: Codec, decode: str) -> None:
    @settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
    @given(st.binary(max_size=64) | st.sampled_from([request(codec, TwistLinearSoftLimit(2, 0.2))]).flatmap(mutated))
    def check(payload: bytes) -> None:
        message = "decoded"
        try:
            raw: Any = codec.decode_request(payload).params
            if decode == "params":
                codec.decode_params(raw, TwistLinearSoftLimit)
            elif decode == "plain":
                codec.decode_plain_params(raw)
        except BrokerError as refusal:
            message = refusal.message
        assert message
        assert message.isprintable()

    check()


@st.composite
def mutated(draw: st.DrawFn, payload: bytes) -> bytes:
    """A payload with some bytes changed, and perhaps cut."""
    changed = bytearray(payload)
    for index in draw(st.lists(st.integers(0, len(payload) - 1), max_size=3)):
        changed[index] = draw(st.integers(0, 255))
    return bytes(changed[: draw(st.integers(0, len(payload)) | st.just(len(payload)))])


@pytest.mark.parametrize(
    ("content_type", "name"),
    [
        ("application/json", "json"),
        ("application/json; charset=utf-8", "json"),
        ("Application/JSON ;x=1", "json"),
        ("application/msgpack", "msgpack"),
        ("application/x-protobuf;v=1", "protobuf"),
    ],
)
def test_content_types(content_type: str, name: str) -> None:
    assert codec_for(content_type, b"whatever").name == name


@pytest.mark.parametrize("content_type", ["text/plain", "application/protobuf", ";", "x" * 1000])
def test_other_content_types_are_refused(content_type: str) -> None:
    with pytest.raises(BrokerError) as caught:
        codec_for(content_type, b"{}")
    assert caught.value.kind == "unsupported_codec"
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("payload", "name"),
    [
        (b"{}", "json"),
        (b" \t\r\n{}", "json"),
        (b"", "json"),
        (b" \n", "json"),
        (b"\x80", "msgpack"),
        (b"\x8f", "msgpack"),
        (b"\xde\x00\x00", "msgpack"),
        (b"\xdf\x00\x00\x00\x00", "msgpack"),
        (b"\x0a\x037-1", "protobuf"),
        (b"\x90", "protobuf"),
        (b"[]", "protobuf"),
    ],
)
def test_sniffing(payload: bytes, name: str) -> None:
    assert sniff(payload).name == name
    assert codec_for("", payload).name == name


@given(st.text("abcXYZ019_-", min_size=1, max_size=64), st.booleans())
def test_no_protobuf_request_with_a_good_id_looks_like_another_codec(request_id: str, dry_run: bool) -> None:
    assert sniff(wire.Request(id=request_id, dry_run=dry_run).SerializeToString()).name == "protobuf"


@pytest.mark.parametrize("number", range(2, 12))
def test_no_field_of_a_request_looks_like_another_codec(number: int) -> None:
    for wire_type in (0, 2):
        assert sniff(bytes([number << 3 | wire_type, 1, 0x7B])).name == "protobuf"


def refused(payload: bytes, content_type: str = "") -> tuple[str, BrokerError]:
    """The name of the codec of the refusal, and the refusal."""
    codec = codec_for(content_type, payload)
    with pytest.raises(BrokerError) as caught:
        codec.decode_request(payload)
    codec, error = taken_back(content_type, codec, payload, caught.value)
    return codec.name, error


TEXT = b'{"id":"a1","params":{}}'


@pytest.mark.parametrize(
    "payload",
    [
        b"\xef\xbb\xbf" + TEXT,
        b"\0" + TEXT,
        TEXT.decode().encode("utf-16"),
        TEXT.decode().encode("utf-16-be"),
        b"[1]",
        json.dumps(TEXT.decode()).encode(),
        b"hello",
        b"hi",
        b"<request id='a1'/>",
        b"\x93\x01\x02\x03",
        b"\x1f\x8b\x08\x00",
        b"42",
        b"null",
        b"\xff",
    ],
)
def test_what_is_of_no_codec_is_refused_as_json(payload: bytes) -> None:
    codec, error = refused(payload)
    assert (codec, error.kind, error.bare_id) == ("json", "malformed", "")


def test_what_is_plainly_of_a_codec_is_refused_in_it() -> None:
    unknown = wire.Request(id="7-1").SerializeToString() + b"\x78\x01"
    assert (refused(unknown)[0], refused(unknown)[1].kind) == ("protobuf", "unknown_field")
    no_time = wire.Request(issued_at_ms=-1).SerializeToString()
    assert (refused(no_time)[0], refused(no_time)[1].kind) == ("protobuf", "bad_request_field")
    assert refused(b"\x81\xa2id")[0] == "msgpack"
    assert refused(b"hello", "application/x-protobuf")[0] == "protobuf"
    assert refused(b"{")[0] == "json"
