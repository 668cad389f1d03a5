"""Which call of the fake arm reads and writes which slot of its firmware."""

import math
from collections.abc import Callable
from typing import Any

import msgspec

from devices.adapter import ArmRefusedError
from devices.simulated.firmware import Firmware
from schema.enums import ControlMode
from schema.items import SOFT_LIMIT_MODES
from schema.messages import DesiredSpeeds, KinematicLimits, KinematicLimitsList, Message, NotificationHandle

_NOUNS = {
    "GravityVector": "gravity_vector",
    "PayloadInformation": "payload_information",
    "ToolConfiguration": "tool_configuration",
}
_SOFT = {
    "JointSpeedSoftLimits": "joint_speed_soft_limits",
    "JointAccelerationSoftLimits": "joint_acceleration_soft_limits",
    "TwistLinearSoftLimit": "twist_linear_soft_limit",
    "TwistAngularSoftLimit": "twist_angular_soft_limit",
}
SETS = {f"Set{noun}": item for noun, item in (_NOUNS | _SOFT).items()} | {
    "SetCartesianReferenceFrame": "cartesian_reference_frame",
    "SetDesiredLinearTwist": "desired_linear_twist",
    "SetDesiredAngularTwist": "desired_angular_twist",
    "SetDesiredJointSpeeds": "desired_joint_speeds",
}
RESETS = {f"Reset{noun}": item for noun, item in (_NOUNS | _SOFT).items()}


def soft(firmware: Firmware, mode: int) -> KinematicLimits:
    """The soft limits of a mode; nothing for those that it takes not."""

    def value(item: str, field: str, without: object) -> object:
        try:
            return getattr(firmware.read((item, mode)), field)
        except ArmRefusedError:
            return without

    fields = [
        value("twist_linear_soft_limit", "twist_linear_soft_limit", 0.0),
        value("twist_angular_soft_limit", "twist_angular_soft_limit", 0.0),
        value("joint_speed_soft_limits", "joint_speed_soft_limits", ()),
        value("joint_acceleration_soft_limits", "joint_acceleration_soft_limits", ()),
    ]
    return KinematicLimits(ControlMode(mode), *fields)  # type: ignore[arg-type] # as the fields have them


def _value(item: str) -> Callable[[Firmware], Message]:
    return lambda firmware: firmware.read((item, 0))


def _all_soft(firmware: Firmware) -> Message:
    modes = sorted({int(mode) for modes in SOFT_LIMIT_MODES.values() for mode in modes})
    return KinematicLimitsList(tuple(soft(firmware, mode) for mode in modes))


def _desired(firmware: Firmware) -> Message:
    linear: Any = firmware.read(("desired_linear_twist", 0))
    angular: Any = firmware.read(("desired_angular_twist", 0))
    joints: Any = firmware.read(("desired_joint_speeds", 0))
    return DesiredSpeeds(linear.linear, angular.angular, joints.joint_speed)


READS: dict[str, Callable[[Firmware], Message]] = {
    **{f"Get{noun}": _value(item) for noun, item in _NOUNS.items()},
    "GetCartesianReferenceFrame": _value("cartesian_reference_frame"),
    "GetControlMode": _value("control_mode"),
    "GetKinematicHardLimits": lambda firmware: firmware.describe().hard_limits,
    "GetAllKinematicSoftLimits": _all_soft,
    "GetDesiredSpeeds": _desired,
    "GetActuatorCount": lambda firmware: NotificationHandle(len(firmware.describe().joints)),
}
"""What each call without a request reads."""


def fewer(value: Message) -> Message:
    """Half of each number of a message."""
    changed: dict[str, object] = {}
    for name in value.__struct_fields__:
        number = getattr(value, name)
        if isinstance(number, float) and math.isfinite(number):
            changed[name] = number / 2
        elif isinstance(number, tuple):
            changed[name] = tuple(one / 2 for one in number)
    return msgspec.structs.replace(value, **changed)
