"""Strict readers of single values of plain documents."""

import re
from collections.abc import Callable
from functools import lru_cache
from math import isfinite
from typing import Any

from schema.codecs.faults import FaultError, quote, wrong_type
from schema.fields import RANGES, Kind
from schema.floats import as_float32

_CACHED = 16_384
_INTEGER_KEY = re.compile(r"0|-?[1-9][0-9]{0,19}")

rounded = lru_cache(maxsize=_CACHED)(as_float32)
"""`as_float32` of finite numbers, remembered: the same limits come again and again."""


def read_double(value: object) -> float:
    """A finite number; integers are taken.

    Raises:
        FaultError: `malformed` or `not_finite`.
    """
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise FaultError("not_finite", f"{quote(value)} does not fit a double") from None
    if type(value) is not float:
        wrong_type(value, "a number")
    if not isfinite(value):
        raise FaultError("not_finite", f"{value} is not finite")
    return value


def read_float32(value: object) -> float:
    """A finite number rounded to float32; integers are taken.

    Raises:
        FaultError: `malformed` or `not_finite`.
    """
    if type(value) is not float or not isfinite(value):
        value = read_double(value)
    try:
        return rounded(value)
    except OverflowError:
        raise FaultError("not_finite", f"{value} does not fit a float32") from None


def read_integer(value: object) -> int:
    """An integer of any size.

    Raises:
        FaultError: `malformed`.
    """
    if type(value) is not int:
        wrong_type(value, "an integer")
    return value


def read_bool(value: object) -> bool:
    """True or false.

    Raises:
        FaultError: `malformed`.
    """
    if type(value) is not bool:
        wrong_type(value, "true or false")
    return value


def read_string(value: object) -> str:
    """A text.

    Raises:
        FaultError: `malformed`.
    """
    if type(value) is not str:
        wrong_type(value, "a string")
    return value


def integer_reader(low: int, high: int) -> Callable[[object], int]:
    """A reader of integers from `low` to `high`, both included; beyond is `malformed`."""

    def read(value: object) -> int:
        number = read_integer(value)
        if not low <= number <= high:
            raise FaultError("malformed", f"{quote(number)} is not between {low} and {high}")
        return number

    return read


def _integer_key(read: Callable[[object], int]) -> Callable[[str], int]:
    """A reader of integers written as the keys of an object."""

    def read_key(key: str) -> int:
        if not _INTEGER_KEY.fullmatch(key):
            raise FaultError("malformed", f"{quote(key)} is no integer")
        return read(int(key))

    return read_key


_INTEGERS = {kind: integer_reader(low, high) for kind, (low, high) in RANGES.items()}

READERS: dict[Kind, Callable[[object], Any]] = {
    Kind.DOUBLE: read_double,
    Kind.FLOAT32: read_float32,
    Kind.BOOL: read_bool,
    Kind.STRING: read_string,
    **_INTEGERS,
}
"""Reader of each scalar kind but bytes."""

KEYS: dict[Kind, Callable[[str], Any]] = {
    Kind.STRING: str,
    **{kind: _integer_key(read) for kind, read in _INTEGERS.items()},
}
"""Reader of each kind of map key."""
