"""The saturation limiter: one trajectory point of n joints that brake together; no memory."""

from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np

from limits.ros2.arithmetic import clamp, replaced, smaller
from limits.ros2.arrays import ZERO, Floats, LimitTable, all_true, any_true
from limits.ros2.reasons import Reason, ReasonCodes

HARD_POSITION = int(Reason.HARD_POSITION)
MAX_VELOCITY = int(Reason.MAX_VELOCITY)
MAX_ACCELERATION = int(Reason.MAX_ACCELERATION)
MAX_DECELERATION = int(Reason.MAX_DECELERATION)
GROUP_BRAKE = int(Reason.GROUP_BRAKE)

NEGLIGIBLE = 1e-10
"""Velocities, accelerations and differences of position up to this count as 0."""


class TrajectoryPoint(msgspec.Struct, frozen=True):
    """One point of a trajectory: arrays of n joints; None = not given."""

    positions: Floats | None = None
    velocities: Floats | None = None
    accelerations: Floats | None = None


@dataclass(slots=True)
class _Motion:
    """The command being worked on, from which state, in how many seconds; arrays are replaced, never written to."""

    position: Floats
    velocity: Floats
    acceleration: Floats
    from_position: Floats
    from_velocity: Floats
    dt: Floats
    codes: ReasonCodes
    """For each joint the limit that acted; a later one replaces an earlier one."""

    def take(self, point: TrajectoryPoint, zeros: Floats) -> None:
        """Take a point as the command, with 0 for what is not given."""
        self.position = zeros if point.positions is None else point.positions
        self.velocity = zeros if point.velocities is None else point.velocities
        self.acceleration = zeros if point.accelerations is None else point.accelerations

    def change(self) -> Floats:
        """Return the acceleration that leads to the velocity."""
        return (self.velocity - self.from_velocity) / self.dt

    def integrated(self) -> Floats:
        """Return the velocity that the acceleration leads to."""
        return self.from_velocity + self.acceleration * self.dt

    def travelled(self) -> Floats:
        """Return the position that the acceleration leads to."""
        return self.from_position + (self.from_velocity * self.dt + 0.5 * self.acceleration * self.dt * self.dt)


class _Rules(NamedTuple):
    """How a command is worked out: whether it has positions, whether velocities derive from them, and two more.

    `implied`: there is no acceleration but the one that the velocity implies. `symmetric`: braking starts equally
    early before both ends.
    """

    by_position: bool
    derive: bool
    implied: bool
    symmetric: bool


class _ToEnds(NamedTuple):
    """The ways to the ends of the hard range, and the shorter of both."""

    lower: Floats
    upper: Floats
    nearest: Floats


def saturate(
    limits: LimitTable,
    current: TrajectoryPoint,
    desired: TrajectoryPoint,
    dt: float,
    *,
    corrected: bool = False,
    literal: bool = False,
    again: bool = False,
) -> tuple[TrajectoryPoint, ReasonCodes]:
    """Return the point inside the limits, and for each joint the limit that acted last; `dt` in s.

    The result is `desired` itself where nothing had to be worked out, and for `dt` <= 0, without a position state, or
    with neither positions nor velocities. `corrected` mends two defects of the reference: a velocity of 0 that becomes
    a motion towards position 0, and braking that starts later before the lower limit than before the upper. With
    `literal` a commanded velocity of 0 stands also beside positions, instead of being worked out from them. With
    `again` a point that was changed is limited once more.
    """
    joints = len(limits.min_position)
    if dt <= 0.0 or current.positions is None or (desired.positions is None and desired.velocities is None):
        return desired, np.zeros(joints, dtype=np.uint8)
    zeros, x = np.zeros(joints), current.positions
    v = zeros if current.velocities is None else current.velocities
    motion = _Motion(zeros, zeros, zeros, x, v, np.array(dt), np.zeros(joints, dtype=np.uint8))
    motion.take(desired, zeros)
    by_position = desired.positions is not None
    derive = not (literal and desired.velocities is not None) and (by_position or not corrected)
    rules = _Rules(by_position, derive, desired.accelerations is None and limits.all_acceleration, corrected)
    with np.errstate(all="ignore"):
        to_lower, to_upper = x - limits.min_position, limits.max_position - x
        to_ends = _ToEnds(to_lower, to_upper, np.fmin(to_lower, to_upper))
        _limit(limits, motion, rules, to_ends)
        result = _given(desired, motion)
        if again and result is not desired:
            motion.take(result, zeros)
            _limit(limits, motion, rules, to_ends)
            result = _given(desired, motion)
    return result, motion.codes


def _limit(limits: LimitTable, motion: _Motion, rules: _Rules, to_ends: _ToEnds) -> None:
    """Limit position, velocity and acceleration in this order, then brake where the way `to_ends` is too short."""
    if rules.by_position:
        _limit_position(limits, motion, rules)
    _limit_velocity(limits, motion, rules)
    _limit_acceleration(limits, motion, rules)
    if not rules.by_position:
        _limit_next_position(limits, motion)
    if _must_brake(limits, motion, rules, to_ends):
        _brake(limits, motion, rules)


def _given(desired: TrajectoryPoint, motion: _Motion) -> TrajectoryPoint:
    """Return the kinds that were commanded, as they are now."""
    positions = None if desired.positions is None else motion.position
    velocities = None if desired.velocities is None else motion.velocity
    accelerations = None if desired.accelerations is None else motion.acceleration
    same = positions is desired.positions and velocities is desired.velocities
    if same and accelerations is desired.accelerations:
        return desired
    return TrajectoryPoint(positions, velocities, accelerations)


def _limit_position(limits: LimitTable, motion: _Motion, rules: _Rules) -> None:
    if not _inside(limits, motion.position):
        clamped = clamp(motion.position, limits.min_position, limits.max_position)
        over = limits.has_position_limits & (clamped != motion.position)
        np.putmask(motion.codes, over, HARD_POSITION)
        motion.position = replaced(motion.position, over, clamped)
    if not rules.derive:
        return
    difference = motion.position - motion.from_position
    unset = (np.abs(difference) > NEGLIGIBLE) & (np.abs(motion.velocity) <= NEGLIGIBLE)
    motion.velocity = np.where(unset, difference / motion.dt, motion.velocity)


def _limit_velocity(limits: LimitTable, motion: _Motion, rules: _Rules) -> None:
    if rules.derive:
        unset = limits.has_velocity_limits & ~(np.abs(motion.velocity) > NEGLIGIBLE)
        motion.velocity = np.where(unset, (motion.position - motion.from_position) / motion.dt, motion.velocity)
    over = np.abs(motion.velocity) > limits.fastest
    if not any_true(over):
        return
    np.putmask(motion.codes, over, MAX_VELOCITY)
    motion.velocity = replaced(motion.velocity, over, np.copysign(limits.fastest, motion.velocity))
    if rules.by_position:
        motion.position = replaced(motion.position, over, motion.from_position + motion.velocity * motion.dt)
    if not rules.implied:
        motion.acceleration = np.where(over, motion.change(), motion.acceleration)


def _limit_acceleration(limits: LimitTable, motion: _Motion, rules: _Rules) -> None:
    """Limit the acceleration: the one that is commanded, where there is none the one that the velocity implies."""
    acceleration = motion.change()
    if not rules.implied:
        unset = limits.has_either & ~(np.abs(motion.acceleration) > NEGLIGIBLE)
        acceleration = np.where(unset, acceleration, motion.acceleration)
    motion.acceleration = acceleration
    magnitude, most = np.abs(acceleration), limits.gentlest
    over = magnitude > most
    if not any_true(over):
        return
    slowing = limits.has_deceleration_limits & (np.sign(acceleration) * motion.from_velocity < ZERO)
    if not limits.same_both_ways:
        most = np.where(slowing, limits.max_deceleration, limits.accelerating)
        over = magnitude > most
    np.putmask(motion.codes, over, MAX_ACCELERATION)
    if any_true(slowing):
        np.putmask(motion.codes, over & slowing, MAX_DECELERATION)
    np.putmask(acceleration, over, np.copysign(most, acceleration))
    motion.velocity = replaced(motion.velocity, over, motion.integrated())
    if rules.by_position:
        motion.position = replaced(motion.position, over, motion.travelled())


def _limit_next_position(limits: LimitTable, motion: _Motion) -> None:
    following = motion.from_position + motion.velocity * motion.dt
    if _inside(limits, following):
        return
    clamped = clamp(following, limits.min_position, limits.max_position)
    over = limits.has_position_limits & (clamped != following)
    np.putmask(motion.codes, over, HARD_POSITION)
    motion.velocity = replaced(motion.velocity, over, (clamped - motion.from_position) / motion.dt)


def _inside(limits: LimitTable, position: Floats) -> bool:
    """Tell whether all positions are certainly in their hard ranges."""
    return all_true((position >= limits.lower) & (position <= limits.upper))


def _must_brake(limits: LimitTable, motion: _Motion, rules: _Rules, to_ends: _ToEnds) -> bool:
    """Tell whether any joint moves towards an end that is nearer than its stopping distance."""
    velocity, deceleration, twice = motion.velocity, limits.braking, limits.twice_braking
    speed = np.abs(velocity)
    if not limits.all_acceleration:
        deceleration = np.where(limits.has_either, deceleration, speed / motion.dt)
        twice = 2.0 * deceleration
    stopping = velocity * velocity / twice
    travelled = (speed if rules.symmetric else velocity) * (speed / deceleration)
    reach = np.fmax(stopping, travelled)
    to_lower, to_upper, nearest = to_ends
    if not any_true(nearest < reach):
        return False
    towards = ((velocity < ZERO) & (to_lower < reach)) | ((velocity > ZERO) & (to_upper < reach))
    return any_true(limits.has_position_limits & towards)


def _brake(limits: LimitTable, motion: _Motion, rules: _Rules) -> None:
    """Slow all joints down together, each with its own deceleration at most."""
    wanted = -motion.from_velocity / motion.dt
    motion.acceleration = np.copysign(smaller(np.abs(wanted), limits.slowing), wanted)
    motion.velocity = motion.integrated()
    if rules.by_position:
        motion.position = motion.travelled()
    motion.codes.fill(GROUP_BRAKE)
