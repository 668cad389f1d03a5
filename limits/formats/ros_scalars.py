"""What an unquoted YAML scalar is to ROS: its own rules (strtol, strtod), not those of YAML or Python."""

import math
import re
import sys

Scalar = bool | int | float | str

BOOLS: dict[str, bool] = {
    **dict.fromkeys(("Y", "y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("N", "n", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
"""The words that are of type bool."""

DOTTED: dict[str, float] = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
"""YAML's own spellings of the special numbers; those of C (`nan`, `-inf`, `infinity`) are doubles too."""

_BLANKS = r"[ \t\n\v\f\r]*"
_INTEGER = re.compile(rf"{_BLANKS}([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))", re.ASCII)
_DECIMAL = re.compile(rf"{_BLANKS}([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)", re.ASCII)
_HEXADECIMAL = re.compile(
    rf"{_BLANKS}([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?)", re.ASCII
)
_WORD = re.compile(rf"{_BLANKS}([+-]?)(?:(inf(?:inity)?)|nan(?:\([0-9A-Za-z_]*\))?)", re.ASCII | re.IGNORECASE)
_INT64 = range(-(1 << 63), 1 << 63)
_LONGEST = 4096
"""Longer digits are no number: reading them would take quadratic time."""


def resolve_scalar(text: str, *, quoted: bool = False) -> Scalar:
    """Return the typed value of a scalar: bool, integer (64 bits), double or, failing those, the string itself.

    Octal (`010`), hexadecimal (`0x10`) and their out-of-range forms follow C; a number that no double can hold,
    or only a denormal one, is a string, as is everything quoted.
    """
    if quoted or len(text) > _LONGEST:
        return text
    if text in BOOLS:
        return BOOLS[text]
    integer = _integer(text)
    if integer is not None:
        return integer
    number = DOTTED[text] if text in DOTTED else _double(text)
    return text if number is None else number


def _integer(text: str) -> int | None:
    """Return what `strtol` of any base makes of the whole text; None outside 64 bits."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    sign, hexadecimal, octal, decimal = match.groups()
    base = 16 if hexadecimal else 8 if octal else 10
    value = int(hexadecimal or octal or decimal, base)
    value = -value if sign == "-" else value
    return value if value in _INT64 else None


def _double(text: str) -> float | None:
    """Return what `strtod` makes of the whole text; None where it overflows or underflows."""
    if (word := _WORD.fullmatch(text)) is not None:
        value = math.inf if word[2] else math.nan
        return math.copysign(value, -1.0 if word[1] == "-" else 1.0)
    if (match := _DECIMAL.fullmatch(text)) is not None:
        digits = re.split("[eE]", match[1])[0]
        value = float(match[1])
    elif (match := _HEXADECIMAL.fullmatch(text)) is not None:
        digits = re.split("[pP]", match[1])[0].replace("x", "").replace("X", "")
        value = _from_hexadecimal(match[1])
    else:
        return None
    zero = not digits.strip("+-0.")
    in_range = sys.float_info.min <= abs(value) <= sys.float_info.max
    return value if zero or in_range else None


def _from_hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return math.inf
