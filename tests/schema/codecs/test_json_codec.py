import json

import pytest

from schema.codecs.faults import FaultError
from schema.codecs.json_codec import JsonCodec, decode_json, pack, unpack
from schema.enums import ControlMode
from schema.envelope import RequestEnvelope
from schema.errors import BrokerError
from schema.messages import CartesianTransform, ToolConfiguration, TwistLinearSoftLimit
from tests.schema.codecs import cases

CODEC = JsonCodec()
REQUEST = b'{"id":"7-1","params":{"control_mode":"CARTESIAN_JOYSTICK","twist_linear_soft_limit":0.2}}'


def refusal(payload: bytes) -> BrokerError:
    with pytest.raises(BrokerError) as caught:
        CODEC.decode_request(payload)
    return caught.value


def test_a_request() -> None:
    envelope = CODEC.decode_request(REQUEST)
    assert envelope == RequestEnvelope(
        id="7-1", params={"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}
    )
    assert CODEC.decode_params(envelope.params, TwistLinearSoftLimit) == TwistLinearSoftLimit(2, 0.2)


@pytest.mark.parametrize("padding", [b"\n", b"\0", b" \t\r\n\0\0"])
def test_padding_is_cut_and_told(padding: bytes) -> None:
    assert CODEC.decode_request(REQUEST + padding).padded
    assert not CODEC.decode_request(REQUEST).padded
    assert not CODEC.decode_request(b" \r\n\t" + REQUEST).padded


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"\xef\xbb\xbf" + REQUEST, "a byte-order mark (EF BB BF) stands before the document; send UTF-8 without one"),
        (REQUEST.decode().encode("utf-16"), "UTF-16 with a byte-order mark (FF FE)"),
        (b"\xfe\xff" + REQUEST.decode().encode("utf-16-be"), "UTF-16 with a byte-order mark (FE FF)"),
        (REQUEST.decode().encode("utf-16-le"), "this looks like UTF-16"),
        (REQUEST.decode().encode("utf-16-be"), "this looks like UTF-16"),
    ],
)
def test_a_wrong_encoding_is_named(payload: bytes, words: str) -> None:
    found = refusal(payload)
    assert found.kind == "malformed"
    assert words in found.message


@pytest.mark.parametrize(
    ("number", "told"), [(b"7", "7"), (b"-7", "-7"), (b"1e400", ""), (b"9" * 20, "9" * 20), (b"9" * 30, "1e+30")]
)
def test_a_number_in_the_place_of_an_id_is_told_where_the_request_breaks_a_rule(number: bytes, told: str) -> None:
    found = refusal(b'{"id":' + number + b',"a":1,"a":2}')
    assert (found.kind, found.told_id) == ("malformed", told or "inf")
    assert found.bare_id == ("7" if number == b"7" else "")


@pytest.mark.parametrize("payload", [b"", b" ", b"\0\0"])
def test_nothing_is_malformed(payload: bytes) -> None:
    assert refusal(payload).kind == "malformed"


@pytest.mark.parametrize(
    "payload",
    [
        REQUEST[:-1],
        REQUEST + b"x",
        REQUEST + REQUEST,
        b"\xef\xbb\xbf" + REQUEST,
        REQUEST.decode().encode("utf-16"),
        REQUEST.decode().encode("utf-16-le"),
        REQUEST.replace(b"7-1", b"7\xff1"),
        REQUEST.replace(b"7-1", b"7\xed\xa0\x801"),
        REQUEST.replace(b"7-1", b"7\n1"),
        REQUEST.replace(b":0.2", b":/**/0.2"),
        REQUEST.replace(b":0.2", b":.2"),
        REQUEST.replace(b":0.2", b":02"),
        REQUEST.replace(b":0.2", b":+2"),
        REQUEST.replace(b":0.2", b":0x2"),
        REQUEST.replace(b"}}", b",}}"),
        b"[" + REQUEST + b"]",
        b"null",
        b'"text"',
        b"1",
        b"[" * 60_000,
        b'{"id":' * 10_000,
    ],
)
def test_what_is_no_request_is_malformed(payload: bytes) -> None:
    found = refusal(payload)
    assert (found.kind, found.bare_id) == ("malformed", "")
    assert len(found.message) < 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((b"0.2", b"NaN"), "the payload: NaN is no JSON number"),
        ((b"0.2", b"Infinity"), "the payload: Infinity is no JSON number"),
        ((b"0.2", b"-Infinity"), "the payload: -Infinity is no JSON number"),
        ((b"0.2", b"9" * 5000), "the payload: an integer has too many digits"),
        ((b"0.2", b'0.2,"control_mode":"IDLE"'), 'the payload: key "control_mode" is given twice'),
        ((b"{", b'{"reason":"a\\ud800b",'), "reason: a lone surrogate"),
        ((b"{", b'{"\\udc00":1,'), '"\\udc00": a lone surrogate'),
        ((b"0.2", b"[" * 15 + b"]" * 15), "params.twist_linear_soft_limit" + "[0]" * 14 + ": nested deeper than 16"),
    ],
)
def test_a_broken_rule_keeps_the_id(change: tuple[bytes, bytes], message: str) -> None:
    found = refusal(REQUEST.replace(*change, 1))
    assert (found.kind, found.bare_id, found.message) == ("malformed", "7-1", message)


def test_an_id_given_twice_is_not_repeated() -> None:
    assert refusal(REQUEST.replace(b"{", b'{"id":"7-2",', 1)).bare_id == ""


def test_depth_sixteen_is_taken() -> None:
    assert decode_json(b"[" * 16 + b"]" * 16)
    assert decode_json(b"[" + b"[]," * 40 + b"[]]")
    with pytest.raises(FaultError, match="nested deeper than 16"):
        decode_json(b"[" * 17 + b"]" * 17)


def test_a_pair_of_surrogate_escapes_is_one_character() -> None:
    assert decode_json(b'["\\ud83e\\udd16"]') == ["\U0001f916"]


def test_an_overflowing_number_is_left_to_its_field() -> None:
    envelope = CODEC.decode_request(REQUEST.replace(b"0.2", b"1e999"))
    with pytest.raises(BrokerError) as caught:
        CODEC.decode_params(envelope.params, TwistLinearSoftLimit)
    assert caught.value.kind == "not_finite"


def test_replies_show_the_shortest_decimals() -> None:
    payload = CODEC.encode_reply(cases.READ)
    assert json.loads(payload) == cases.READ_DOCUMENT
    assert b'"result":{"x":0.0,"y":0.0,"z":-9.81}' in payload
    assert json.loads(CODEC.encode_event(cases.CHANGED)) == cases.CHANGED_DOCUMENT
    assert (CODEC.name, CODEC.content_type) == ("json", "application/json")


def test_packed_messages_come_back_as_they_were() -> None:
    for message in (
        TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.1),
        ToolConfiguration(CartesianTransform(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), 0.5, None),
    ):
        assert unpack(pack(message), type(message)) == message
