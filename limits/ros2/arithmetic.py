"""Minimum, maximum and clamp as C++ defines them: a NaN as second argument is ignored, as first it survives.

`numpy.minimum` spreads every NaN and `numpy.fmin` loses every NaN; the reference does neither.
"""

import numpy as np
from numpy.typing import ArrayLike

from limits.ros2.arrays import Floats


def smaller(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return `first` unless `second` is less."""
    return np.where(np.less(second, first), second, first)


def larger(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return `first` unless it is less than `second`."""
    return np.where(np.less(first, second), second, first)


def clamp(value: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Floats:
    """Return `value` inside [lower, upper]; `upper` wins when the bounds cross."""
    return smaller(larger(value, lower), upper)
