"""Requests with long lists of numbers, in each codec."""

import json
import math
from typing import Any

import msgspec
import pytest

from schema.codecs import CODECS
from schema.codecs.codec import Codec
from schema.codecs.large import lift_json, lift_msgpack
from schema.errors import BrokerError
from schema.proto.armbroker.v1 import armbroker_pb2 as wire

NAMES = {"times": 1, "positions": 2}
TIMES = [float(number) for number in range(50)]
POSITIONS = [[number / 3, -number / 7] for number in range(50)]
PARAMS = {"mode": "ANGULAR_JOYSTICK", "times": TIMES, "positions": POSITIONS, "joints": ["positions", "b"]}

codecs = pytest.mark.parametrize("codec", CODECS.values(), ids=lambda codec: codec.name)


def request(codec: Codec, params: Any = PARAMS) -> bytes:
    """The payload of a request with these params."""
    if codec.name == "protobuf":
        return wire.Request(id="7-1", params=json.dumps(params).encode()).SerializeToString()
    document = {"id": "7-1", "params": params}
    return msgspec.msgpack.encode(document) if codec.name == "msgpack" else json.dumps(document).encode()


@codecs
def test_the_lists_are_lifted_and_the_rest_is_an_ordinary_request(codec: Codec) -> None:
    lifted = codec.lift(request(codec), NAMES)
    assert lifted.lists.keys() == {"times", "positions"}
    envelope = codec.decode_request(lifted.payload)
    assert envelope.id == "7-1"
    assert codec.decode_plain_params(envelope.params) == PARAMS | {"times": 0, "positions": 0}
    assert codec.decode_numbers(lifted.lists["times"], "times", 1) == tuple(TIMES)
    rows = codec.decode_numbers(lifted.lists["positions"], "positions", 2)
    assert rows == tuple(map(tuple, POSITIONS))


@codecs
def test_short_lists_stay(codec: Codec) -> None:
    payload = request(codec, {"times": [0.0], "positions": [[1.0]]})
    lifted = codec.lift(payload, NAMES)
    assert (lifted.payload, lifted.lists) == (payload, {})


@codecs
def test_what_is_no_request_stays_for_the_ordinary_decoder(codec: Codec) -> None:
    broken = b"\xff" * 100
    assert codec.lift(broken, NAMES) == (broken, {})
    with pytest.raises(BrokerError):
        codec.decode_request(broken)


@codecs
@pytest.mark.parametrize("bad", [["1.0"] * 50, [True] * 50, [None] * 50, [[0.0]] * 50])
def test_what_is_no_number_is_refused_by_its_place(codec: Codec, bad: list[Any]) -> None:
    lifted = codec.lift(request(codec, {"positions": POSITIONS, "times": bad}), {"times": 1, "positions": 2})
    if "times" not in lifted.lists:  # in JSON the list of texts ends where a text begins
        assert codec.decode_plain_params(codec.decode_request(lifted.payload).params)["times"] == bad
        return
    with pytest.raises(BrokerError, match=r"params\.times: ") as caught:
        codec.decode_numbers(lifted.lists["times"], "times", 1)
    assert caught.value.kind == "malformed"


def test_a_number_beyond_a_double_is_not_finite() -> None:
    document = b'{"id":"7-1","params":{"times":[' + b"0.0," * 50 + b"1e999]}}"
    codec = CODECS["application/json"]
    with pytest.raises(BrokerError, match=r"params\.times") as caught:
        codec.decode_numbers(codec.lift(document, NAMES).lists["times"], "times", 1)
    assert caught.value.kind == "not_finite"


def test_messagepack_may_hold_what_is_no_number() -> None:
    codec = CODECS["application/msgpack"]
    lifted = codec.lift(request(codec, {"times": [math.nan] * 50}), NAMES)
    assert all(math.isnan(number) for number in codec.decode_numbers(lifted.lists["times"], "times", 1))


def test_a_key_that_stands_twice_is_still_found() -> None:
    numbers = json.dumps(TIMES)
    document = f'{{"id":"7-1","params":{{"times":{numbers},"times":{numbers}}}}}'.encode()
    lifted = lift_json(document, NAMES)
    with pytest.raises(BrokerError, match="twice"):
        CODECS["application/json"].decode_request(lifted.payload)
    packed = msgspec.msgpack.encode(TIMES)
    twice = b"\x82\xa2id\xa17\xa6params\x82" + 2 * (b"\xa5times" + packed)
    with pytest.raises(BrokerError, match="twice"):
        CODECS["application/msgpack"].decode_request(lift_msgpack(twice, NAMES).payload)


def test_padding_stays_where_it_is() -> None:
    payload = request(CODECS["application/json"]) + b"\n\0\0"
    assert CODECS["application/json"].decode_request(lift_json(payload, NAMES).payload).padded


def test_a_list_without_an_end_stays() -> None:
    broken = b'{"params":{"times":[' + b"1," * 100
    assert lift_json(broken, NAMES) == (broken, {})


def test_lists_that_begin_alike_are_told_apart() -> None:
    params = {"other": [0.0] * 99 + [1.0], "times": [0.0] * 100}
    lifted = lift_msgpack(msgspec.msgpack.encode({"params": params}), NAMES)
    assert msgspec.msgpack.decode(lifted.payload) == {"params": params | {"times": 0}}


def test_a_list_within_another_one_is_left() -> None:
    inner = msgspec.msgpack.encode(TIMES)
    outer = b"\x91" + inner
    document = b"\x81\xa6params\x82\xa9positions" + outer + b"\xa5times" + inner
    lifted = lift_msgpack(document, {"times": 1, "positions": 2})
    assert lifted.lists.keys() == {"times"}
