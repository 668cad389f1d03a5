"""CheckTrajectory: every point of a trajectory of n joints against the effective limits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limits.bounds import RELATIVE
from limits.errors import LimitsError
from limits.intrinsic.check_mode import checks_acceleration
from limits.stack.joints import Bounds
from limits.stack.law import PositionLaw
from schema.intrinsic import DynamicLimitsCheckMode

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

CHECK_JOINT_ACCELERATION = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_JOINT_ACCELERATION

CHECKS = ("position", "velocity", "soft_velocity", "acceleration", "mean_velocity", "mean_acceleration")
"""What is compared: the numbers given, then what they imply from one point to the next."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Points of n joints: arrays of shape (points, n), rad or m and per s and s²; times of shape (points,), s.

    Raises:
        LimitsError: no point, sizes that differ, a number that is not finite, or times that do not grow.
    """

    times: Array
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None

    @classmethod
    def of(
        cls,
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
    ) -> "Trajectory":
        """Return the checked trajectory of lists or arrays.

        Raises:
            LimitsError: counts do not fit, a number is not finite, or times do not grow.
        """
        given = {"times": times, "positions": positions, "velocities": velocities, "accelerations": accelerations}
        arrays = {key: _array(key, values) for key, values in given.items() if values is not None}
        at, where = arrays["times"], arrays["positions"]
        if at.ndim != 1 or not at.size:
            raise LimitsError("needs one time a point, at least one", key="times", value=at.shape)
        if where.ndim != 2:  # noqa: PLR2004 - points and joints
            raise LimitsError("needs a row of joints a point", key="positions", value=where.shape)
        shape = (at.size, where.shape[1])
        for key, values in arrays.items():
            if key != "times" and values.shape != shape:
                raise LimitsError("needs one number a joint and point", key=key, value=values.shape, bound=shape)
            _refuse_not_finite(key, values)
        grows = np.diff(at) > 0.0
        if not grows.all():
            point = int(np.argmin(grows)) + 1
            raise LimitsError(
                f"does not grow at point {point}", key="times", value=float(at[point]), bound=float(at[point - 1])
            )
        return cls(**arrays)


class TrajectoryViolation(NamedTuple):
    """One number out of its bounds; `check` is one of CHECKS, `point` from 0, `time` in s.

    A mean lies between `point` and the one before it. `excess` is how far it is out, as a share of the limit, for a
    position of the width of its range (of 1 where that is infinite).
    """

    check: str
    point: int
    time: float
    joint: str
    value: float
    bound: float
    excess: float


@dataclass(frozen=True, slots=True)
class TrajectoryCheck:
    """All violations as arrays of one size, unsorted; `violations` has them in the order of time, CHECKS and joints."""

    names: tuple[str, ...]
    times: Array
    checks: NDArray[np.uint8]
    points: Indices
    joints: Indices
    values: Array
    bounds: Array
    excesses: Array

    def __len__(self) -> int:
        return int(self.points.size)

    @property
    def first(self) -> TrajectoryViolation | None:
        """The earliest violation."""
        return self.violation(int(np.argmin(self._keys()))) if len(self) else None

    @property
    def worst(self) -> TrajectoryViolation | None:
        """The violation with the largest excess, the earliest of equal ones."""
        if not len(self):
            return None
        most = np.flatnonzero(self.excesses == self.excesses.max())
        return self.violation(int(most[np.argmin(self._keys()[most])]))

    def violations(self, most: int | None = None) -> list[TrajectoryViolation]:
        """The violations in their order, at most so many of them."""
        return [self.violation(int(index)) for index in np.argsort(self._keys())[:most]]

    def _keys(self) -> Indices:
        """What the violations are sorted by."""
        return (self.points * len(CHECKS) + self.checks) * len(self.names) + self.joints

    def violation(self, index: int) -> TrajectoryViolation:
        """The violation at an index of the arrays."""
        point = int(self.points[index])
        return TrajectoryViolation(
            CHECKS[self.checks[index]],
            point,
            float(self.times[point]),
            self.names[self.joints[index]],
            float(self.values[index]),
            float(self.bounds[index]),
            float(self.excesses[index]),
        )


def check_trajectory(
    bounds: Bounds,
    trajectory: Trajectory,
    names: tuple[str, ...],
    mode: int = CHECK_JOINT_ACCELERATION,
    laws: Sequence[PositionLaw] = (),
) -> TrajectoryCheck:
    """Compare a trajectory with the limits of its joints; bounds are inclusive.

    Given numbers are compared as they are. Between two points the mean velocity must be one that the joint may have,
    whatever velocities are given, and so must the mean acceleration (of the velocities, else of the mean velocities):
    no motion through the points stays inside the limits otherwise. A relative 1e-6 is left for their rounding.
    Velocities that are given must also keep to the `laws` (`position_laws` of the effective limits) at their positions.
    Accelerations against the velocity are compared with the deceleration. With the mode CHECK_NONE no acceleration is
    compared. Jerk and effort are not part of a trajectory.

    Raises:
        LimitsError: trajectory, names and bounds are not of the same joints, or the mode is none.
    """
    counts = (trajectory.positions.shape[1], bounds.velocity.size)
    for key, count in zip(("positions", "bounds"), counts, strict=True):
        if count != len(names):
            raise LimitsError("joints differ in count", key=key, value=count, bound=len(names))
    checked = checks_acceleration(mode)
    with np.errstate(all="ignore"):
        found = [_positions(bounds, trajectory), *_velocities(bounds, trajectory)]
        found += [part for law in laws for part in _soft_velocities(bounds, trajectory, law)]
        if checked:
            found += _accelerations(bounds, trajectory)
    parts = [part for part in found if part is not None]
    if not parts:
        none, nothing = np.empty(0, dtype=np.int64), np.empty(0)
        return TrajectoryCheck(names, trajectory.times, none.astype(np.uint8), none, none, nothing, nothing, nothing)
    codes, *columns = zip(*parts, strict=True)
    checks = np.repeat(np.array(codes, dtype=np.uint8), [part[1].size for part in parts])
    return TrajectoryCheck(names, trajectory.times, checks, *map(np.concatenate, columns))


_Part = tuple[int, Indices, Indices, Array, Array, Array]
"""The index of a check in CHECKS, points, joints, values, bounds and excesses of its violations."""


def _positions(bounds: Bounds, trajectory: Trajectory) -> _Part | None:
    x, lower, upper = trajectory.positions, bounds.position_lower, bounds.position_upper
    outside = (x < lower) | (x > upper)
    if not outside.any():
        return None
    flat = outside.ravel().nonzero()[0]
    points, joints = np.divmod(flat, lower.size)
    values = x.ravel()[flat]
    below = values < lower[joints]
    bound = np.where(below, lower[joints], upper[joints])
    width = upper - lower
    width[~np.isfinite(width)] = 1.0
    excess = np.abs(values - bound) / np.maximum(width, 0.0)[joints]
    return CHECKS.index("position"), points, joints, values, bound, excess


def _velocities(bounds: Bounds, trajectory: Trajectory) -> list[_Part | None]:
    found = []
    if trajectory.velocities is not None:
        found.append(_magnitudes("velocity", trajectory.velocities, bounds.velocity, 0))
    if np.isfinite(bounds.velocity).any():
        most = bounds.velocity * (1.0 + RELATIVE)
        found.append(_magnitudes("mean_velocity", _slopes(trajectory.positions, trajectory.times), most, 1))
    return found


def _soft_velocities(bounds: Bounds, trajectory: Trajectory, law: PositionLaw) -> list[_Part | None]:
    """Velocities of one joint that a safety law does not allow at their positions, towards either end."""
    if trajectory.velocities is None:
        return []
    x, v = trajectory.positions[:, law.joint], trajectory.velocities[:, law.joint]
    fastest = bounds.velocity[law.joint]
    found: list[_Part | None] = []
    for end, sign in ((law.lower, -1.0), (law.upper, 1.0)):
        most = np.maximum(sign * law.k_position * (end - x), -fastest)
        (points,) = (sign * v > most + RELATIVE * np.abs(most)).nonzero()
        bound, out = sign * most[points] + 0.0, v[points]
        excess = np.abs(out - bound) / (fastest if math.isfinite(fastest) else 1.0)
        joints = np.full(points.size, law.joint, dtype=np.int64)
        found.append((CHECKS.index("soft_velocity"), points, joints, out, bound, excess))
    return found


def _accelerations(bounds: Bounds, trajectory: Trajectory) -> list[_Part | None]:
    found = []
    larger = np.maximum(bounds.acceleration, bounds.deceleration)
    smaller = np.minimum(bounds.acceleration, bounds.deceleration)
    given, velocities = trajectory.accelerations, trajectory.velocities
    if given is not None and not _all_within(given, smaller):
        most = larger if velocities is None else _allowed(given * velocities, given * velocities, bounds)
        found.append(_magnitudes("acceleration", given, most, 0))
    if not np.isfinite(smaller).any():
        return found
    if velocities is None:
        means = _mean_accelerations(trajectory)
        found.append(_magnitudes("mean_acceleration", means, larger * (1.0 + RELATIVE), 2))
        return found
    means = _slopes(velocities, trajectory.times)
    if not _all_within(means, smaller):
        most = _allowed(means * velocities[:-1], means * velocities[1:], bounds)
        found.append(_magnitudes("mean_acceleration", means, most * (1.0 + RELATIVE), 1))
    return found


def _allowed(start: Array, end: Array, bounds: Bounds) -> Array:
    """What an acceleration may be, by its product with the velocity at the start and at the end.

    The acceleration where it speeds up all along, the deceleration where it slows down; where the velocity passes
    through 0 both can act, and the larger one is the bound.
    """
    speeds_up, slows_down = (start >= 0.0) & (end >= 0.0), (start <= 0.0) & (end <= 0.0)
    either = np.maximum(bounds.acceleration, bounds.deceleration)
    return np.where(speeds_up, bounds.acceleration, np.where(slows_down, bounds.deceleration, either))


def _all_within(values: Array, most: Array) -> bool:
    """Whether all values lie in ±most, shape (n,)."""
    return bool((np.abs(values) <= most).all())


def _slopes(values: Array, times: Array) -> Array:
    """Mean derivative between neighbouring points, shape (points - 1, n)."""
    slopes: Array = np.diff(values, axis=0)
    slopes /= np.diff(times)[:, None]
    return slopes


def _mean_accelerations(trajectory: Trajectory) -> Array:
    """An acceleration that occurs between three neighbouring points, shape (points - 2, n)."""
    means = _slopes(trajectory.positions, trajectory.times)
    spans = trajectory.times[2:] - trajectory.times[:-2]
    return np.asarray(2.0 * np.diff(means, axis=0) / spans[:, None])


def _magnitudes(check: str, values: Array, most: Array, shift: int) -> _Part | None:
    """Values beyond ±most, shape (n,) or that of the values, or no number; the first row is of point `shift`."""
    inside = np.abs(values) <= most
    if inside.all():
        return None
    flat = np.logical_not(inside).ravel().nonzero()[0]
    points, joints = np.divmod(flat, values.shape[1])
    out = values.ravel()[flat]
    limit = most[joints] if most.ndim == 1 else most.ravel()[flat]
    excess = (np.abs(out) - limit) / limit
    excess[~np.isfinite(out)] = np.inf
    points = points + shift
    return CHECKS.index(check), points, joints, out, np.copysign(limit, out), excess


def _array(key: str, values: ArrayLike) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LimitsError("is no array of numbers with rows of one length", key=key) from error


def _refuse_not_finite(key: str, values: Array) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        at = np.unravel_index(int(np.argmin(finite)), values.shape)
        joint = None if values.ndim == 1 else str(int(at[1]))
        raise LimitsError(f"is not finite at point {int(at[0])}", joint=joint, key=key, value=float(values[at]))
