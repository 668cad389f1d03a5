"""The one text of a document: RFC 8785's own examples, and what it must not hold."""

import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.codecs.canonical import canonical, digest_of, shortest

# Appendix B of RFC 8785: bits of a double and its text.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_are_written_as_the_standard_says(bits: str, text: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert shortest(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_read_back_is_the_same(number: float) -> None:
    assert float(shortest(number)) == number
    assert len(shortest(number)) <= len(repr(number)) + 6


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_has_no_text(number: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        canonical([number])


def test_the_order_of_keys_and_spaces_do_not_count() -> None:
    document = {
        "peach": "This sorting order", "péché": "is wrong according to French", "pêche": "but canonicalization MUST",
        "sin": "ignore locale", "\U0001f600": 1, "\ufb33": [True, False, None, 2.0, "\u20ac$\u000f\nA'B\"\\\\\"/"],
    }  # fmt: skip
    text = canonical(document)
    assert json.loads(text) == document
    assert text == canonical(dict(reversed(document.items())))
    assert text.startswith(b'{"peach":"This sorting order","p\xc3\xa9ch\xc3\xa9"')
    assert text.index("\U0001f600".encode()) < text.index("\ufb33".encode())
    assert '[true,false,null,2,"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"]'.encode() in text


def test_a_digest_is_of_what_is_said_not_of_how() -> None:
    assert digest_of({"b": 1, "a": [0.5]}) == digest_of({"a": (0.50,), "b": 1.0})
    assert digest_of({"a": 1}) != digest_of({"a": "1"})
    assert digest_of({}) == "44136fa355b3678a"
