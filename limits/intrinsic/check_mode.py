"""What a joint position command is checked for besides position and velocity."""

from collections.abc import Iterable

from limits.errors import LimitsError
from schema.intrinsic import DynamicLimitsCheckMode

_CHECK = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_JOINT_ACCELERATION
_NONE = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_NONE
_MODES = frozenset(DynamicLimitsCheckMode)


def effective_check_mode(number: int) -> DynamicLimitsCheckMode:
    """CHECK_JOINT_ACCELERATION (also when unspecified) or CHECK_NONE.

    Raises:
        LimitsError: the number is no mode.
    """
    if number not in _MODES:
        raise LimitsError("unknown mode", key="dynamic_limits_check_mode", value=int(number), bound=(0, int(_NONE)))
    return _NONE if number == _NONE else _CHECK


def checks_acceleration(number: int) -> bool:
    """Whether accelerations are checked; positions and velocities always are.

    Raises:
        LimitsError: the number is no mode.
    """
    return effective_check_mode(number) is _CHECK


def shared_check_mode(numbers: Iterable[int]) -> int:
    """The one mode of all segments of a trajectory, compared as numbers: 0 and 1 differ here. No segment: 0.

    Raises:
        LimitsError: a number is no mode, or differs from the first.
    """
    modes = list(numbers)
    for number in modes:
        effective_check_mode(number)
        if number != modes[0]:
            raise LimitsError(
                "segments differ", key="dynamic_limits_check_mode", value=int(number), bound=int(modes[0])
            )
    return modes[0] if modes else 0
