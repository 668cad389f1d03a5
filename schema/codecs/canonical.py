"""One text for one document, as RFC 8785 has it: keys sorted, shortest numbers, no spaces. Digests are made of it."""

import hashlib
import json
from decimal import Decimal
from math import isfinite
from typing import Any

_DIGEST = 16
"""Hexadecimal digits of a digest."""
_LARGE, _SMALL = 21, -6
"""A number is written out if its first digit stands before 1e21 and not below 1e-6."""


def canonical(document: Any) -> bytes:
    """The UTF-8 text of a document of objects with text keys, lists, texts, flags, finite numbers and null.

    Raises:
        ValueError: a number is not finite.
    """
    return _text(document).encode()


def digest_of(document: Any) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of the canonical text."""
    return hashlib.sha256(canonical(document)).hexdigest()[:_DIGEST]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda pair: pair[0].encode("utf-16-be"))
        return f"{{{','.join(f'{_string(key)}:{_text(one)}' for key, one in pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_text, value))}]"
    if isinstance(value, str):
        return _string(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return shortest(value)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def shortest(number: float) -> str:
    """The shortest text that is this double, as ECMAScript writes it: `2`, `0.1`, `1e-7`.

    Raises:
        ValueError: it is not finite.
    """
    if not isfinite(number):
        raise ValueError(f"{number} is not finite")
    sign, found, exponent = Decimal(repr(float(number))).as_tuple()
    digits = "".join(map(str, found)).rstrip("0")
    if not digits:
        return "0"
    point = len(found) + int(exponent)
    lead = "-" if sign else ""
    if not _SMALL < point <= _LARGE:
        fraction = f".{digits[1:]}" if digits[1:] else ""
        return f"{lead}{digits[0]}{fraction}e{point - 1:+d}"
    if point <= 0:
        return f"{lead}0.{'0' * -point}{digits}"
    if len(digits) <= point:
        return f"{lead}{digits}{'0' * (point - len(digits))}"
    return f"{lead}{digits[:point]}.{digits[point:]}"
