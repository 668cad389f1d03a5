"""The range limiter as the reference has it, defects included, over n joints at once."""

from collections.abc import Sequence

import numpy as np

from limits.ros2.arithmetic import clamp
from limits.ros2.arrays import INTERFACES, Floats, JointValues, LimitTable
from limits.ros2.helpers import (
    Bounds,
    compute_acceleration_limits,
    compute_effort_limits,
    compute_position_limits,
    compute_velocity_limits,
    is_limited,
)
from limits.ros2.limiter import CommandMemory, Enforced, Limiter
from limits.ros2.records import JointLimits


class CompatRangeLimiter(Limiter):
    """Clamps every commanded quantity on its own; NaN commands pass, `dt` <= 0 changes nothing."""

    compat = True

    def __init__(self, limits: Sequence[JointLimits], names: Sequence[str] | None = None) -> None:
        super().__init__(limits, names)
        self.memory = CommandMemory(len(self.names))

    def _prepare(self, limits: Sequence[JointLimits]) -> None:
        self.table = LimitTable.of(limits)

    def configure(self, state: JointValues) -> None:
        """Take a state as the last command, as it is."""
        self._check_sizes(state)
        self.memory.configure(state)

    def reset(self) -> None:
        """Forget the last command."""
        self.memory = CommandMemory(len(self.names))

    def enforce(self, actual: JointValues, desired: JointValues, dt: float) -> Enforced:
        """Return the command inside the limits; see Limiter.

        Raises:
            LimitsError: a position is commanded, and a position state is outside its hard range.
        """
        self._check_sizes(actual, desired)
        limited = np.zeros(len(self.names), dtype=bool)
        if dt <= 0.0:
            return Enforced(desired, limited)
        with np.errstate(all="ignore"):
            self.memory.seed(actual, desired)
            bounds = self._bounds(actual, desired, dt)
            clamped = {}
            for interface, (lower, upper) in bounds.items():
                value = getattr(desired, interface)
                limited |= is_limited(value, lower, upper)
                clamped[interface] = np.where(np.isnan(value), value, clamp(value, lower, upper))
        result = JointValues(**clamped)
        self.memory.update_prev_command(result)
        return Enforced(result, limited)

    def _bounds(self, actual: JointValues, desired: JointValues, dt: float) -> dict[str, Bounds]:
        """Return the bounds of each commanded interface, in the order in which they are limited."""
        return {
            interface: self._bounds_of(interface, actual, desired, dt)
            for interface in INTERFACES
            if getattr(desired, interface) is not None
        }

    def _bounds_of(self, interface: str, actual: JointValues, desired: JointValues, dt: float) -> Bounds:
        """Return the bounds of one interface by the hard limits."""
        table, memory = self.table, self.memory
        wanted: Floats = getattr(desired, interface)
        match interface:
            case "position":
                checked = None if actual.position is None else np.where(np.isnan(wanted), np.nan, actual.position)
                return compute_position_limits(
                    table, actual.velocity, checked, memory.values[0], dt, prev_known=memory.known[0]
                )
            case "velocity":
                return compute_velocity_limits(
                    table, wanted, actual.position, memory.values[1], dt, prev_known=memory.known[1]
                )
            case "effort":
                return compute_effort_limits(table, actual.position, actual.velocity)
            case "acceleration":
                return compute_acceleration_limits(table, wanted, actual.velocity)
            case _:
                return -table.max_jerk, table.max_jerk
