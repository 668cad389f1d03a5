"""The numbers inside a simulated arm: angular quantities in steps of 1e-4 rad, the others in float32."""

import math
from functools import lru_cache
from operator import gt

from devices.adapter import ArmRefusedError
from devices.refusals import refused
from schema.floats import as_float32

RESOLUTION_RAD = 1e-4
_STEPS_PER_RAD = 10_000
_STEPS_PER_DEG = math.radians(_STEPS_PER_RAD)


def steps(value: float, field: str) -> int:
    """Whole steps of 1e-4 rad nearest to `value` in degrees.

    Raises:
        ArmRefusedError: not finite.
    """
    try:
        return round(value * _STEPS_PER_DEG)
    except (ValueError, OverflowError):
        raise refused("INVALID_PARAM", f"{field}: {value} is not finite") from None


@lru_cache(maxsize=32_768)
def degrees(count: int) -> float:
    """The degrees, as shortest float32, that the arm reads back for a number of steps."""
    return as_float32(math.degrees(count / _STEPS_PER_RAD))


@lru_cache(maxsize=8_192)
def float32(value: float, field: str) -> float:
    """The value as shortest float32.

    Raises:
        ArmRefusedError: not finite, or beyond float32.
    """
    try:
        short = as_float32(value)
    except OverflowError:
        short = math.inf
    if not math.isfinite(short):
        raise refused("INVALID_PARAM", f"{field}: {value} is not finite in float32")
    return short


def angle(value: float, field: str) -> float:
    """A signed angle in degrees, rounded as the arm keeps it.

    Raises:
        ArmRefusedError: not finite.
    """
    return degrees(steps(value, field))


def bounded_angle(value: float, highest: int, field: str, *, lowest: int = 0) -> float:
    """An angular quantity in degrees, rounded as the arm keeps it, within bounds given in steps.

    Raises:
        ArmRefusedError: not finite, above or below.
    """
    count = steps(value, field)
    if lowest <= count <= highest:
        return degrees(count)
    raise _out_of_bounds(value, field, above=count > highest)


def bounded_angles(values: tuple[float, ...], highest: tuple[int, ...], field: str) -> tuple[float, ...]:
    """One angular quantity per joint in degrees, each from 0 to its highest number of steps.

    Raises:
        ArmRefusedError: wrong count, not finite, above or below.
    """
    if len(values) != len(highest):
        raise refused("CONTROL_ACTUATOR_COUNT_MISMATCH", f"{field}: {len(values)} values for {len(highest)} joints")
    try:
        counts = [round(value * _STEPS_PER_DEG) for value in values]
    except (ValueError, OverflowError):
        raise refused("INVALID_PARAM", f"{field}: a value is not finite") from None
    if min(counts) < 0 or any(map(gt, counts, highest)):
        raise _first_out_of_bounds(values, counts, highest, field)
    return tuple(map(degrees, counts))


def bounded_float32(value: float, highest: float, field: str, *, zero: bool) -> float:
    """A linear quantity as float32, from 0 (or above it, unless `zero`) to `highest`.

    Raises:
        ArmRefusedError: not finite, above or below.
    """
    short = float32(value, field)
    if 0 < short <= highest or (zero and short == 0):
        return short
    raise _out_of_bounds(value, field, above=short > highest)


def _first_out_of_bounds(
    values: tuple[float, ...], counts: list[int], highest: tuple[int, ...], field: str
) -> ArmRefusedError:
    wrong = (index for index, count in enumerate(counts) if not 0 <= count <= highest[index])
    index = next(wrong)
    return _out_of_bounds(values[index], f"{field}[{index}]", above=counts[index] > highest[index])


def _out_of_bounds(value: float, field: str, *, above: bool) -> ArmRefusedError:
    name = "VALUE_IS_ABOVE_MAXIMUM" if above else "VALUE_IS_BELOW_MINIMUM"
    return refused(name, f"{field}: {value} is {'above the hard limit' if above else 'below the minimum'}")
