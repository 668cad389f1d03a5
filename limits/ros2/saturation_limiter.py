"""The saturation limiter as an object: by default no unknown state and nothing beyond a limit, or as the reference."""

from collections.abc import Callable, Sequence
from math import inf
from operator import attrgetter

import msgspec
import numpy as np
from msgspec.structs import replace

from limits.errors import LimitsError
from limits.ros2.arrays import Floats, LimitTable, all_true
from limits.ros2.reasons import ReasonCodes
from limits.ros2.records import JointLimits
from limits.ros2.saturation import TrajectoryPoint, saturate
from limits.ros2.strict import HARD_POSITION, MAX_ACCELERATION, MAX_VELOCITY, StrictLimits

KINDS = ("positions", "velocities", "accelerations")

kinds: Callable[[TrajectoryPoint], tuple[Floats | None, ...]] = attrgetter(*KINDS)
"""The three arrays of a TrajectoryPoint in the order of KINDS."""


class Saturated(msgspec.Struct, frozen=True):
    """The point after limiting, and for each joint the limit that acted last."""

    desired: TrajectoryPoint
    reasons: ReasonCodes

    @property
    def limited(self) -> bool:
        """Whether any joint was limited."""
        return bool(self.reasons.any())


class JointSaturationLimiter:
    """Limits one trajectory point of n joints; it keeps no memory.

    Raises:
        LimitsError: names and limits differ in count or, by default, the limits make no sense.
    """

    def __init__(
        self, limits: Sequence[JointLimits], names: Sequence[str] | None = None, *, compat: bool = False
    ) -> None:
        self.names = tuple(f"#{number}" for number in range(len(limits))) if names is None else tuple(names)
        if len(self.names) != len(limits):
            raise LimitsError("names and limits differ in count", value=len(limits), bound=len(self.names))
        self.compat = compat
        self.table = LimitTable.of(limits)
        if not compat:
            hard = StrictLimits.of(limits, self.names)
            self._bounds = (
                (hard.lower, hard.upper, HARD_POSITION),
                (-hard.velocity, hard.velocity, MAX_VELOCITY),
                (-hard.fastest, hard.fastest, MAX_ACCELERATION),
            )

    def enforce(self, current: TrajectoryPoint, desired: TrajectoryPoint, dt: float) -> Saturated:
        """Return the point inside the limits; `dt` in seconds from the current state to it.

        Raises:
            LimitsError: by default, where the reference would let the point pass unchecked: `dt` is not positive and
                finite, a number is missing, not finite or one too many, the position state is not known, neither
                positions nor velocities are commanded.
        """
        if self.compat:
            return Saturated(*saturate(self.table, self._fitting(current), self._fitting(desired), dt))
        if not 0.0 < dt < inf:
            raise LimitsError("must be positive and finite", key="dt", value=dt, bound=0.0)
        if current.positions is None or (desired.positions is None and desired.velocities is None):
            key = "current positions" if current.positions is None else "positions or velocities"
            raise LimitsError("a trajectory point cannot be limited without them", key=key)
        for point in (current, desired):
            self._refuse_unfit(point)
        return self._inside(*saturate(self.table, current, desired, dt, corrected=True, literal=True, again=True))

    def _fitting(self, point: TrajectoryPoint) -> TrajectoryPoint:
        """Return the point without the kinds that are not one number a joint."""
        unfit = {kind: None for kind in KINDS if not self._fits(getattr(point, kind))}
        return replace(point, **unfit)

    def _fits(self, values: Floats | None) -> bool:
        return values is not None and values.shape == (len(self.names),)

    def _refuse_unfit(self, point: TrajectoryPoint) -> None:
        shape = (len(self.names),)
        for kind, values in zip(KINDS, kinds(point), strict=True):
            if values is None:
                continue
            if values.shape != shape:
                raise LimitsError("needs one number a joint", key=kind, value=values.shape, bound=shape)
            if not all_true(finite := np.isfinite(values)):
                at = int(finite.argmin())
                raise LimitsError("is not finite", joint=self.names[at], key=kind, value=float(values[at]))

    def _inside(self, point: TrajectoryPoint, codes: ReasonCodes) -> Saturated:
        """Return the point with every number inside its own bound, whatever braking made of it."""
        results: list[Floats | None] = []
        for values, (lower, upper, reason) in zip(kinds(point), self._bounds, strict=True):
            if values is None:
                results.append(None)
                continue
            result = values.clip(lower, upper)
            np.putmask(codes, result != values, reason)
            results.append(result)
        return Saturated(TrajectoryPoint(*results), codes)
