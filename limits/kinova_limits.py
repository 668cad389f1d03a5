"""KinematicLimits of Kinova as numbers in radians: the one place where degrees become radians and back."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from limits.errors import LimitsError
from schema.enums import ControlMode
from schema.floats import as_float32
from schema.items import SOFT_LIMIT_MODES, SOFT_LIMITS
from schema.messages import KinematicLimits

Array = NDArray[np.float64]

FIELDS: dict[str, str] = {item.hard: item.key for item in SOFT_LIMITS}
"""Fields of the message, and the config item that sets each one of a mode."""


class KinovaNumbers(NamedTuple):
    """Limits of an arm of n joints: m/s, rad/s, and arrays of shape (n,) in rad/s and rad/s²; infinite = no limit."""

    twist_linear: float
    twist_angular: float
    velocity: Array
    acceleration: Array


def takes(mode: ControlMode | int, field: str) -> bool:
    """Whether a control mode takes the soft limit of this field of the message."""
    return mode in SOFT_LIMIT_MODES[FIELDS[field]]


def from_kinematic_limits(message: KinematicLimits, joints: int, *, file: str | None = None) -> KinovaNumbers:
    """Radians of a message; a twist of 0 and an empty list are no limit, as an arm means them.

    Without a control mode the message is the hard limits, which may hold everything.

    Raises:
        LimitsError: a mode that takes no soft limits, a limit that the mode does not take, a list that is not one
            number a joint, a number that is negative, NaN or infinite.
    """
    _check_mode(message, file)
    for field in ("twist_linear", "twist_angular"):
        _check_number(getattr(message, field), field, None, file)
    speeds = _angles(message.joint_speed_limits, joints, "joint_speed_limits", file)
    accelerations = _angles(message.joint_acceleration_limits, joints, "joint_acceleration_limits", file)
    angular = math.radians(message.twist_angular)
    return KinovaNumbers(message.twist_linear or math.inf, angular or math.inf, speeds, accelerations)


def to_kinematic_limits(
    numbers: KinovaNumbers, mode: ControlMode = ControlMode.UNSPECIFIED_CONTROL_MODE
) -> KinematicLimits:
    """The message of limits, in degrees as float32; what is infinite stays unset, a list with such an entry is empty.

    Raises:
        LimitsError: a mode that does not take one of the limits, a number that is negative, NaN or beyond a float32, a
            twist of 0, which would read as none.
    """
    twists = {"twist_linear": numbers.twist_linear, "twist_angular": math.degrees(numbers.twist_angular)}
    lists = {"joint_speed_limits": numbers.velocity, "joint_acceleration_limits": numbers.acceleration}
    for field, value in twists.items():
        if value == 0.0:
            raise LimitsError("is 0, which means no limit", key=field, value=value)
    linear, angular = (0.0 if math.isinf(value) else _float32(value, field, None) for field, value in twists.items())
    speeds, accelerations = (_degrees(values, field) for field, values in lists.items())
    message = KinematicLimits(mode, linear, angular, speeds, accelerations)
    from_kinematic_limits(message, numbers.velocity.size)
    return message


def _check_mode(message: KinematicLimits, file: str | None) -> None:
    """The mode takes soft limits, and all of those that are given."""
    mode = message.control_mode
    if mode == ControlMode.UNSPECIFIED_CONTROL_MODE:
        return
    if not any(takes(mode, field) for field in FIELDS):
        raise LimitsError("the mode takes no soft limits", file=file, key="control_mode", value=mode)
    for field in FIELDS:
        if getattr(message, field) and not takes(mode, field):
            raise LimitsError(
                f"{ControlMode(mode).name} takes no such limit", file=file, key=field, value=getattr(message, field)
            )


def _check_number(value: float, field: str, joint: int | None, file: str | None) -> None:
    name = None if joint is None else str(joint)
    if not math.isfinite(value):
        raise LimitsError("is not finite", file=file, joint=name, key=field, value=value)
    if value < 0.0:
        raise LimitsError("is negative", file=file, joint=name, key=field, value=value, bound=0.0)


def _angles(values: tuple[float, ...], joints: int, field: str, file: str | None) -> Array:
    if not values:
        return np.full(joints, np.inf)
    if len(values) != joints:
        raise LimitsError("needs one number a joint", file=file, key=field, value=len(values), bound=joints)
    for index, value in enumerate(values):
        _check_number(value, field, index, file)
    return np.radians(np.array(values, dtype=np.float64))


def _degrees(values: Array, field: str) -> tuple[float, ...]:
    if np.isinf(values).any():
        return ()
    return tuple(_float32(value, field, joint) for joint, value in enumerate(np.degrees(values).tolist()))


def _float32(value: float, field: str, joint: int | None) -> float:
    try:
        return as_float32(value)
    except OverflowError as error:
        name = None if joint is None else str(joint)
        raise LimitsError("is beyond a float32", joint=name, key=field, value=value) from error
