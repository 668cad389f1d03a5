"""The methods of `Kinova.Api.ControlConfig`."""

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
