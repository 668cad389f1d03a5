"""Limits of a Cartesian motion: translation per axis, rotation as one magnitude."""

from typing import NamedTuple

import numpy as np

from limits.errors import LimitsError
from limits.intrinsic.geometry import Array

_UNLIMITED = np.full(3, np.inf)


class CartesianLimits(NamedTuple):
    """Three translations each in m and its derivatives by seconds, rotations in rad/s and on; unlimited by default."""

    min_translational_position: Array = -_UNLIMITED
    max_translational_position: Array = _UNLIMITED
    min_translational_velocity: Array = -_UNLIMITED
    max_translational_velocity: Array = _UNLIMITED
    min_translational_acceleration: Array = -_UNLIMITED
    max_translational_acceleration: Array = _UNLIMITED
    min_translational_jerk: Array = -_UNLIMITED
    max_translational_jerk: Array = _UNLIMITED
    max_rotational_velocity: float = np.inf
    max_rotational_acceleration: float = np.inf
    max_rotational_jerk: float = np.inf


TRANSLATIONS = ("position", "velocity", "acceleration", "jerk")
ROTATIONS = ("velocity", "acceleration", "jerk")


def check_cartesian_limits(limits: CartesianLimits) -> None:
    """Require min <= max; for all but position min <= 0 <= max; rotations >= 0; three values each; nothing NaN.

    Raises:
        LimitsError: naming the field, its value and what it had to respect.
    """
    for quantity in TRANSLATIONS:
        key = f"max_translational_{quantity}"
        low, high = getattr(limits, f"min_translational_{quantity}"), getattr(limits, key)
        if low.shape != (3,) or high.shape != (3,):
            raise LimitsError("not three values", key=key, value=(low.shape, high.shape), bound=(3,))
        wrong = ~(low <= high)
        if quantity != "position":
            wrong |= ~((low <= 0) & (high >= 0))
        if wrong.any():
            axis = int(np.argmax(wrong))
            raise LimitsError(
                "bounds out of order", key=f"{key}.{'xyz'[axis]}", value=float(high[axis]), bound=float(low[axis])
            )
    for quantity in ROTATIONS:
        key = f"max_rotational_{quantity}"
        value = float(getattr(limits, key))
        if not value >= 0:
            raise LimitsError("negative or not a number", key=key, value=value, bound=0.0)


def cartesian_limits_valid(limits: CartesianLimits) -> bool:
    """Whether `check_cartesian_limits` accepts them."""
    try:
        check_cartesian_limits(limits)
    except LimitsError:
        return False
    return True
