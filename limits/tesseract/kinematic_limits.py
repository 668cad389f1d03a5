"""KinematicLimits of tesseract: n x 2 matrices of lower and upper bounds, and the checks of values against one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limits.errors import LimitsError
from limits.tesseract.joint_limits import JointLimits
from limits.tesseract.joint_safety import MAX_DIFF, MAX_REL_DIFF, almost_equal

Array = NDArray[np.float64]

EQUALITY_PRECISION = 1e-5
"""Frobenius norm of the difference, relative to the smaller of both norms, up to which matrices are equal."""


@dataclass(frozen=True, eq=False, kw_only=True)
class KinematicLimits:
    """Bounds of n joints, each of shape (n, 2) with columns lower and upper: rad or m and per s, s², s³; no effort."""

    position: Array
    velocity: Array
    acceleration: Array
    jerk: Array

    def matrices(self) -> tuple[Array, Array, Array, Array]:
        """The four matrices in the order of the original."""
        return self.position, self.velocity, self.acceleration, self.jerk


def kinematic_limits_of(joints: Sequence[JointLimits]) -> KinematicLimits:
    """The bounds of joints in their order; velocity, acceleration and jerk are symmetric about 0."""

    def both_ways(key: str) -> Array:
        magnitudes = np.array([getattr(joint, key) for joint in joints], dtype=np.float64)
        return np.column_stack((-magnitudes, magnitudes))

    ends = np.array([(joint.lower, joint.upper) for joint in joints], dtype=np.float64)
    return KinematicLimits(
        position=ends.reshape(-1, 2),
        velocity=both_ways("velocity"),
        acceleration=both_ways("acceleration"),
        jerk=both_ways("jerk"),
    )


def kinematic_limits_equal(a: KinematicLimits, b: KinematicLimits) -> bool:
    """Compare as the original's `==` does: every pair of matrices `matrices_equal`."""
    return all(matrices_equal(x, y) for x, y in zip(a.matrices(), b.matrices(), strict=True))


def matrices_equal(a: ArrayLike, b: ArrayLike, precision: float = EQUALITY_PRECISION) -> bool:
    """Compare matrices by the Frobenius norm of their difference; of unequal shapes or with NaN or infinity: False."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape:
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.square(first - second).sum()
        smaller = min(np.square(first).sum(), np.square(second).sum())
        return bool(difference <= precision * precision * smaller)


def within_limits(values: ArrayLike, limits: ArrayLike, *, compat: bool = False) -> bool:
    """Whether all values, shape (n,), lie in the closed intervals of `limits`, shape (n, 2).

    NaN is outside; with `compat` it is inside, as in the original.

    Raises:
        LimitsError: the shapes do not fit.
    """
    x, lower, upper = _columns(values, limits)
    inside = ~((x > upper) | (x < lower)) if compat else (x >= lower) & (x <= upper)
    return bool(inside.all())


def satisfies_limits(
    values: ArrayLike,
    limits: ArrayLike,
    max_diff: ArrayLike = MAX_DIFF,
    max_rel_diff: ArrayLike = MAX_REL_DIFF,
    *,
    compat: bool = False,
) -> bool:
    """Whether all values, shape (n,), lie in `limits`, shape (n, 2), or are `almost_equal` to a bound; NaN does not.

    An infinite value counts only inside or exactly at a bound; with `compat` it follows the original's arithmetic,
    in which an infinity is near every bound but its own.

    Raises:
        LimitsError: the shapes do not fit.
    """
    x, lower, upper = _columns(values, limits)
    near_lower = almost_equal(x, lower, max_diff, max_rel_diff)
    near_upper = almost_equal(x, upper, max_diff, max_rel_diff)
    if compat:
        return bool((((x > lower) | near_lower) & ((x < upper) | near_upper)).all())
    finite = np.isfinite(x)
    return bool((((x >= lower) | finite & near_lower) & ((x <= upper) | finite & near_upper)).all())


def enforce_limits(values: ArrayLike, limits: ArrayLike, *, compat: bool = False) -> Array:
    """Clamp values, shape (n,), into `limits`, shape (n, 2); with `compat` the lower bound wins where they cross.

    Raises:
        LimitsError: the shapes do not fit, a value or bound is NaN, or (without `compat`) bounds that cross.
    """
    x, lower, upper = _columns(values, limits)
    for index in range(x.size):
        for key, number in (("value", x[index]), ("lower", lower[index]), ("upper", upper[index])):
            if np.isnan(number):
                raise LimitsError("is no number", joint=str(index), key=key, value=float(number))
        if not compat and lower[index] > upper[index]:
            raise LimitsError(
                "is above upper", joint=str(index), key="lower", value=float(lower[index]), bound=float(upper[index])
            )
    return np.maximum(np.minimum(x, upper), lower)


def _columns(values: ArrayLike, limits: ArrayLike) -> tuple[Array, Array, Array]:
    """Values, lower and upper bounds, each of shape (n,)."""
    x, bounds = np.asarray(values, dtype=np.float64), np.asarray(limits, dtype=np.float64)
    if x.ndim != 1 or bounds.shape != (x.size, 2):
        raise LimitsError("limits need a row of two for each value", key="limits", value=bounds.shape, bound=x.shape)
    return x, bounds[:, 0], bounds[:, 1]
