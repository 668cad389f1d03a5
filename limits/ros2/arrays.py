"""The records of n joints as arrays, and the five quantities of a command or a state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter

import msgspec
import numpy as np
from numpy.typing import NDArray

from limits.ros2.records import JointLimits, SoftJointLimits

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

INTERFACES = ("position", "velocity", "effort", "acceleration", "jerk")
"""What a joint can be commanded in, in the order in which it is limited."""


@dataclass(frozen=True, slots=True)
class LimitTable:
    """Hard limits of n joints: the fields of JointLimits, each an array of shape (n,)."""

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
