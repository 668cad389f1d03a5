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


def _held(values: Sequence[float], quantity: Quantity, resolution_rad: float) -> np.ndarray:
    """The values as an arm of this resolution would hold them."""
    array = np.asarray(values, dtype=np.float64)
    if quantity.angular:
        array = np.radians(array)
        if resolution_rad > 0.0:
            return np.asarray(np.rint(array / resolution_rad) * resolution_rad)
    return array.astype(np.float32).astype(np.float64)


def within(values: Sequence[float], low: float, high: Sequence[float]) -> bool:
    """Whether every value lies in [low, high[i]]: the quick test that most requests pass."""
    for value, bound in zip(values, high, strict=True):  # noqa: SIM110 - a generator costs a call a value
        if not low <= value <= bound:
            return False
    return True


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
    if within(values, low, high):
        return []
    held, upper = _held(values, quantity, resolution_rad), _held(high, quantity, resolution_rad)
    above = held > upper + np.abs(upper) * RELATIVE
    below = np.asarray(values, dtype=np.float64) < low
    if low > 0.0:
        below &= held < _held((low,), quantity, resolution_rad) * (1.0 - RELATIVE)
    return [
        Excess(i, values[i], high[i] if above[i] else low, above=bool(above[i]))
        for i in map(int, np.flatnonzero(above | below))
    ]


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
    if len(left) != len(right):
        return False
    for one, other in zip(left, right, strict=True):
        if one == other:
            continue
        difference = one - other if one > other else other - one
        if difference <= resolution:
            continue
        largest = max(one, other, -one, -other)
        if not difference <= relative * largest < math.inf:
            return False
    return True
