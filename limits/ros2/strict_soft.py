"""The soft limiter by default: the soft range lies inside the hard one and slows joints down towards its ends."""

from collections.abc import Sequence

import numpy as np

from limits.errors import LimitsError
from limits.formats.diagnostics import Diagnostic
from limits.ros2.arrays import ZERO, Bools, Floats
from limits.ros2.helpers import STATE_TOLERANCE
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.strict import SOFT_POSITION, SOFT_VELOCITY, Cause, Known, Span
from limits.ros2.strict_range import Situation, StrictRangeLimiter, rooms, standstill
from limits.ros2.validity import check_limits, clip_to_hard


class StrictSoftLimiter(StrictRangeLimiter):
    """The range limiter, closer by the soft range: outside it a joint may hold or come back, not go further out.

    Soft ends beyond the hard range are moved to it, gains of 0 have no effect; `diagnostics` tells of both.
    """

    def __init__(
        self,
        limits: Sequence[JointLimits],
        soft: Sequence[SoftJointLimits],
        names: Sequence[str] | None = None,
        *,
        tolerance: float | Sequence[float] = STATE_TOLERANCE,
    ) -> None:
        if len(soft) != len(limits):
            raise LimitsError("limits and soft limits differ in count", value=len(soft), bound=len(limits))
        self._given = tuple(soft)
        self.soft: tuple[SoftJointLimits, ...] = ()
        self.diagnostics: tuple[Diagnostic, ...] = ()
        super().__init__(limits, names, tolerance=tolerance)

    def _prepare(self, limits: Sequence[JointLimits]) -> None:
        for record, name in zip(limits, self.names, strict=True):
            check_limits(record, name)
        pairs = [clip_to_hard(*given) for given in zip(self._given, limits, self.names, strict=True)]
        super()._prepare(limits)
        self.soft = tuple(soft for soft, _ in pairs)
        self.diagnostics = tuple(note for _, notes in pairs for note in notes)
        self.has_range: Bools = np.array([one.has_soft_position_limits() for one in self.soft])
        self.soft_lower = _array(self.has_range, [one.min_position for one in self.soft], -np.inf)
        self.soft_upper = _array(self.has_range, [one.max_position for one in self.soft], np.inf)
        gains = np.array([one.k_position for one in self.soft])
        self.gain = _array(gains > 0.0, gains, np.inf)
        self.effort_gain = np.array([one.k_velocity for one in self.soft])
        self.has_effort_gain: Bools = (self.effort_gain > 0.0) & np.isfinite(self.hard.effort)
        self.any_range = bool(self.has_range.any())
        self.any_effort_gain = bool(self.has_effort_gain.any())

    def _position(self, wanted: Floats, state: Situation) -> Span:
        span = super()._position(wanted, state)
        if not self.any_range:
            return span
        start = np.minimum(np.maximum(self._reference(wanted, state), self.hard.lower), self.hard.upper)
        slow, fast = self._slow(Known(start, everywhere=False))
        low = np.fmax(np.fmin(self.soft_lower, start), start + slow * state.dt)
        high = np.fmin(np.fmax(self.soft_upper, start), start + fast * state.dt)
        lower, upper = np.fmax(span.lower, low), np.fmin(span.upper, high)
        return Span(lower, upper, (*span.causes, Cause(SOFT_POSITION, lower, upper)))

    def _velocity(self, state: Situation) -> Span:
        if not self.any_range:
            return super()._velocity(state)
        span = self._velocity_range(state)
        low, high, unknown = rooms(state, self.soft_lower, self.soft_upper, self.has_range, self.gain)
        causes = (*unknown, *span.causes, Cause(SOFT_POSITION, low, high))
        return self._accelerated(Span(np.maximum(span.lower, low), np.minimum(span.upper, high), causes), state)

    def _slow(self, position: Known) -> tuple[Floats, Floats]:
        """Return the velocities that `k_position` allows towards both soft ends; from beyond one none outwards."""
        lower = np.fmin(self.gain * (self.soft_lower - position.values), ZERO)
        upper = np.fmax(self.gain * (self.soft_upper - position.values), ZERO)
        if position.everywhere:
            return lower, upper
        return np.where(self.has_range, lower, -np.inf), np.where(self.has_range, upper, np.inf)

    def _effort(self, state: Situation) -> Span:
        span = super()._effort(state)
        if not self.any_effort_gain:
            return span
        slow, fast = self._slow(state.position)
        slow, fast = np.maximum(slow, -self.hard.velocity), np.minimum(fast, self.hard.velocity)
        velocity, on, most = state.velocity.values, self.has_effort_gain, self.hard.effort
        unknown = on & np.isnan(velocity)
        low = np.clip(-self.effort_gain * (velocity - slow), -most, most)
        high = np.clip(-self.effort_gain * (velocity - fast), -most, most)
        low, high = np.where(unknown, 0.0, low), np.where(unknown, 0.0, high)
        lower = np.where(on, np.minimum(np.maximum(low, span.lower), span.upper), span.lower)
        upper = np.where(on, np.minimum(np.maximum(high, span.lower), span.upper), span.upper)
        causes = (*standstill(unknown), *span.causes, Cause(SOFT_VELOCITY, lower, upper))
        return Span(lower, upper, causes)


def _array(where: Bools, values: Floats | Sequence[float], otherwise: float) -> Floats:
    """Return the values where they count, and a number that does not limit elsewhere."""
    return np.where(where, values, otherwise)
