"""The range limiter by default: an unknown state is never a licence, nothing leaves a hard bound, reasons are given."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from limits.errors import LimitsError
from limits.ros2.arrays import INTERFACES, ZERO, Bools, Floats, JointValues, all_true, any_true, quantities
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
    Known,
    Span,
    StrictLimits,
    all_finite,
    explain,
)


class Situation(NamedTuple):
    """What is known when a command comes: states, last commands, seconds since the last one."""

    position: Known
    velocity: Known
    last: dict[str, Floats]
    dt: Floats
    """An array of shape (): a plain number would have to be made one each time."""

    def reference(self, interface: str, state: Known) -> Known:
        """Return the last command and, where there is none, the state."""
        last = self.last.get(interface)
        if last is None:
            return state
        if all_finite(last):
            return Known(last, everywhere=True)
        return Known(np.where(np.isnan(last), state.values, last), everywhere=False)


def rooms(
    state: Situation, lower: Floats, upper: Floats, on: Bools, gain: Floats | None = None
) -> tuple[Floats, Floats, tuple[Cause, ...]]:
    """Return the velocities that end inside a range, from beyond it none outwards; an unknown position allows 0.

    With a `gain` (1/s, above 0) they are also at most that times the way to the end. The ends are infinite where the
    range is not `on`, which already makes the velocities of known positions so.
    """
    position, everywhere = state.position
    to_lower, to_upper = lower - position, upper - position
    low, high = to_lower / state.dt, to_upper / state.dt
    if gain is not None:
        low, high = np.fmax(low, gain * to_lower), np.fmin(high, gain * to_upper)
    low, high = np.fmin(low, ZERO), np.fmax(high, ZERO)
    if everywhere:
        return low, high, ()
    return np.where(on, low, -np.inf), np.where(on, high, np.inf), standstill(on & np.isnan(position))


def standstill(where: Bools) -> tuple[Cause, ...]:
    """Return the cause of a standstill that an unknown state demands, if any joint has to."""
    if not any_true(where):
        return ()
    zero = np.where(where, 0.0, np.nan)
    return (Cause(UNKNOWN_STATE, zero, zero),)


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
        self._no_state = Known(np.full(len(limits), np.nan), everywhere=False)
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
        remembered: dict[str, Floats] = {}
        with np.errstate(all="ignore"):
            state = Situation(self._known(actual.position), self._known(actual.velocity), self._last, np.array(dt))
            for interface, wanted in zip(INTERFACES, quantities(desired), strict=True):
                if wanted is None:
                    continue
                span = self._span(interface, wanted, state)
                results[interface] = result = np.minimum(np.maximum(wanted, span.lower), span.upper)
                certain = all_finite(result)
                remembered[interface] = result.copy() if certain else self._remembered(interface, result)
                codes = explain(wanted, result, span.causes, certain=certain)
                if codes is not None:
                    reasons[interface] = codes
        self._last = remembered
        limited = np.zeros(len(self.names), dtype=bool)
        for codes in reasons.values():
            limited |= codes.astype(bool)
        return Enforced(JointValues(**results), limited, reasons)

    def _known(self, values: Floats | None) -> Known:
        return self._no_state if values is None else Known.of(values)

    def _remembered(self, interface: str, result: Floats) -> Floats:
        """Return the command with the last one where it is not finite.

        An interface that is not commanded is forgotten: its joints move meanwhile.
        """
        return np.where(np.isfinite(result), result, self._last.get(interface, np.nan))

    def configure(self, state: JointValues) -> None:
        """Take the finite values of a state as the last command."""
        self._check_sizes(state)
        with np.errstate(over="ignore"):
            given = {interface: getattr(state, interface) for interface in INTERFACES}
            known = {interface: Known.of(values).values for interface, values in given.items() if values is not None}
        self._last = {interface: values.copy() for interface, values in known.items()}

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
        position = state.position.values
        outside = (position < self.outermost[0]) | (position > self.outermost[1])
        if any_true(outside) and any_true(outside := outside & ~np.isnan(wanted)):
            at = int(outside.argmax())
            bound = (float(self.hard.lower[at]), float(self.hard.upper[at]))
            raise LimitsError(
                "is outside the hard range, so no position can be commanded",
                joint=self.names[at],
                key="position",
                value=float(position[at]),
                bound=bound,
            )

    def _reference(self, wanted: Floats, state: Situation) -> Floats:
        """Return from where the next position is reached: the last command, else the state."""
        reference, everywhere = state.reference("position", state.position)
        if everywhere:
            return reference
        unknown = self.hard.has_velocity & np.isnan(reference) & ~np.isnan(wanted)
        if any_true(unknown):
            joint = self.names[int(unknown.argmax())]
            raise LimitsError("is not known, so max_velocity cannot be kept", joint=joint, key="position")
        return reference

    def _reach(self, state: Situation) -> Floats:
        """Return how far a joint may move in this step; an unknown velocity counts as standstill."""
        hard = self.hard
        if not hard.any_acceleration:
            return hard.velocity * state.dt
        speed = np.abs(state.velocity.values)
        if not state.velocity.everywhere:
            speed = np.fmax(speed, ZERO)
        speed = np.minimum(hard.velocity, speed + hard.acceleration * state.dt) * state.dt
        return speed if hard.all_velocity else np.where(hard.has_velocity, speed, np.inf)

    def _velocity(self, state: Situation) -> Span:
        return self._accelerated(self._velocity_range(state), state)

    def _velocity_range(self, state: Situation) -> Span:
        """Return the velocities that the maximum and the hard range allow."""
        hard = self.hard
        span = hard.by_velocity
        if not hard.any_position:
            return span
        low, high, unknown = rooms(state, hard.lower, hard.upper, hard.has_position)
        causes = (*unknown, *span.causes, Cause(HARD_POSITION, low, high))
        return Span(np.maximum(span.lower, low), np.minimum(span.upper, high), causes)

    def _accelerated(self, span: Span, state: Situation) -> Span:
        """Narrow velocity bounds to what the acceleration allows since the last command, but never leave them."""
        hard = self.hard
        if not hard.any_acceleration:
            return span
        last, everywhere = state.reference("velocity", state.velocity)
        if not everywhere:
            last = np.where(np.isnan(last), 0.0, last)
        change = hard.acceleration * state.dt
        lower, upper = last - change, last + change
        for bound in (lower, upper):
            np.minimum(np.maximum(bound, span.lower, out=bound), span.upper, out=bound)
        return Span(lower, upper, (*span.causes, Cause(MAX_ACCELERATION, lower, upper)))

    def _effort(self, state: Situation) -> Span:
        hard = self.hard
        span = hard.by_effort
        position, velocity = state.position.values, state.velocity.values
        if hard.any_position and not all_true((position > hard.lower) & (position < hard.upper)):
            unknown = hard.has_position & np.isnan(position)
            low = unknown | ((position <= hard.lower) & ~(velocity > 0.0))
            high = unknown | ((position >= hard.upper) & ~(velocity < 0.0))
            span = self._without(span, HARD_POSITION, low, high, unknown)
        if hard.any_velocity and not all_true(np.abs(velocity) <= hard.velocity):
            unknown = hard.has_velocity & np.isnan(velocity)
            low, high = unknown | (velocity < -hard.velocity), unknown | (velocity > hard.velocity)
            span = self._without(span, MAX_VELOCITY, low, high, unknown)
        return span

    def _without(self, span: Span, reason: int, low: Bools, high: Bools, unknown: Bools) -> Span:
        """Return the bounds without negative values where `low`, without positive ones where `high`."""
        lower, upper = np.where(low, 0.0, span.lower), np.where(high, 0.0, span.upper)
        cause = Cause(reason, np.where(low, 0.0, np.nan), np.where(high, 0.0, np.nan))
        return Span(lower, upper, (*standstill(unknown), cause, *span.causes))

    def _acceleration(self, wanted: Floats, state: Situation) -> Span:
        hard = self.hard
        span = hard.by_acceleration
        if not hard.any_slowing:
            return span
        velocity, everywhere = state.velocity
        most = np.where(np.sign(wanted) * velocity < ZERO, hard.slowing, hard.acceleration)
        if not everywhere:
            most = np.where(np.isnan(velocity), hard.unsure, most)
        return Span(-most, most, span.causes)
