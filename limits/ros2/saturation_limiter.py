"""The saturation limiter as an object: by default no unknown state and nothing beyond a limit, or as the reference."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import inf

import numpy as np

from limits.errors import LimitsError
from limits.ros2.arrays import Floats, LimitTable
from limits.ros2.reasons import Reason, ReasonCodes
from limits.ros2.records import JointLimits
from limits.ros2.saturation import TrajectoryPoint, saturate
from limits.ros2.strict import StrictLimits

KINDS = tuple(field.name for field in fields(TrajectoryPoint))


@dataclass(frozen=True, slots=True)
class Saturated:
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
        self.hard = None if compat else StrictLimits.of(limits, self.names)

    def enforce(self, current: TrajectoryPoint, desired: TrajectoryPoint, dt: float) -> Saturated:
        """Return the point inside the limits; `dt` in seconds from the current state to it.

        Raises:
            LimitsError: by default, where the reference would let the point pass unchecked: `dt` is not positive and
                finite, a number is missing, not finite or one too many, the position state is not known, neither
                positions nor velocities are commanded.
        """
        if self.hard is None:
            return Saturated(*saturate(self.table, self._fitting(current), self._fitting(desired), dt))
        if not 0.0 < dt < inf:
            raise LimitsError("must be positive and finite", key="dt", value=dt, bound=0.0)
        if current.positions is None or (desired.positions is None and desired.velocities is None):
            key = "current positions" if current.positions is None else "positions or velocities"
            raise LimitsError("a trajectory point cannot be limited without them", key=key)
        for point in (current, desired):
            self._refuse_unfit(point)
        once, first = saturate(self.table, current, desired, dt, corrected=True, literal=True)
        result, second = saturate(self.table, current, once, dt, corrected=True, literal=True)
        return self._inside(self.hard, result, np.where(second != 0, second, first))

    def _fitting(self, point: TrajectoryPoint) -> TrajectoryPoint:
        """Return the point without the kinds that are not one number a joint."""
        unfit = {kind: None for kind in KINDS if not self._fits(getattr(point, kind))}
        return replace(point, **unfit)

    def _fits(self, values: Floats | None) -> bool:
        return values is not None and values.shape == (len(self.names),)

    def _refuse_unfit(self, point: TrajectoryPoint) -> None:
        for kind in KINDS:
            values: Floats | None = getattr(point, kind)
            if values is None:
                continue
            if values.shape != (len(self.names),):
                raise LimitsError("needs one number a joint", key=kind, value=values.shape, bound=(len(self.names),))
            unknown = ~np.isfinite(values)
            if unknown.any():
                at = int(unknown.argmax())
                raise LimitsError("is not finite", joint=self.names[at], key=kind, value=float(values[at]))

    @staticmethod
    def _inside(hard: StrictLimits, point: TrajectoryPoint, codes: ReasonCodes) -> Saturated:
        """Return the point with every number inside its own bound, whatever braking made of it."""
        bounds: dict[str, tuple[Floats, Floats, Reason]] = {
            "positions": (hard.lower, hard.upper, Reason.HARD_POSITION),
            "velocities": (-hard.velocity, hard.velocity, Reason.MAX_VELOCITY),
            "accelerations": (-hard.fastest, hard.fastest, Reason.MAX_ACCELERATION),
        }
        results = {}
        for kind, (lower, upper, reason) in bounds.items():
            values: Floats | None = getattr(point, kind)
            if values is not None:
                results[kind] = np.clip(values, lower, upper)
                codes[results[kind] != values] = reason
        return Saturated(TrajectoryPoint(**results), codes)
