"""Requests with long lists of numbers, in each codec."""

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.codecs import CODECS
from schema.codecs.codec import Codec
from schema.codecs.large import Grid, Numbers, lift_json, lift_msgpack, read_grid
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


def unrolled(numbers: Numbers) -> list[list[float]]:
    """Rows of numbers as lists."""
    if isinstance(numbers, Grid):
        width = numbers.width
        return [numbers.numbers[at : at + width] for at in range(0, len(numbers.numbers), width)]
    return [list(row) for row in numbers]


@codecs
def test_the_lists_are_lifted_and_the_rest_is_an_ordinary_request(codec: Codec) -> None:
    lifted = codec.lift(request(codec), NAMES)
    assert lifted.lists.keys() == {"times", "positions"}
    envelope = codec.decode_request(lifted.payload)
    assert envelope.id == "7-1"
    assert codec.decode_plain_params(envelope.params) == PARAMS | {"times": 0, "positions": 0}
    assert codec.decode_numbers(lifted.lists["times"], "times", 1) == tuple(TIMES)
    assert unrolled(codec.decode_numbers(lifted.lists["positions"], "positions", 2)) == POSITIONS


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


@pytest.mark.parametrize(
    "document",
    [
        b"[[1,2],[3]]", b"[[]]", b"[[],[]]", b"[]", b"[1,2]", b"[[1,2],3]", b"[[[1]]]", b"[[1,2][3,4]]", b"[-[1,2]]",
        b"[[1,2]5,[3,4]]", b"[1[2,3]]", b"[[1,2],4[3,4]]", b"[[1,,2]]", b"[[,1],[2,3]]", b"[[1 2]]", b"[[1,2],[3,4]",
        b"[[1,2],]", b"[[1e999,2]]", b"[[true,2]]", b"[[null]]", b'[[1],["2"]]', b"[[01]]", b"]1[", b"",
    ],
)  # fmt: skip
def test_what_is_no_grid_of_numbers_is_none(document: bytes) -> None:
    assert read_grid(document) is None


@given(st.data(), st.integers(1, 4))
def test_a_grid_is_what_it_is_list_by_list(data: st.DataObject, width: int) -> None:
    row = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=width, max_size=width)
    rows = data.draw(st.lists(row, min_size=1, max_size=5))
    grid = read_grid(json.dumps(rows, indent=data.draw(st.sampled_from([None, 1]))).encode())
    assert grid is not None
    assert unrolled(grid) == rows


@given(st.text("[]012-.,e ", max_size=14))
def test_a_grid_is_never_read_where_lists_cannot_be(text: str) -> None:
    grid = read_grid(text.encode())
    if grid is not None:
        assert unrolled(grid) == msgspec.json.decode(text, type=list[list[float]])
