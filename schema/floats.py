"""Numbers that travel as proto `float`: held as the double that prints with the fewest digits."""

import math
import struct
from collections.abc import Callable
from functools import lru_cache

import msgspec

_FLOAT32 = struct.Struct("<f")
_EXACT_INTEGER = 1 << 24
_SMALLEST_NORMAL = 2.0**-126
"""Below it a float32 holds fewer than six decimal digits."""
_LARGE = 1e38
"""Every number below it fits a float32."""


def as_float32(value: float) -> float:
    """Round to float32 and return the shortest decimal with the same float32; -0.0 becomes 0.0.

    Raises:
        OverflowError: the finite value does not fit a float32.
    """
    if value.is_integer() and -_EXACT_INTEGER < value < _EXACT_INTEGER:
        return value + 0.0
    if _SMALLEST_NORMAL <= value < _LARGE or -_LARGE < value <= -_SMALLEST_NORMAL:
        short = float(f"{value:.6g}")
        if short == value:  # a normal float32 tells all decimals of six digits apart
            return short
    if not math.isfinite(value):
        return value
    bits = _FLOAT32.pack(value)
    exact: float = _FLOAT32.unpack(bits)[0]
    for digits in range(6 if abs(exact) >= _SMALLEST_NORMAL else 1, 9):
        short = float(f"{exact:.{digits}g}")
        if _FLOAT32.pack(short) == bits:
            return short + 0.0
    return float(f"{exact:.9g}") + 0.0


_numbers_of = msgspec.json.Decoder(tuple[float, ...]).decode


@lru_cache(maxsize=64)
def _forms(count: int) -> tuple[str, Callable[..., bytes]]:
    """How so many numbers are written with six digits, and as float32."""
    return f"[{','.join(['%.6g'] * count)}]", struct.Struct(f"<{count}f").pack


def as_float32_list(values: tuple[float, ...]) -> tuple[float, ...]:
    """`as_float32` of each of finite numbers: all together where they are positive, and whole or told by six digits.

    Raises:
        OverflowError: one does not fit a float32.
    """
    if values and min(values) >= _SMALLEST_NORMAL and (highest := max(values)) < _LARGE:
        if highest < _EXACT_INTEGER and all(map(float.is_integer, values)):
            return values
        text, pack = _forms(len(values))
        short = _numbers_of(text % values)
        if pack(*short) == pack(*values):
            return short
    return tuple(map(as_float32, values))
