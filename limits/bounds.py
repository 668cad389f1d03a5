"""Comparison of requested values with hard bounds, in the unit and at the resolution of the arm."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from schema.quantities import Quantity

RELATIVE = 1e-6
"""Share of a bound by which a rounded value may exceed it and still count as equal."""
READ_BACK = 1e-3
"""Share by which a value read back may differ from the one written and still count as it."""


class Excess(NamedTuple):
    """One component out of its bounds; `component` from 0, `above` tells which bound."""

    component: int
    got: float
    bound: float
    above: bool


def _held(value: float, quantity: Quantity, resolution_rad: float) -> float:
    """The value as an arm of this resolution would hold it."""
    if math.isinf(value):
        return value
    if quantity.angular:
        value = math.radians(value)
        if resolution_rad > 0.0:
            return round(value / resolution_rad) * resolution_rad
    return float(np.float32(value))


def excesses(
    values: Sequence[float], low: float, high: Sequence[float], quantity: Quantity, resolution_rad: float
) -> list[Excess]:
    """Every component below `low` or above `high`, lowest joint first.

    Args:
        values: n numbers in the unit of the quantity.
        low: lower bound of each, inclusive; one above 0 after rounding as `high`, 0 as it is: no negative passes.
        high: n upper bounds, inclusive after rounding to the resolution and a relative 1e-6.
        quantity: what the numbers measure.
        resolution_rad: what the arm keeps of an angle; 0 = float32.
    """
    for value, bound in zip(values, high, strict=True):
        if not low <= value <= bound:
            break
    else:
        return []
    found = []
    for component, (value, bound) in enumerate(zip(values, high, strict=True)):
        if low <= value <= bound:
            continue
        held, upper = _held(value, quantity, resolution_rad), _held(bound, quantity, resolution_rad)
        above = held > upper + abs(upper) * RELATIVE
        below = value < low and (low <= 0.0 or held < _held(low, quantity, resolution_rad) * (1.0 - RELATIVE))
        if above or below:
            found.append(Excess(component, value, bound if above else low, above=above))
    return found


def nearest_legal(values: Sequence[float], low: float, high: Sequence[float]) -> tuple[float, ...]:
    """The values with each one moved to its nearest bound where it is outside."""
    return tuple(min(max(value, low), bound) for value, bound in zip(values, high, strict=True))


def all_close(left: Sequence[float], right: Sequence[float], resolution: float, relative: float = READ_BACK) -> bool:
    """Whether two lists of readings are the same, one by one: within the resolution, else within a share of the larger.

    Args:
        left: readings in one unit.
        right: other ones in the same unit; lists of different length are not the same.
        resolution: how far two readings may be apart, in their unit.
        relative: the share; of infinite readings none is close to another one.
    """
    try:
        if math.dist(left, right) <= resolution:  # then none of them is further apart
            return True
    except ValueError:
        return False
    for one, other in zip(left, right, strict=True):
        if one == other:
            continue
        high, low = (one, other) if one > other else (other, one)
        difference = high - low
        if difference <= resolution:
            continue
        largest = max(-low, high)
        if not difference <= relative * largest < math.inf:
            return False
    return True
