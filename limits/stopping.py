"""Whether a soft range leaves each joint the way it needs to stop before its hard end: v²/2a."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limits.stack.joints import Bounds

Array = NDArray[np.float64]


class Stopping(NamedTuple):
    """Per joint, shape (n,), rad or m and per s: the way to stop, the margins there are, and what would be consistent.

    A margin is the way from a soft end to the hard one, infinite without a hard end. `largest_speed` is the fastest
    that stops within the smaller margin; `lower` and `upper` are the widest soft range at the present speed, crossed
    where the hard range is too small for any.
    """

    distance: Array
    lower_margin: Array
    upper_margin: Array
    consistent: NDArray[np.bool_]
    largest_speed: Array
    lower: Array
    upper: Array


def stopping_distance(speed: ArrayLike, deceleration: ArrayLike) -> Array:
    """The way a joint needs to stop, v²/2a: infinite if it moves and cannot slow down, 0 if a is infinite."""
    v, a = np.asarray(speed, dtype=np.float64), np.asarray(deceleration, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(v == 0.0, 0.0, np.where(np.isinf(a), 0.0, np.square(v) / (2.0 * a)))


def check_stopping(hard: Bounds, soft: Bounds) -> Stopping:
    """Compare the margins between a soft and a hard range with the way to stop at the soft limits' speed.

    The deceleration is the one of `soft`, which is the effective one. A soft end that is not given has no margin.
    """
    distance = stopping_distance(soft.velocity, soft.deceleration)
    lower_margin = _margin(soft.position_lower, hard.position_lower, 1.0)
    upper_margin = _margin(soft.position_upper, hard.position_upper, -1.0)
    smaller = np.minimum(lower_margin, upper_margin)
    with np.errstate(invalid="ignore", over="ignore"):
        fastest = np.sqrt(2.0 * soft.deceleration * np.maximum(smaller, 0.0))
        lower, upper = hard.position_lower + distance, hard.position_upper - distance
    return Stopping(
        distance=distance,
        lower_margin=lower_margin,
        upper_margin=upper_margin,
        consistent=(distance <= smaller) | np.isinf(smaller),
        largest_speed=np.where(np.isinf(soft.deceleration) | np.isinf(smaller), np.inf, fastest),
        lower=np.where(np.isinf(hard.position_lower), -np.inf, lower),
        upper=np.where(np.isinf(hard.position_upper), np.inf, upper),
    )


def _margin(soft: Array, hard: Array, sign: float) -> Array:
    """The way from a soft end to the hard one: infinite without a hard end, 0 without a soft one."""
    inner = np.where(np.isinf(soft), hard, soft)
    return np.where(np.isinf(hard), np.inf, sign * (inner - np.where(np.isinf(hard), 0.0, hard)))
