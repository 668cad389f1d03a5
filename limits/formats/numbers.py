"""How the readers of URDF turn the text of an attribute into a number, and how numbers are written."""

import math
import re
from collections.abc import Callable

_BLANKS = r"[ \t\n\v\f\r]*"
_DECIMAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_STRICT = re.compile(_DECIMAL)
_STREAM = re.compile(f"{_BLANKS}({_DECIMAL})")
_SCANNED = re.compile(
    rf"{_BLANKS}([+-]?)(?:"
    r"(?P<nan>nan)|(?P<inf>infinity|inf(?!i))"
    r"|0x(?P<hex>[0-9a-f]*\.[0-9a-f]*|[0-9a-f]+)(?:p(?P<power>[+-]?[0-9]+))?"
    r"|(?!0x)(?P<decimal>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))",
    re.ASCII | re.IGNORECASE,
)

NumberReader = Callable[[str], float | None]
"""Text of an attribute to its number; None where the reader finds no number."""


def strict_number(text: str) -> float | None:
    """Read a finite decimal number that is the whole text: no blanks, no other digits than ASCII."""
    if _STRICT.fullmatch(text) is None:
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def stream_number(text: str) -> float | None:
    """Read a number as urdfdom does, by a C++ stream: leading blanks are skipped, the rest must be finite decimal."""
    match = _STREAM.fullmatch(text)
    return None if match is None else strict_number(match[1])


def scanned_number(text: str) -> float | None:
    """Read a number as tesseract does, by C's `sscanf`: the longest prefix counts, so `4abc` is 4 and `0x10` is 16."""
    match = _SCANNED.match(text)
    if match is None:
        return None
    if match["nan"] is not None:
        return math.nan
    if match["inf"] is not None:
        value = math.inf
    elif match["hex"] is not None:
        value = _hexadecimal(match["hex"], match["power"] or "0")
    else:
        value = float(match["decimal"])
    return -value if match[1] == "-" else value


def _hexadecimal(digits: str, power: str) -> float:
    """A hexadecimal floating-point number; beyond the range of a double it is infinite."""
    try:
        return float.fromhex(f"0x0{digits}p{power}")
    except OverflowError:
        return math.inf


def exact_text(value: float) -> str:
    """Write a number with the fewest digits that give the same double back; a zero has no sign."""
    return repr(float(value) + 0.0)


def three_digit_text(value: float) -> str:
    """Write a number as tesseract's URDF writer does: three significant digits, so 3.14159 becomes 3.14."""
    return f"{value:.3g}"


def archive_number(text: str) -> float | None:
    """Read a number of a C++ archive: decimal, the whole text, or what C++ prints for NaN and the infinities."""
    if text in _PRINTED:
        return _PRINTED[text]
    return float(text) if _STRICT.fullmatch(text) else None


_PRINTED = {"nan": math.nan, "-nan": math.nan, "inf": math.inf, "-inf": -math.inf}
