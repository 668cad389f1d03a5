"""The records of n joints as arrays, and the five quantities of a command or a state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter

import msgspec
import numpy as np
from numpy.typing import NDArray

from limits.ros2.records import JointLimits, SoftJointLimits

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

INTERFACES = ("position", "velocity", "effort", "acceleration", "jerk")
"""What a joint can be commanded in, in the order in which it is limited."""


ZERO: Floats = np.array(0.0)
"""What arrays are compared with; a plain 0.0 would have to be made an array each time."""


def any_true(flags: Bools) -> bool:
    """Tell whether any flag is set; on few joints `flags.any()` takes ten times as long."""
    return b"\x01" in flags.tobytes()


def all_true(flags: Bools) -> bool:
    """Tell whether all flags are set."""
    return b"\x00" not in flags.tobytes()


@dataclass(frozen=True)
class LimitTable:
    """Hard limits of n joints: the fields of JointLimits, each an array of shape (n,), and what follows from them."""

    has_position_limits: Bools
    min_position: Floats
    max_position: Floats
    has_velocity_limits: Bools
    max_velocity: Floats
    has_acceleration_limits: Bools
    max_acceleration: Floats
    has_deceleration_limits: Bools
    max_deceleration: Floats
    has_jerk_limits: Bools
    max_jerk: Floats
    has_effort_limits: Bools
    max_effort: Floats

    @classmethod
    def of(cls, records: Sequence[JointLimits]) -> "LimitTable":
        """Return the table of these records, one joint each."""
        return cls(**{field.name: np.array([getattr(one, field.name) for one in records]) for field in fields(cls)})

    @cached_property
    def lower(self) -> Floats:
        """The lower ends of the hard ranges, infinite where there is none."""
        return np.where(self.has_position_limits, self.min_position, -np.inf)

    @cached_property
    def upper(self) -> Floats:
        """The upper ends of the hard ranges, infinite where there is none."""
        return np.where(self.has_position_limits, self.max_position, np.inf)

    @cached_property
    def fastest(self) -> Floats:
        """The maximum velocities, infinite where there is none."""
        return np.where(self.has_velocity_limits, self.max_velocity, np.inf)

    @cached_property
    def accelerating(self) -> Floats:
        """The maximum accelerations, infinite where there is none."""
        return np.where(self.has_acceleration_limits, self.max_acceleration, np.inf)

    @cached_property
    def slowing(self) -> Floats:
        """The maximum decelerations, where there is none the maximum accelerations."""
        return np.where(self.has_deceleration_limits, self.max_deceleration, self.accelerating)

    @cached_property
    def gentlest(self) -> Floats:
        """The lesser of both: no limit of acceleration is exceeded by less."""
        return np.fmin(self.slowing, self.accelerating)

    @cached_property
    def same_both_ways(self) -> bool:
        """Whether every joint may slow down as fast as it may speed up, and not faster."""
        return np.array_equal(self.slowing, self.accelerating)

    @cached_property
    def braking(self) -> Floats:
        """The magnitudes of `slowing`, which may be anything in compat."""
        return np.abs(self.slowing)

    @cached_property
    def twice_braking(self) -> Floats:
        """Twice `braking`."""
        return 2.0 * self.braking

    @cached_property
    def has_either(self) -> Bools:
        """Where acceleration or deceleration is limited."""
        return self.has_acceleration_limits | self.has_deceleration_limits

    @cached_property
    def all_acceleration(self) -> bool:
        """Whether acceleration or deceleration of every joint is limited."""
        return all_true(self.has_either)


@dataclass(frozen=True, slots=True)
class SoftTable:
    """Soft limits of n joints, each an array of shape (n,), with the two predicates worked out."""

    min_position: Floats
    max_position: Floats
    k_position: Floats
    k_velocity: Floats
    has_soft_position_limits: Bools
    has_soft_limits: Bools

    @classmethod
    def of(cls, records: Sequence[SoftJointLimits]) -> "SoftTable":
        """Return the table of these records, one joint each."""
        return cls(
            min_position=np.array([one.min_position for one in records]),
            max_position=np.array([one.max_position for one in records]),
            k_position=np.array([one.k_position for one in records]),
            k_velocity=np.array([one.k_velocity for one in records]),
            has_soft_position_limits=np.array([one.has_soft_position_limits() for one in records]),
            has_soft_limits=np.array([one.has_soft_limits() for one in records]),
        )


class JointValues(msgspec.Struct, frozen=True):
    """A command or a state of n joints: one array of shape (n,) a quantity, None = not given at all."""

    position: Floats | None = None
    velocity: Floats | None = None
    effort: Floats | None = None
    acceleration: Floats | None = None
    jerk: Floats | None = None


quantities: Callable[[JointValues], tuple[Floats | None, ...]] = attrgetter(*INTERFACES)
"""The five arrays of a JointValues in the order of INTERFACES."""
