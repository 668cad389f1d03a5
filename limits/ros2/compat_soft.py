"""The soft limiter as the reference has it, defects included, over n joints at once."""

from collections.abc import Sequence
from math import pi

import numpy as np

from limits.errors import LimitsError
from limits.ros2.arithmetic import clamp, larger, smaller
from limits.ros2.arrays import Floats, JointValues, SoftTable
from limits.ros2.compat_range import CompatRangeLimiter
from limits.ros2.helpers import POSITION_TOLERANCE, Bounds
from limits.ros2.records import JointLimits, SoftJointLimits

RETURN_VELOCITY = pi / 180.0
"""Speed at which a joint outside its soft range is brought back (rad/s or m/s)."""


class CompatSoftLimiter(CompatRangeLimiter):
    """The range limiter, with velocity bounds that close towards the soft ends and effort bounds that follow them."""

    def __init__(
        self, limits: Sequence[JointLimits], soft: Sequence[SoftJointLimits], names: Sequence[str] | None = None
    ) -> None:
        super().__init__(limits, names)
        if len(soft) != len(self.names):
            raise LimitsError("names and soft limits differ in count", value=len(soft), bound=len(self.names))
        self.soft = SoftTable.of(soft)

    def _bounds(self, actual: JointValues, desired: JointValues, dt: float) -> dict[str, Bounds]:
        last = self.memory.values[0]
        known = self.memory.known[0] & np.isfinite(last)
        state = actual.position
        position = np.where(known, last, np.inf) if state is None else state
        reference = np.where(known, last, np.inf if state is None else state)
        slow = self._velocities(position, reference)
        bounds: dict[str, Bounds] = {}
        for interface, hard in super()._bounds(actual, desired, dt).items():
            match interface:
                case "position":
                    bounds[interface] = self._position(hard, slow, reference, dt)
                case "velocity":
                    bounds[interface] = lower, upper = self._velocity(hard, slow, actual.velocity, dt)
                    skipped = np.isnan(getattr(desired, interface))
                    slow = np.where(skipped, slow[0], lower), np.where(skipped, slow[1], upper)
                case "effort":
                    bounds[interface] = self._effort(hard, slow, actual.velocity)
                case _:
                    bounds[interface] = hard
        return bounds

    def _velocities(self, position: Floats, reference: Floats) -> Bounds:
        """Return the soft velocity bounds at a position state, judged from the last position command."""
        table, soft = self.table, self.soft
        fastest = table.max_velocity
        lower = clamp(-soft.k_position * (reference - soft.min_position), -fastest, fastest)
        upper = clamp(-soft.k_position * (reference - soft.max_position), -fastest, fastest)
        back = (position < soft.min_position) | (position > soft.max_position)
        stop = (position < table.min_position - POSITION_TOLERANCE) | (
            position > table.max_position + POSITION_TOLERANCE
        )
        stop &= np.isfinite(position)
        lower = np.where(stop, 0.0, np.where(back, np.copysign(RETURN_VELOCITY, lower), lower))
        upper = np.where(stop, 0.0, np.where(back, np.copysign(RETURN_VELOCITY, upper), upper))
        applies = table.has_position_limits & soft.has_soft_limits & np.isfinite(reference)
        largest = np.where(table.has_velocity_limits, fastest, np.inf)
        applies &= table.has_velocity_limits
        return np.where(applies, lower, -largest), np.where(applies, upper, largest)

    def _position(self, hard: Bounds, slow: Bounds, reference: Floats, dt: float) -> Bounds:
        """Return the soft range and what can be reached in it, inside the hard bounds unless that is empty."""
        soft = self.soft
        lowest = np.where(soft.has_soft_position_limits, soft.min_position, -np.inf)
        highest = np.where(soft.has_soft_position_limits, soft.max_position, np.inf)
        moves = self.table.has_velocity_limits & np.isfinite(reference)
        lower = np.where(moves, clamp(reference + slow[0] * dt, lowest, highest), lowest)
        upper = np.where(moves, clamp(reference + slow[1] * dt, lower, highest), highest)
        inner = larger(lower, hard[0]), smaller(upper, hard[1])
        empty = inner[0] > inner[1]
        return np.where(empty, lower, inner[0]), np.where(empty, upper, inner[1])

    def _velocity(self, hard: Bounds, slow: Bounds, velocity: Floats | None, dt: float) -> Bounds:
        """Return the soft velocity bounds, narrowed by the acceleration and by the hard bounds."""
        table = self.table
        lower, upper = slow
        if velocity is not None:
            applies = table.has_velocity_limits & table.has_acceleration_limits
            change = table.max_acceleration * dt
            lower = np.where(applies, larger(velocity - change, lower), lower)
            upper = np.where(applies, smaller(velocity + change, upper), upper)
        return larger(lower, hard[0]), smaller(upper, hard[1])

    def _effort(self, hard: Bounds, slow: Bounds, velocity: Floats | None) -> Bounds:
        """Return the efforts that keep the velocity inside its soft bounds."""
        if velocity is None:
            return hard
        gain, most = self.soft.k_velocity, self.table.max_effort
        applies = self.table.has_effort_limits & np.isfinite(gain)
        lower = larger(clamp(-gain * (velocity - slow[0]), -most, most), hard[0])
        upper = smaller(clamp(-gain * (velocity - slow[1]), -most, most), hard[1])
        return np.where(applies, lower, hard[0]), np.where(applies, upper, hard[1])
