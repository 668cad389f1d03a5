import math

import msgspec
import pytest

from schema.codecs.faults import FaultError
from schema.codecs.parts import PLAIN
from schema.codecs.plain_codec import PlainCodec, plain_params, readable_id, unique_pairs
from schema.errors import BrokerError
from schema.messages import Position
from tests.schema.codecs import cases

CODEC = PlainCodec(msgspec.json.encode, PLAIN)


def test_params_of_a_message() -> None:
    assert CODEC.decode_params(None, Position) == Position()
    assert CODEC.decode_params({"x": 1}, Position) == Position(1.0)
    with pytest.raises(BrokerError, match=r"^params\.x: "):
        CODEC.decode_params({"x": "1"}, Position)


def test_params_of_a_method_without_a_message() -> None:
    assert CODEC.decode_plain_params(None) == {}
    assert CODEC.decode_plain_params({"limit": 5}) == {"limit": 5}


@pytest.mark.parametrize(
    ("raw", "kind", "message"),
    [
        ([], "malformed", "params: an object is needed"),
        (5, "malformed", "params: an object is needed"),
        ({"value": [1.0, math.inf]}, "not_finite", "params.value[1]: inf is not finite"),
    ],
)
def test_plain_params_are_objects_of_finite_numbers(raw: object, kind: str, message: str) -> None:
    with pytest.raises(BrokerError) as caught:
        plain_params(raw)
    assert (caught.value.kind, caught.value.message) == (kind, message)


def test_encoding() -> None:
    assert msgspec.json.decode(CODEC.encode_reply(cases.READ)) == cases.READ_DOCUMENT
    assert msgspec.json.decode(CODEC.encode_event(cases.CHANGED)) == cases.CHANGED_DOCUMENT
    assert CODEC.encode_document({"a": 1}) == b'{"a":1}'


def test_pairs() -> None:
    assert unique_pairs([("a", 1), ("b", 2)]) == {"a": 1, "b": 2}
    with pytest.raises(FaultError, match='key "b" is given twice'):
        unique_pairs([("a", 1), ("b", 2), ("b", 2)])


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ([("id", "7-1"), ("x", 1)], "7-1"),
        ([("id", "7-1"), ("id", "7-2")], None),
        ([("id", "7 1")], "7 1"),
        ([("id", 5)], 5),
        ([("x", 1)], None),
        ([["id", "7-1"], 5], None),
        ([], None),
        ("id", None),
        (None, None),
    ],
)
def test_the_id_of_a_broken_request(pairs: object, found: object) -> None:
    assert readable_id(pairs) == found
