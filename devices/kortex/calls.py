"""Which calls of `Kinova.Api.ControlConfig` read and write each config item."""

from limits.kinova_models import SOFT_LIMIT_MODES
from schema.arms import Slot
from schema.enums import ControlConfigurationEvent as Event
from schema.messages import (
    CartesianReferenceFrameInfo,
    ControlModeInformation,
    DesiredSpeeds,
    GravityVector,
    JointAccelerationSoftLimits,
    JointSpeedSoftLimits,
    KinematicLimits,
    KinematicLimitsList,
    Message,
    NotificationHandle,
    PayloadInformation,
    ToolConfiguration,
    TwistAngularSoftLimit,
    TwistLinearSoftLimit,
)

MODE_SLOT: Slot = ("control_mode", 0)
DESIRED = ("desired_linear_twist", "desired_angular_twist", "desired_joint_speeds")
"""The items that GetDesiredSpeeds reads."""

GETTERS: dict[str, str] = {
    "gravity_vector": "GetGravityVector",
    "payload_information": "GetPayloadInformation",
    "tool_configuration": "GetToolConfiguration",
    "cartesian_reference_frame": "GetCartesianReferenceFrame",
    "control_mode": "GetControlMode",
}
"""The items that a call of their own reads."""

SETTERS: dict[str, str] = {
    "gravity_vector": "SetGravityVector",
    "payload_information": "SetPayloadInformation",
    "tool_configuration": "SetToolConfiguration",
    "cartesian_reference_frame": "SetCartesianReferenceFrame",
    "joint_speed_soft_limits": "SetJointSpeedSoftLimits",
    "joint_acceleration_soft_limits": "SetJointAccelerationSoftLimits",
    "twist_linear_soft_limit": "SetTwistLinearSoftLimit",
    "twist_angular_soft_limit": "SetTwistAngularSoftLimit",
    "desired_linear_twist": "SetDesiredLinearTwist",
    "desired_angular_twist": "SetDesiredAngularTwist",
    "desired_joint_speeds": "SetDesiredJointSpeeds",
}

RESETTERS: dict[str, str] = {
    "gravity_vector": "ResetGravityVector",
    "payload_information": "ResetPayloadInformation",
    "tool_configuration": "ResetToolConfiguration",
    "joint_speed_soft_limits": "ResetJointSpeedSoftLimits",
    "joint_acceleration_soft_limits": "ResetJointAccelerationSoftLimits",
    "twist_linear_soft_limit": "ResetTwistLinearSoftLimit",
    "twist_angular_soft_limit": "ResetTwistAngularSoftLimit",
}

ANSWERS: dict[str, type[Message]] = {
    "GetGravityVector": GravityVector,
    "GetPayloadInformation": PayloadInformation,
    "GetToolConfiguration": ToolConfiguration,
    "GetCartesianReferenceFrame": CartesianReferenceFrameInfo,
    "GetControlMode": ControlModeInformation,
    "GetKinematicHardLimits": KinematicLimits,
    "GetKinematicSoftLimits": KinematicLimits,
    "GetAllKinematicSoftLimits": KinematicLimitsList,
    "GetDesiredSpeeds": DesiredSpeeds,
    "ResetGravityVector": GravityVector,
    "ResetPayloadInformation": PayloadInformation,
    "ResetToolConfiguration": ToolConfiguration,
    "ResetJointSpeedSoftLimits": JointSpeedSoftLimits,
    "ResetJointAccelerationSoftLimits": JointAccelerationSoftLimits,
    "ResetTwistLinearSoftLimit": TwistLinearSoftLimit,
    "ResetTwistAngularSoftLimit": TwistAngularSoftLimit,
    "ControlConfigurationTopic": NotificationHandle,
    "ControlModeTopic": NotificationHandle,
}
"""What a call answers; the others answer nothing."""

EVENT_ITEMS: dict[int, str] = {
    Event.GRAVITY_VECTOR_CHANGED: "gravity_vector",
    Event.PAYLOAD_CONFIGURATION_CHANGED: "payload_information",
    Event.TOOL_CONFIGURATION_CHANGED: "tool_configuration",
    Event.CARTESIAN_REFERENCE_CHANGED: "cartesian_reference_frame",
    Event.JOINT_SPEED_SOFT_LIMITS_CHANGED: "joint_speed_soft_limits",
    Event.TWIST_LINEAR_SOFT_LIMIT_CHANGED: "twist_linear_soft_limit",
    Event.TWIST_ANGULAR_SOFT_LIMIT_CHANGED: "twist_angular_soft_limit",
    Event.JOINT_ACCELERATION_SOFT_LIMITS_CHANGED: "joint_acceleration_soft_limits",
    Event.DESIRED_TWIST_LINEAR_SPEED_CHANGED: "desired_linear_twist",
    Event.DESIRED_TWIST_ANGULAR_SPEED_CHANGED: "desired_angular_twist",
    Event.DESIRED_JOINT_SPEED_CHANGED: "desired_joint_speeds",
}
"""The item that an event tells of; the others have no value here."""


def slots_of(item: str) -> tuple[Slot, ...]:
    """All slots of an item."""
    return tuple((item, int(mode)) for mode in SOFT_LIMIT_MODES.get(item, (0,)))


def methods_of(item: str) -> frozenset[str]:
    """The calls that only make sense where the item can be read."""
    found = (GETTERS.get(item), SETTERS.get(item), RESETTERS.get(item))
    return frozenset(name for name in found if name is not None)
