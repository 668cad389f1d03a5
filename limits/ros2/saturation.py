"""The saturation limiter: one trajectory point of n joints that brake together; no memory."""

from dataclasses import dataclass, replace

import numpy as np

from limits.ros2.arithmetic import clamp, smaller
from limits.ros2.arrays import Bools, Floats, LimitTable
from limits.ros2.reasons import Reason, ReasonCodes

ZERO = 1e-10
"""Velocities, accelerations and differences of position up to this count as 0."""


@dataclass(frozen=True, slots=True)
class TrajectoryPoint:
    """One point of a trajectory: arrays of n joints; None = not given."""

    positions: Floats | None = None
    velocities: Floats | None = None
    accelerations: Floats | None = None


@dataclass(slots=True)
class _Motion:
    """The command being worked on, from which state, in how many seconds."""

    position: Floats
    velocity: Floats
    acceleration: Floats
    from_position: Floats
    from_velocity: Floats
    dt: float
    codes: ReasonCodes

    def blame(self, reason: Reason, where: Bools) -> None:
        """Note the limit that acted; a later one replaces an earlier one."""
        self.codes[where] = reason

    def integrate(self, where: Bools, *, position: bool) -> None:
        """Make velocity and position what the acceleration leads to."""
        self.velocity = np.where(where, self.from_velocity + self.acceleration * self.dt, self.velocity)
        if position:
            travelled = self.from_velocity * self.dt + 0.5 * self.acceleration * self.dt * self.dt
            self.position = np.where(where, self.from_position + travelled, self.position)


def saturate(
    limits: LimitTable,
    current: TrajectoryPoint,
    desired: TrajectoryPoint,
    dt: float,
    *,
    corrected: bool = False,
    literal: bool = False,
) -> tuple[TrajectoryPoint, ReasonCodes]:
    """Return the point inside the limits, and for each joint the limit that acted last.

    The result is `desired` itself for `dt` <= 0, without a position state, or with neither positions nor
    velocities. `corrected` mends two defects of the reference: a velocity of 0 that becomes a motion towards
    position 0, and braking that starts later before the lower limit than before the upper. With `literal` a
    commanded velocity of 0 stands also beside positions, instead of being worked out from them.
    """
    joints = len(limits.min_position)
    if dt <= 0.0 or current.positions is None or (desired.positions is None and desired.velocities is None):
        return desired, np.zeros(joints, dtype=np.uint8)
    motion = _start(current, desired, dt, joints)
    by_position = desired.positions is not None
    derive = not (literal and desired.velocities is not None) and (by_position or not corrected)
    with np.errstate(all="ignore"):
        if by_position:
            _limit_position(limits, motion, derive=derive)
        _limit_velocity(limits, motion, by_position=by_position, derive=derive)
        _limit_acceleration(limits, motion, by_position=by_position)
        if not by_position:
            _limit_next_position(limits, motion)
        if _must_brake(limits, motion, symmetric=corrected).any():
            _brake(limits, motion, position=by_position)
    return _given(desired, motion), motion.codes


def _start(current: TrajectoryPoint, desired: TrajectoryPoint, dt: float, joints: int) -> _Motion:
    """Return the command as it is given, with 0 for what is not."""
    zeros = np.zeros(joints)
    return _Motion(
        position=zeros if desired.positions is None else desired.positions,
        velocity=zeros if desired.velocities is None else desired.velocities,
        acceleration=zeros if desired.accelerations is None else desired.accelerations,
        from_position=zeros if current.positions is None else current.positions,
        from_velocity=zeros if current.velocities is None else current.velocities,
        dt=dt,
        codes=np.zeros(joints, dtype=np.uint8),
    )


def _given(desired: TrajectoryPoint, motion: _Motion) -> TrajectoryPoint:
    """Return the kinds that were commanded, as they are now."""
    return replace(
        desired,
        positions=None if desired.positions is None else motion.position,
        velocities=None if desired.velocities is None else motion.velocity,
        accelerations=None if desired.accelerations is None else motion.acceleration,
    )


def _limit_position(limits: LimitTable, motion: _Motion, *, derive: bool) -> None:
    clamped = clamp(motion.position, limits.min_position, limits.max_position)
    on = limits.has_position_limits
    motion.blame(Reason.HARD_POSITION, on & (clamped != motion.position))
    motion.position = np.where(on, clamped, motion.position)
    if not derive:
        return
    difference = motion.position - motion.from_position
    unset = (np.abs(difference) > ZERO) & (np.abs(motion.velocity) <= ZERO)
    motion.velocity = np.where(unset, difference / motion.dt, motion.velocity)


def _limit_velocity(limits: LimitTable, motion: _Motion, *, by_position: bool, derive: bool) -> None:
    on = limits.has_velocity_limits
    if derive:
        unset = on & ((np.abs(motion.velocity) <= ZERO) | np.isnan(motion.velocity))
        motion.velocity = np.where(unset, (motion.position - motion.from_position) / motion.dt, motion.velocity)
    over = on & (np.abs(motion.velocity) > limits.max_velocity)
    motion.blame(Reason.MAX_VELOCITY, over)
    motion.velocity = np.where(over, np.copysign(limits.max_velocity, motion.velocity), motion.velocity)
    if by_position:
        motion.position = np.where(over, motion.from_position + motion.velocity * motion.dt, motion.position)
    change = (motion.velocity - motion.from_velocity) / motion.dt
    motion.acceleration = np.where(over, change, motion.acceleration)


def _limit_acceleration(limits: LimitTable, motion: _Motion, *, by_position: bool) -> None:
    on = limits.has_acceleration_limits | limits.has_deceleration_limits
    unset = on & ((np.abs(motion.acceleration) <= ZERO) | np.isnan(motion.acceleration))
    change = (motion.velocity - motion.from_velocity) / motion.dt
    acceleration = np.where(unset, change, motion.acceleration)
    against = ((acceleration < 0.0) & (motion.from_velocity > 0.0)) | (
        (acceleration > 0.0) & (motion.from_velocity < 0.0)
    )
    accelerating = np.where(limits.has_acceleration_limits, limits.max_acceleration, np.inf)
    slowing = against & limits.has_deceleration_limits
    most = np.where(slowing, limits.max_deceleration, accelerating)
    over = np.abs(acceleration) > most
    motion.blame(Reason.MAX_ACCELERATION, over & ~slowing)
    motion.blame(Reason.MAX_DECELERATION, over & slowing)
    motion.acceleration = np.where(over, np.copysign(most, acceleration), acceleration)
    motion.integrate(over, position=by_position)


def _limit_next_position(limits: LimitTable, motion: _Motion) -> None:
    following = motion.from_position + motion.velocity * motion.dt
    clamped = clamp(following, limits.min_position, limits.max_position)
    over = limits.has_position_limits & (clamped != following)
    motion.blame(Reason.HARD_POSITION, over)
    motion.velocity = np.where(over, (clamped - motion.from_position) / motion.dt, motion.velocity)


def _must_brake(limits: LimitTable, motion: _Motion, *, symmetric: bool) -> Bools:
    """Tell which joints move towards an end that is nearer than their stopping distance."""
    velocity = motion.velocity
    accelerating = np.where(limits.has_acceleration_limits, limits.max_acceleration, np.abs(velocity / motion.dt))
    deceleration = np.where(limits.has_deceleration_limits, limits.max_deceleration, accelerating)
    stopping = np.abs(velocity * velocity / (2.0 * deceleration))
    travelled = velocity * np.abs(velocity / deceleration)
    if symmetric:
        travelled = np.abs(travelled)
    to_lower = motion.from_position - limits.min_position
    to_upper = limits.max_position - motion.from_position
    towards_lower = (velocity < 0.0) & ((to_lower < stopping) | (to_lower < travelled))
    towards_upper = (velocity > 0.0) & ((to_upper < stopping) | (to_upper < travelled))
    return limits.has_position_limits & (towards_lower | towards_upper)


def _brake(limits: LimitTable, motion: _Motion, *, position: bool) -> None:
    """Slow all joints down together, each with its own deceleration at most."""
    wanted = -motion.from_velocity / motion.dt
    most = np.where(limits.has_acceleration_limits, limits.max_acceleration, np.inf)
    most = np.where(limits.has_deceleration_limits, limits.max_deceleration, most)
    motion.acceleration = np.copysign(smaller(np.abs(wanted), most), wanted)
    everywhere = np.ones(len(wanted), dtype=bool)
    motion.integrate(everywhere, position=position)
    motion.blame(Reason.GROUP_BRAKE, everywhere)
