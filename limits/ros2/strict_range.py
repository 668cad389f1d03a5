"""The range limiter by default: an unknown state is never a licence, nothing leaves a hard bound, reasons are given."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from limits.errors import LimitsError
from limits.ros2.arrays import INTERFACES, Bools, Floats, JointValues
from limits.ros2.helpers import STATE_TOLERANCE
from limits.ros2.limiter import Enforced, Limiter
from limits.ros2.reasons import Reason
from limits.ros2.records import JointLimits
from limits.ros2.strict import Cause, Span, StrictLimits, explain, filled, finite, symmetric

POSITION, VELOCITY = INTERFACES.index("position"), INTERFACES.index("velocity")


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known when a command comes: finite states (NaN = unknown), last commands, seconds since the last one."""

    position: Floats | None
    velocity: Floats | None
    last: Floats
    dt: float

    @property
    def known_position(self) -> Floats:
        """The position state, else NaN: a command does not tell where a joint is."""
        return np.full(self.last.shape[1], np.nan) if self.position is None else self.position

    @property
    def known_velocity(self) -> Floats:
        """The velocity state, else NaN."""
        return np.full(self.last.shape[1], np.nan) if self.velocity is None else self.velocity


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
        state = Situation(finite(actual.position), finite(actual.velocity), self.memory.values, dt)
        results: dict[str, Floats] = {}
        reasons = {}
        limited = np.zeros(len(self.names), dtype=bool)
        with np.errstate(all="ignore"):
            for interface in INTERFACES:
                wanted = getattr(desired, interface)
                if wanted is None:
                    continue
                span = self._span(interface, wanted, state)
                result = np.minimum(np.maximum(wanted, span.lower), span.upper)
                results[interface] = result
                changed = (result < wanted) | (result > wanted)
                if changed.any():
                    limited |= changed
                    reasons[interface] = explain(wanted, result, span.causes)
        self._remember(results)
        return Enforced(JointValues(**results), limited, reasons)

    def _remember(self, results: dict[str, Floats]) -> None:
        """Keep finite commands; forget an interface that is no longer commanded, its joints have moved since."""
        for row, interface in enumerate(INTERFACES):
            if interface in results:
                np.copyto(self.memory.values[row], results[interface], where=np.isfinite(results[interface]))
            else:
                self.memory.values[row] = np.nan

    def configure(self, state: JointValues) -> None:
        """Take the finite values of a state as the last command."""
        self._check_sizes(state)
        for row, interface in enumerate(INTERFACES):
            given = finite(getattr(state, interface))
            self.memory.values[row] = np.nan if given is None else given

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
                return symmetric(Reason.MAX_JERK, self.hard.jerk)

    def _position(self, wanted: Floats, state: Situation) -> Span:
        hard = self.hard
        self._refuse_outside(wanted, state)
        lower, upper = hard.lower, hard.upper
        causes = [Cause(Reason.HARD_POSITION, lower, upper)]
        if hard.any_velocity:
            reference = np.clip(self._reference(wanted, state), lower, upper)
            step = self._reach(state)
            lower, upper = np.fmax(lower, reference - step), np.fmin(upper, reference + step)
            causes.append(Cause(Reason.MAX_VELOCITY, lower, upper))
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
        reference = filled(state.last[POSITION], state.position)
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
        return np.where(hard.has_velocity, np.minimum(hard.velocity, speed), np.inf) * state.dt

    def _velocity(self, state: Situation) -> Span:
        return self._accelerated(self._velocity_range(state), state)

    def _velocity_range(self, state: Situation) -> Span:
        """Return the velocities that the maximum and the hard range allow."""
        hard = self.hard
        lower, upper = -hard.velocity, hard.velocity
        causes = [Cause(Reason.MAX_VELOCITY, lower, upper)]
        if hard.any_position:
            low, high, unknown = self._rooms(state, hard.lower, hard.upper, hard.has_position)
            lower, upper = np.maximum(lower, low), np.minimum(upper, high)
            causes = [*unknown, *causes, Cause(Reason.HARD_POSITION, low, high)]
        return Span(lower, upper, tuple(causes))

    def _rooms(
        self, state: Situation, lower: Floats, upper: Floats, on: Bools
    ) -> tuple[Floats, Floats, tuple[Cause, ...]]:
        """Return the velocities that end inside a range, from beyond it none outwards; an unknown position allows 0."""
        position = state.known_position
        low = np.fmin((lower - position) / state.dt, 0.0)
        high = np.fmax((upper - position) / state.dt, 0.0)
        if not on.all():
            low, high = np.where(on, low, -np.inf), np.where(on, high, np.inf)
        return low, high, self._unknown(on & np.isnan(position))

    def _accelerated(self, span: Span, state: Situation) -> Span:
        """Narrow velocity bounds to what the acceleration allows since the last command, but never leave them."""
        hard = self.hard
        if not hard.any_acceleration:
            return span
        last = filled(state.last[VELOCITY], state.velocity)
        last = np.where(np.isnan(last), 0.0, last)
        change = hard.acceleration * state.dt
        lower = np.minimum(np.maximum(last - change, span.lower), span.upper)
        upper = np.minimum(np.maximum(last + change, span.lower), span.upper)
        return Span(lower, upper, (*span.causes, Cause(Reason.MAX_ACCELERATION, lower, upper)))

    def _effort(self, state: Situation) -> Span:
        hard = self.hard
        lower, upper = -hard.effort, hard.effort
        causes = [Cause(Reason.MAX_EFFORT, lower, upper)]
        velocity = state.known_velocity
        if hard.any_position:
            position = state.known_position
            unknown = hard.has_position & np.isnan(position)
            low = np.where(unknown | ((position <= hard.lower) & ~(velocity > 0.0)), 0.0, -np.inf)
            high = np.where(unknown | ((position >= hard.upper) & ~(velocity < 0.0)), 0.0, np.inf)
            causes = [*self._unknown(unknown), Cause(Reason.HARD_POSITION, low, high), *causes]
            lower, upper = np.maximum(lower, low), np.minimum(upper, high)
        if hard.any_velocity:
            unknown = hard.has_velocity & np.isnan(velocity)
            low = np.where(unknown | (velocity < -hard.velocity), 0.0, -np.inf)
            high = np.where(unknown | (velocity > hard.velocity), 0.0, np.inf)
            causes = [*self._unknown(unknown), *causes, Cause(Reason.MAX_VELOCITY, low, high)]
            lower, upper = np.maximum(lower, low), np.minimum(upper, high)
        return Span(lower, upper, tuple(causes))

    def _acceleration(self, wanted: Floats, state: Situation) -> Span:
        hard = self.hard
        velocity = state.known_velocity
        against = wanted * velocity < 0.0
        most = np.where(against, hard.slowing, np.where(np.isnan(velocity), hard.unsure, hard.acceleration))
        span = symmetric(Reason.MAX_ACCELERATION, most)
        slowing = np.where(against, hard.slowing, np.nan)
        return span._replace(causes=(Cause(Reason.MAX_DECELERATION, -slowing, slowing), *span.causes))

    @staticmethod
    def _unknown(where: Bools) -> tuple[Cause, ...]:
        """Return the cause of a standstill that an unknown state demands, if any joint has to."""
        if not where.any():
            return ()
        zero = np.where(where, 0.0, np.nan)
        return (Cause(Reason.UNKNOWN_STATE, zero, zero),)
