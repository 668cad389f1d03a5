"""The range limiter by default: an unknown state is never a licence, nothing leaves a hard bound, reasons are given."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from limits.errors import LimitsError
from limits.ros2.arrays import INTERFACES, Bools, Floats, JointValues
from limits.ros2.helpers import STATE_TOLERANCE
from limits.ros2.limiter import Enforced, Limiter
from limits.ros2.reasons import Reasons
from limits.ros2.records import JointLimits
from limits.ros2.strict import (
    HARD_POSITION,
    MAX_ACCELERATION,
    MAX_VELOCITY,
    UNKNOWN_STATE,
    Cause,
    Span,
    StrictLimits,
    all_finite,
    explain,
    finite,
    known_or,
)


class Situation(NamedTuple):
    """What is known when a command comes: finite states (NaN = unknown), last commands, seconds since the last one."""

    joints: int
    position: Floats | None
    velocity: Floats | None
    last: dict[str, Floats]
    dt: float

    def known_position(self) -> Floats:
        """Return the position state, NaN where it is unknown: a command does not tell where a joint is."""
        return np.full(self.joints, np.nan) if self.position is None else self.position

    def known_velocity(self) -> Floats:
        """Return the velocity state, NaN where it is unknown."""
        return np.full(self.joints, np.nan) if self.velocity is None else self.velocity


class StrictRangeLimiter(Limiter):
    """Limits every commanded quantity; hold and standstill are always allowed, motion back inside too.

    `tolerance` (rad or m; one number or one a joint) is how far outside the hard range a position state may be before
    a position command is refused. NaN commands pass and leave the memory of their joint as it is.
    """

    def __init__(
        self,
        limits: Sequence[JointLimits],
        names: Sequence[str] | None = None,
        *,
        tolerance: float | Sequence[float] = STATE_TOLERANCE,
    ) -> None:
        self.tolerance = np.broadcast_to(np.asarray(tolerance, dtype=float), (len(limits),))
        self._last: dict[str, Floats] = {}
        super().__init__(limits, names)

    def _prepare(self, limits: Sequence[JointLimits]) -> None:
        self.hard = StrictLimits.of(limits, self.names)
        self.outermost = self.hard.lower - self.tolerance, self.hard.upper + self.tolerance

    def enforce(self, actual: JointValues, desired: JointValues, dt: float) -> Enforced:
        """Return the command inside the limits, with the limits that acted; see Limiter.

        Raises:
            LimitsError: `dt` is not positive and finite; or a position is commanded, and its state is outside the hard
                range by more than the tolerance, or unknown while a maximum velocity is to be kept.
        """
        if not 0.0 < dt < inf:
            raise LimitsError("must be positive and finite", key="dt", value=dt, bound=0.0)
        self._check_sizes(actual, desired)
        results: dict[str, Floats] = {}
        reasons: Reasons = {}
        with np.errstate(all="ignore"):
            state = Situation(len(self.names), finite(actual.position), finite(actual.velocity), self._last, dt)
            for interface in INTERFACES:
                wanted = getattr(desired, interface)
                if wanted is not None:
                    results[interface] = self._limit(interface, wanted, state, reasons)
            self._last = {interface: self._remembered(interface, result) for interface, result in results.items()}
        limited = np.zeros(len(self.names), dtype=bool)
        for codes in reasons.values():
            limited |= codes != 0
        return Enforced(JointValues(**results), limited, reasons)

    def _limit(self, interface: str, wanted: Floats, state: Situation, reasons: Reasons) -> Floats:
        """Return one interface of a command inside its bounds, and note what acted."""
        span = self._span(interface, wanted, state)
        result: Floats = np.maximum(wanted, span.lower)
        np.minimum(result, span.upper, out=result)
        changed = result != wanted
        if changed.any() and (codes := explain(wanted, result, changed, span.causes)) is not None:
            reasons[interface] = codes
        return result

    def _remembered(self, interface: str, result: Floats) -> Floats:
        """Return the command with the last one where it is not finite.

        An interface that is not commanded is forgotten: its joints move meanwhile.
        """
        if all_finite(result):
            return result.copy()
        return np.where(np.isfinite(result), result, self._last.get(interface, np.nan))

    def configure(self, state: JointValues) -> None:
        """Take the finite values of a state as the last command."""
        self._check_sizes(state)
        with np.errstate(over="ignore"):
            given = {interface: finite(getattr(state, interface)) for interface in INTERFACES}
        self._last = {interface: values.copy() for interface, values in given.items() if values is not None}

    def reset(self) -> None:
        """Forget the last command."""
        self._last = {}

    def _span(self, interface: str, wanted: Floats, state: Situation) -> Span:
        """Return the bounds of one interface."""
        match interface:
            case "position":
                return self._position(wanted, state)
            case "velocity":
                return self._velocity(state)
            case "effort":
                return self._effort(state)
            case "acceleration":
                return self._acceleration(wanted, state)
            case _:
                return self.hard.by_jerk

    def _position(self, wanted: Floats, state: Situation) -> Span:
        hard = self.hard
        self._refuse_outside(wanted, state)
        lower, upper = hard.lower, hard.upper
        causes = [Cause(HARD_POSITION, lower, upper)]
        if hard.any_velocity:
            reference = np.minimum(np.maximum(self._reference(wanted, state), lower), upper)
            step = self._reach(state)
            lower, upper = np.fmax(lower, reference - step), np.fmin(upper, reference + step)
            causes.append(Cause(MAX_VELOCITY, lower, upper))
        return Span(lower, upper, tuple(causes))

    def _refuse_outside(self, wanted: Floats, state: Situation) -> None:
        """Refuse a position command where the state is too far outside the hard range."""
        if state.position is None or not self.hard.any_position:
            return
        outside = (state.position < self.outermost[0]) | (state.position > self.outermost[1])
        if outside.any() and (outside := outside & ~np.isnan(wanted)).any():
            at = int(outside.argmax())
            bound = (float(self.hard.lower[at]), float(self.hard.upper[at]))
            raise LimitsError(
                "is outside the hard range, so no position can be commanded",
                joint=self.names[at],
                key="position",
                value=float(state.position[at]),
                bound=bound,
            )

    def _reference(self, wanted: Floats, state: Situation) -> Floats:
        """Return from where the next position is reached: the last command, else the state."""
        reference = known_or(state.last.get("position"), state.position, state.joints)
        if all_finite(reference):
            return reference
        unknown = self.hard.has_velocity & np.isnan(reference) & ~np.isnan(wanted)
        if unknown.any():
            joint = self.names[int(unknown.argmax())]
            raise LimitsError("is not known, so max_velocity cannot be kept", joint=joint, key="position")
        return reference

    def _reach(self, state: Situation) -> Floats:
        """Return how far a joint may move in this step; an unknown velocity counts as standstill."""
        hard = self.hard
        if not hard.any_acceleration:
            return hard.velocity * state.dt
        gained = hard.acceleration * state.dt
        speed = gained if state.velocity is None else np.fmax(np.abs(state.velocity), 0.0) + gained
        speed = np.minimum(hard.velocity, speed) * state.dt
        return speed if hard.all_velocity else np.where(hard.has_velocity, speed, np.inf)

    def _velocity(self, state: Situation) -> Span:
        return self._accelerated(self._velocity_range(state), state)

    def _velocity_range(self, state: Situation) -> Span:
        """Return the velocities that the maximum and the hard range allow."""
        hard = self.hard
        span = hard.by_velocity
        if not hard.any_position:
            return span
        low, high, unknown = self._rooms(state, hard.lower, hard.upper, hard.has_position)
        causes = (*unknown, *span.causes, Cause(HARD_POSITION, low, high))
        return Span(np.maximum(span.lower, low), np.minimum(span.upper, high), causes)

    def _rooms(
        self, state: Situation, lower: Floats, upper: Floats, on: Bools
    ) -> tuple[Floats, Floats, tuple[Cause, ...]]:
        """Return the velocities that end inside a range, from beyond it none outwards; an unknown position allows 0."""
        position = state.known_position()
        low = np.fmin((lower - position) / state.dt, 0.0)
        high = np.fmax((upper - position) / state.dt, 0.0)
        if on is not self.hard.has_position or not self.hard.all_position:
            low, high = np.where(on, low, -np.inf), np.where(on, high, np.inf)
        return low, high, () if all_finite(position) else self._unknown(on & np.isnan(position))

    def _accelerated(self, span: Span, state: Situation) -> Span:
        """Narrow velocity bounds to what the acceleration allows since the last command, but never leave them."""
        hard = self.hard
        if not hard.any_acceleration:
            return span
        last = known_or(state.last.get("velocity"), state.velocity, state.joints)
        if not all_finite(last):
            last = np.where(np.isnan(last), 0.0, last)
        change = hard.acceleration * state.dt
        lower, upper = last - change, last + change
        for bound in (lower, upper):
            np.minimum(np.maximum(bound, span.lower, out=bound), span.upper, out=bound)
        return Span(lower, upper, (*span.causes, Cause(MAX_ACCELERATION, lower, upper)))

    def _effort(self, state: Situation) -> Span:
        hard = self.hard
        span = hard.by_effort
        position, velocity = state.known_position(), state.known_velocity()
        if hard.any_position and not ((position > hard.lower) & (position < hard.upper)).all():
            unknown = hard.has_position & np.isnan(position)
            low = unknown | ((position <= hard.lower) & ~(velocity > 0.0))
            high = unknown | ((position >= hard.upper) & ~(velocity < 0.0))
            span = self._without(span, HARD_POSITION, low, high, unknown)
        if hard.any_velocity and not (np.abs(velocity) <= hard.velocity).all():
            unknown = hard.has_velocity & np.isnan(velocity)
            low, high = unknown | (velocity < -hard.velocity), unknown | (velocity > hard.velocity)
            span = self._without(span, MAX_VELOCITY, low, high, unknown)
        return span

    def _without(self, span: Span, reason: int, low: Bools, high: Bools, unknown: Bools) -> Span:
        """Return the bounds without negative values where `low`, without positive ones where `high`."""
        lower, upper = np.where(low, 0.0, span.lower), np.where(high, 0.0, span.upper)
        cause = Cause(reason, np.where(low, 0.0, np.nan), np.where(high, 0.0, np.nan))
        return Span(lower, upper, (*self._unknown(unknown), cause, *span.causes))

    def _acceleration(self, wanted: Floats, state: Situation) -> Span:
        hard = self.hard
        span = hard.by_acceleration
        if not hard.any_slowing:
            return span
        velocity = state.known_velocity()
        most = np.where(np.sign(wanted) * velocity < 0.0, hard.slowing, hard.acceleration)
        if not all_finite(velocity):
            most = np.where(np.isnan(velocity), hard.unsure, most)
        return Span(-most, most, span.causes)

    @staticmethod
    def _unknown(where: Bools) -> tuple[Cause, ...]:
        """Return the cause of a standstill that an unknown state demands, if any joint has to."""
        if not where.any():
            return ()
        zero = np.where(where, 0.0, np.nan)
        return (Cause(UNKNOWN_STATE, zero, zero),)
