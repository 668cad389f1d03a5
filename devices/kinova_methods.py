"""The methods of `Kinova.Api.ControlConfig`, and the items that they are about."""

CONTROL_CONFIG_METHODS = frozenset(
    {
        "SetGravityVector",
        "GetGravityVector",
        "SetPayloadInformation",
        "GetPayloadInformation",
        "SetToolConfiguration",
        "GetToolConfiguration",
        "ControlConfigurationTopic",
        "Unsubscribe",
        "SetCartesianReferenceFrame",
        "GetCartesianReferenceFrame",
        "GetControlMode",
        "SetJointSpeedSoftLimits",
        "SetTwistLinearSoftLimit",
        "SetTwistAngularSoftLimit",
        "SetJointAccelerationSoftLimits",
        "GetKinematicHardLimits",
        "GetKinematicSoftLimits",
        "GetAllKinematicSoftLimits",
        "SetDesiredLinearTwist",
        "SetDesiredAngularTwist",
        "SetDesiredJointSpeeds",
        "GetDesiredSpeeds",
        "ResetGravityVector",
        "ResetPayloadInformation",
        "ResetToolConfiguration",
        "ResetJointSpeedSoftLimits",
        "ResetTwistLinearSoftLimit",
        "ResetTwistAngularSoftLimit",
        "ResetJointAccelerationSoftLimits",
        "ControlModeTopic",
    }
)
"""The 30 RPCs of the service; it has no SetControlMode."""

KINOVA_ITEMS = frozenset(
    {
        "gravity_vector",
        "payload_information",
        "tool_configuration",
        "cartesian_reference_frame",
        "joint_speed_soft_limits",
        "joint_acceleration_soft_limits",
        "twist_linear_soft_limit",
        "twist_angular_soft_limit",
        "desired_linear_twist",
        "desired_angular_twist",
        "desired_joint_speeds",
        "control_mode",
    }
)
"""Keys of the config items whose values an arm of Kinova holds."""
