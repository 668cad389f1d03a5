"""Numbers, units and names as people read them. Pure."""

import math
from typing import Any

_MOST_DIGITS = 6
_COMMON = 0.1
"""From here on three digits behind the point are enough."""


def in_unit(number: float, unit: str, *, degrees: bool) -> tuple[float, str]:
    """A number and its unit with angles in degrees, or in radians."""
    base = unit.partition("/")[0]
    if base == "rad" and degrees:
        return math.degrees(number), "deg" + unit[3:]
    if base == "deg" and not degrees:
        return math.radians(number), "rad" + unit[3:]
    return number, unit


def digits(most: float) -> int:
    """Digits behind the point so that numbers up to `most` show three or four."""
    if not most or not math.isfinite(most):
        return 2
    wanted = max(0, 3 - math.floor(math.log10(abs(most))))
    return min(wanted, 3 if abs(most) >= _COMMON else _MOST_DIGITS)


def mode_words(name: str) -> str:
    """`CARTESIAN_JOYSTICK` as people read it."""
    return name.removesuffix("_CHANGED").replace("_", " ").capitalize()


def shown(value: Any, unit: str = "", *, degrees: bool = True) -> str:
    """A value of any kind on one line; alike numbers of a list once."""
    if isinstance(value, bool) or value is None or value == "":
        return "-" if value is None or value == "" else str(value).lower()
    if isinstance(value, int | float):
        turned = in_unit(value, unit, degrees=degrees)[0]
        return f"{turned:.{digits(turned)}f}".rstrip("0").rstrip(".") if isinstance(turned, float) else str(turned)
    if isinstance(value, list):
        parts = [shown(each, unit, degrees=degrees) for each in value]
        alike = len(parts) > 1 and len({*parts}) == 1
        return f"{len(parts)} x {parts[0]}" if alike else ", ".join(parts) or "none"
    if isinstance(value, dict):
        named = [(name, shown(each, unit, degrees=degrees)) for name, each in value.items()]
        return named[0][1] if len(named) == 1 else " ".join(f"{name} {text}" for name, text in named) or "none"
    return str(value)
