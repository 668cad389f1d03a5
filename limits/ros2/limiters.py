"""The limiters by name: strict by default, as the reference with `compat`."""

from collections.abc import Sequence

from limits.ros2.compat_range import CompatRangeLimiter
from limits.ros2.compat_soft import CompatSoftLimiter
from limits.ros2.limiter import Limiter
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.saturation_limiter import JointSaturationLimiter
from limits.ros2.strict_range import StrictRangeLimiter
from limits.ros2.strict_soft import StrictSoftLimiter

__all__ = ["JointSaturationLimiter", "joint_range_limiter", "joint_soft_limiter"]


def joint_range_limiter(
    limits: Sequence[JointLimits], names: Sequence[str] | None = None, *, compat: bool = False
) -> Limiter:
    """Return a limiter by hard limits.

    Raises:
        LimitsError: names and limits differ in count or, without `compat`, the limits make no sense.
    """
    return CompatRangeLimiter(limits, names) if compat else StrictRangeLimiter(limits, names)


def joint_soft_limiter(
    limits: Sequence[JointLimits],
    soft: Sequence[SoftJointLimits],
    names: Sequence[str] | None = None,
    *,
    compat: bool = False,
) -> Limiter:
    """Return a limiter by hard and soft limits; a joint without soft limits has a record of NaN.

    Raises:
        LimitsError: names, limits and soft limits differ in count or, without `compat`, they make no sense.
    """
    return CompatSoftLimiter(limits, soft, names) if compat else StrictSoftLimiter(limits, soft, names)
