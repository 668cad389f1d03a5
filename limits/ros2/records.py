"""The two records of ros2_control joint limits; radians or metres, seconds, newton metres or newtons."""

import math
import sys

import msgspec

LARGEST = sys.float_info.max
"""The largest finite double: what a disabled number holds."""

SMALLEST_RANGE = 1e-10
"""A soft range must be wider, and a position gain larger, than this to count."""

QUANTITIES = ("position", "velocity", "acceleration", "deceleration", "jerk", "effort")
"""The limited quantities, each switched by `has_<quantity>_limits`, in the order of the parameters."""


class JointLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Hard limits of one joint: a flag and its number(s) each; NaN = not given."""

    has_position_limits: bool = False
    min_position: float = math.nan
    max_position: float = math.nan
    has_velocity_limits: bool = False
    max_velocity: float = math.nan
    has_acceleration_limits: bool = False
    max_acceleration: float = math.nan
    has_deceleration_limits: bool = False
    max_deceleration: float = math.nan
    has_jerk_limits: bool = False
    max_jerk: float = math.nan
    has_effort_limits: bool = False
    max_effort: float = math.nan
    angle_wraparound: bool = False

    def disable_all(self) -> "JointLimits":
        """Return the record with no limit: six flags off, numbers at ± the largest finite double."""
        return JointLimits(
            min_position=-LARGEST,
            max_position=LARGEST,
            max_velocity=LARGEST,
            max_acceleration=LARGEST,
            max_deceleration=LARGEST,
            max_jerk=LARGEST,
            max_effort=LARGEST,
            angle_wraparound=self.angle_wraparound,
        )


class SoftJointLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Soft range of one joint and its gains (k_position 1/s, k_velocity N·m·s/rad); NaN = not given."""

    min_position: float = math.nan
    max_position: float = math.nan
    k_position: float = math.nan
    k_velocity: float = math.nan

    def has_soft_position_limits(self) -> bool:
        """Tell whether both ends are finite and the range is not empty."""
        finite = math.isfinite(self.min_position) and math.isfinite(self.max_position)
        return finite and self.max_position - self.min_position > SMALLEST_RANGE

    def has_soft_limits(self) -> bool:
        """Tell whether the range is valid and the position gain is a finite number other than 0."""
        gain = math.isfinite(self.k_position) and abs(self.k_position) > SMALLEST_RANGE
        return gain and self.has_soft_position_limits()
