"""Comparing what was found with what a vector expects; NaN and the infinities are texts there."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from limits.errors import LimitsError

Line = dict[str, Any]
OK = "OK"
INVALID = "INVALID_ARGUMENT"


def plain(value: Any) -> Any:
    """Arrays and tuples as lists, so that results compare with JSON."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return value


def same_number(found: float, wanted: float, rtol: float, atol: float) -> bool:
    """Equal within the tolerances; NaN equals NaN; exact comparison tells -0.0 from 0.0."""
    if math.isnan(wanted):
        return math.isnan(found)
    if rtol == atol == 0 or math.isinf(wanted):
        return found == wanted and math.copysign(1, found) == math.copysign(1, wanted)
    return abs(found - wanted) <= max(atol, rtol * abs(wanted))


def same(found: Any, wanted: Any, rtol: float = 0.0, atol: float = 0.0) -> bool:
    """Equal in shape and within the tolerances; the texts of NaN and the infinities are numbers."""
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict)
            and found.keys() == wanted.keys()
            and all(same(found[key], wanted[key], rtol, atol) for key in wanted)
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(same(a, b, rtol, atol) for a, b in zip(found, wanted, strict=True))
        )
    if wanted in ("NaN", "Infinity", "-Infinity") or (isinstance(wanted, float | int) and not isinstance(wanted, bool)):
        return same_number(float(found), float(wanted), rtol, atol)
    return bool(found == wanted)


def outcome(run: Callable[[], dict[str, Any]], refusal: dict[str, Any]) -> dict[str, Any]:
    """What a function gave, or the refusal."""
    try:
        return run()
    except LimitsError:
        return refusal


def compare(line: Line, found: dict[str, Any], *, atol: float = 0.0) -> str | None:
    """None, or the difference between what was found and what the line expects."""
    wanted = line["expected"]
    if same(plain(found), wanted, line.get("rtol", 0.0), max(atol, line.get("atol", 0.0))):
        return None
    return f"{line['id']}: got {found}, expected {wanted}"


def floats(values: Any) -> Any:
    """Lists of numbers and the texts of non-finite ones as floats."""
    return [float(value) for value in values]
