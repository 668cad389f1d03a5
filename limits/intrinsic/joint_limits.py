"""The limits of all joints as six vectors: validity, equality, containment."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limits.errors import LimitsError
from limits.intrinsic.geometry import Array

POSITION_FIELDS = ("min_position", "max_position")
MAX_FIELDS = ("max_velocity", "max_acceleration", "max_jerk", "max_effort")
FIELDS = POSITION_FIELDS + MAX_FIELDS

FIXED_MAX_DOF = 25
"""Joints that the fixed-size variant holds; the dynamic one (Xd) has no bound."""


class JointLimitVectors(NamedTuple):
    """One entry a joint in DoF order: rad or m and their derivatives by seconds, N m or N; max_* are symmetric."""

    min_position: Array
    max_position: Array
    max_velocity: Array
    max_acceleration: Array
    max_jerk: Array
    max_effort: Array

    @property
    def size(self) -> int:
        """Number of joints, which is the size of `min_position`."""
        return len(self.min_position)


def vectors(**fields: npt.ArrayLike) -> JointLimitVectors:
    """Vectors from six lists by name, as given: sizes and values are not looked at."""
    return JointLimitVectors(**{name: np.array(fields[name], dtype=np.float64).reshape(-1) for name in FIELDS})


def simple_limits(
    *, dof: int, position: float, velocity: float, acceleration: float, jerk: float, effort: float = np.inf
) -> JointLimitVectors:
    """The same limits for every joint: positions within ±position, effort unlimited unless given.

    In rad or m and per s, s², s³; effort in N·m or N.
    """
    values = (-position, position, velocity, acceleration, jerk, effort)
    return JointLimitVectors(*(np.full(dof, value) for value in values))


def joint_name(names: Sequence[str] | None, index: int) -> str:
    """What a joint is called in an error."""
    return str(index) if names is None else names[index]


def check_sizes(limits: JointLimitVectors, *, max_dof: int | None = None) -> None:
    """Require six vectors of one size, which is at most `max_dof`.

    Raises:
        LimitsError: naming the first vector of another size.
    """
    for name, values in zip(FIELDS, limits, strict=True):
        if len(values) != limits.size:
            raise LimitsError("size differs from min_position", key=name, value=len(values), bound=limits.size)
    if max_dof is not None and limits.size > max_dof:
        raise LimitsError("too many joints", key="min_position", value=limits.size, bound=max_dof)


def check_joint_limits(
    limits: JointLimitVectors, *, max_dof: int | None = None, names: Sequence[str] | None = None
) -> None:
    """Require valid limits: sizes agree, min <= max, max_* >= 0, nothing NaN, and a position range that is not empty.

    Each entry is tested, so NaN never passes; a lower bound of +inf or an upper one of -inf leaves no position.
    No joints, equal bounds and zero max_* are valid.

    Raises:
        LimitsError: naming joint, vector, value and bound.
    """
    check_sizes(limits, max_dof=max_dof)
    low, high = limits.min_position, limits.max_position
    for key, values, bound, wrong in (
        ("min_position", low, high, np.isnan(low) | (low > high) | (low == np.inf)),
        ("max_position", high, low, np.isnan(high) | (high == -np.inf)),
        *((name, getattr(limits, name), None, ~(getattr(limits, name) >= 0)) for name in MAX_FIELDS),
    ):
        if wrong.any():
            index = int(np.argmax(wrong))
            raise LimitsError(
                _reason(key, float(values[index])),
                joint=joint_name(names, index),
                key=key,
                value=float(values[index]),
                bound=0.0 if bound is None else float(bound[index]),
            )


def _reason(key: str, value: float) -> str:
    if np.isnan(value):
        return "not a number"
    if key in MAX_FIELDS:
        return "negative"
    return "bounds leave no position"


def joint_limits_valid(limits: JointLimitVectors, *, max_dof: int | None = None) -> bool:
    """Whether `check_joint_limits` accepts them."""
    try:
        check_joint_limits(limits, max_dof=max_dof)
    except LimitsError:
        return False
    return True


def joint_limits_equal(a: JointLimitVectors, b: JointLimitVectors, *, compat: bool = False) -> bool:
    """Same sizes and entries; NaN equals NaN, -0.0 equals 0.0; in `compat` +inf equals -inf as well."""
    for left, right in zip(a, b, strict=True):
        if compat:
            left, right = (np.where(np.isinf(side), np.inf, side) for side in (left, right))  # noqa: PLW2901 - same role
        if not np.array_equal(left, right, equal_nan=True):
            return False
    return True


def check_within(inner: JointLimitVectors, outer: JointLimitVectors, *, names: Sequence[str] | None = None) -> None:
    """Require both valid, of one size, and every limit of `inner` at least as tight as that of `outer`.

    Raises:
        LimitsError: naming joint, vector, value and the bound it exceeds.
    """
    for limits in (outer, inner):
        check_joint_limits(limits, names=names)
    if inner.size != outer.size:
        raise LimitsError("number of joints differs", key="min_position", value=inner.size, bound=outer.size)
    for name, value, bound in zip(FIELDS, inner, outer, strict=True):
        wrong = value < bound if name == "min_position" else value > bound
        if wrong.any():
            index = int(np.argmax(wrong))
            raise LimitsError(
                "beyond the outer limit",
                joint=joint_name(names, index),
                key=name,
                value=float(value[index]),
                bound=float(bound[index]),
            )


def positions_within(limits: JointLimitVectors, positions: Array, *, tolerance: float = 0.0) -> npt.NDArray[np.bool_]:
    """Per joint, whether a position (shape (..., joints)) lies in the closed interval; NaN does not."""
    within: npt.NDArray[np.bool_] = (positions >= limits.min_position - tolerance) & (
        positions <= limits.max_position + tolerance
    )
    return within
