from typing import Any

import msgpack
import pytest

from schema.codecs.msgpack_codec import MsgpackCodec
from schema.envelope import RequestEnvelope, Wait
from schema.errors import BrokerError
from schema.messages import JointSpeeds, TwistLinearSoftLimit
from tests.schema.codecs import cases

CODEC = MsgpackCodec()
PARAMS = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}
REQUEST = msgpack.packb({"id": "7-1", "params": PARAMS})


def with_limit(limit: bytes) -> bytes:
    return bytes(REQUEST[: -len(msgpack.packb(0.2))] + limit)


def refusal(payload: bytes) -> BrokerError:
    with pytest.raises(BrokerError) as caught:
        CODEC.decode_request(payload)
    return caught.value


def test_a_request() -> None:
    envelope = CODEC.decode_request(msgpack.packb({"id": "7-1", "params": PARAMS, "wait": "stored"}))
    assert envelope == RequestEnvelope(id="7-1", params=PARAMS, wait=Wait.STORED)
    assert CODEC.decode_params(envelope.params, TwistLinearSoftLimit) == TwistLinearSoftLimit(2, 0.2)


def test_a_float32_reads_as_its_shortest_decimal() -> None:
    envelope = CODEC.decode_request(with_limit(msgpack.packb(0.2, use_single_float=True)))
    assert CODEC.decode_params(envelope.params, TwistLinearSoftLimit) == TwistLinearSoftLimit(2, 0.2)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        b"\xc0",
        b"\x93\x01\x02\x03",
        REQUEST[:-1],
        b"\xdd\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xffab",
        b"\xdf\xff\xff\xff\xff",
        b"\xdd\x00\x00\xff\xff" * 100,
        b"\x91" * 2000,
        b"\x81\x01\x02",
        b"\x81\xc0\x02",
        b"\x81\x91\x01\x02",
        b"\x81\xa2id\xa2\xff\xfe",
        b"\x81\xa2id\xa3\xed\xa0\x80",
        REQUEST + b"\x00",
        REQUEST + REQUEST,
    ],
)
def test_what_is_no_request_is_malformed(payload: bytes) -> None:
    found = refusal(payload)
    assert (found.kind, found.bare_id) == ("malformed", "")
    assert len(found.message) < 120


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (with_limit(b"\xd4\x2a\x00"), "the payload: extension type 42 (1 bytes) is not taken"),
        (with_limit(b"\xc7\x03\x05abc"), "the payload: extension type 5 (3 bytes) is not taken"),
        (with_limit(b"\xca\x00\x00\x00\x00")[:-5] + b"\x81\xc4\x01a\x01", "the payload: a key is no string"),
        (with_limit(b"\xca\x00\x00\x00\x00")[:-5] + b"\x81\x07\x01", "the payload: a key is no string"),
        (with_limit(b"\xca\x00\x00\x00\x00")[:-5] + b"\x81\xc0\x01", "the payload: a key is no string"),
        (with_limit(b"\xca\x00\x00\x00\x00")[:-5] + b"\x81\x91\x07\x01", "the payload: a key is no string"),
        (
            b"\x82\xa2id\xa37-1\xa6params\x82\xa1x\x01\xa1x\x02",
            'the payload: key "x" is given twice',
        ),
        (with_limit(b"\x91" * 15 + b"\x01"), f"params.twist_linear_soft_limit{'[0]' * 14}: nested deeper than 16"),
    ],
)
def test_a_broken_rule_keeps_the_id(payload: bytes, message: str) -> None:
    found = refusal(payload)
    assert (found.kind, found.bare_id, found.message) == ("malformed", "7-1", message)


@pytest.mark.parametrize(
    ("limit", "kind"),
    [
        (b"\xc4\x01a", "malformed"),
        (b"\xd6\xff\x00\x00\x00\x01", "malformed"),
        (b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "not_finite"),
        (b"\xca\x7f\x80\x00\x00", "not_finite"),
        (b"\xcb\x7f\xef\xff\xff\xff\xff\xff\xff", "not_finite"),
        (b"\xc3", "malformed"),
        (b"\xc0", "malformed"),
        (b"\xa30.2", "malformed"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(limit: bytes, kind: str) -> None:
    envelope = CODEC.decode_request(with_limit(limit))
    with pytest.raises(BrokerError, match=r"^params\.twist_linear_soft_limit: ") as caught:
        CODEC.decode_params(envelope.params, TwistLinearSoftLimit)
    assert caught.value.kind == kind


def test_plain_params_hold_no_binary_data() -> None:
    envelope = CODEC.decode_request(msgpack.packb({"params": {"value": [b"x"]}}))
    with pytest.raises(BrokerError, match=r"^params\.value\[0\]: binary data is given"):
        CODEC.decode_plain_params(envelope.params)


def test_long_lists_are_taken_up_to_the_bound() -> None:
    def joints(count: int) -> bytes:
        return bytes(msgpack.packb({"params": {"joint_speed": [1] * count}}))

    params = CODEC.decode_params(CODEC.decode_request(joints(8192)).params, JointSpeeds)
    assert params == JointSpeeds((1.0,) * 8192)
    assert refusal(joints(8193)).kind == "malformed"


@pytest.mark.parametrize(("reply", "document"), cases.REPLIES)
def test_replies_are_the_same_documents_as_in_json(reply: Any, document: dict[str, Any]) -> None:
    assert msgpack.unpackb(CODEC.encode_reply(reply)) == document


@pytest.mark.parametrize(("event", "document"), cases.EVENTS)
def test_events_are_the_same_documents_as_in_json(event: Any, document: dict[str, Any]) -> None:
    assert msgpack.unpackb(CODEC.encode_event(event)) == document
    assert (CODEC.name, CODEC.content_type) == ("msgpack", "application/msgpack")
