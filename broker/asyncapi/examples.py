"""Params that each method takes, for an arm of 7 joints `joint_1` ... `joint_7` (model gen3_7dof)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_JOYSTICK = {"control_mode": "CARTESIAN_JOYSTICK"}
_ANGULAR = {"control_mode": "ANGULAR_JOYSTICK"}
_GAINS = {"soft_upper_limit": 2.0, "soft_lower_limit": -2.0, "k_position": 20.0, "k_velocity": 10.0}
_PARAMETERS = {"joint_limits.joint_1.has_velocity_limits": True, "joint_limits.joint_1.max_velocity": 0.5}

EXAMPLES: Mapping[str, dict[str, Any]] = MappingProxyType({
    "SetGravityVector": {"x": 0.0, "y": 0.0, "z": -9.81},
    "GetGravityVector": {},
    "ResetGravityVector": {},
    "SetPayloadInformation": {"payload_mass": 0.5, "payload_mass_center": {"x": 0.0, "y": 0.0, "z": 0.05}},
    "GetPayloadInformation": {},
    "ResetPayloadInformation": {},
    "SetToolConfiguration": {
        "tool_transform": {"x": 0.0, "y": 0.0, "z": 0.12, "theta_x": 0.0, "theta_y": 0.0, "theta_z": 0.0},
        "tool_mass": 0.75,
        "tool_mass_center": {"x": 0.0, "y": 0.0, "z": 0.06},
    },
    "GetToolConfiguration": {},
    "ResetToolConfiguration": {},
    "SetCartesianReferenceFrame": {"reference_frame": "CARTESIAN_REFERENCE_FRAME_BASE"},
    "GetCartesianReferenceFrame": {},
    "SetJointSpeedSoftLimits": {**_ANGULAR, "joint_speed_soft_limits": [20.0] * 7},
    "ResetJointSpeedSoftLimits": _ANGULAR,
    "SetJointAccelerationSoftLimits": {**_ANGULAR, "joint_acceleration_soft_limits": [40.0] * 7},
    "ResetJointAccelerationSoftLimits": _ANGULAR,
    "SetTwistLinearSoftLimit": {**_JOYSTICK, "twist_linear_soft_limit": 0.2},
    "ResetTwistLinearSoftLimit": _JOYSTICK,
    "SetTwistAngularSoftLimit": {**_JOYSTICK, "twist_angular_soft_limit": 30.0},
    "ResetTwistAngularSoftLimit": _JOYSTICK,
    "SetDesiredLinearTwist": {"linear": 0.1},
    "SetDesiredAngularTwist": {"angular": 15.0},
    "SetDesiredJointSpeeds": {"joint_speed": [10.0] * 7},
    "GetDesiredSpeeds": {},
    "ControlConfigurationTopic": {"type": "NOTIFICATION_TYPE_EVENT", "rate_m_sec": 0, "threshold_value": 0.0},
    "ControlModeTopic": {},
    "Unsubscribe": {"identifier": 1},
    "GetControlMode": {},
    "SetControlMode": _JOYSTICK,
    "GetKinematicHardLimits": {},
    "GetKinematicSoftLimits": _JOYSTICK,
    "GetAllKinematicSoftLimits": {},
    "GetJointLimits": {},
    "SetJointLimits": {"max_velocity": {"values": [0.5] * 7}},
    "SetJointLimit": {"joint": "joint_3", "update": {"max_velocity": 0.25}},
    "ResetJointLimits": {},
    "GetJointSafety": {},
    "SetJointSafety": {"joints": {"joint_2": _GAINS}},
    "ClearJointSafety": {"joints": ["joint_2"]},
    "ResetJointSafety": {},
    "GetJointParameters": {},
    "SetJointParameters": {"parameters": _PARAMETERS},
    "DescribeJointParameters": {},
    "Explain": {"quantity": "velocity", "joint": "joint_1"},
    "GetSkeleton": {},
    "CheckTrajectory": {"times": [0.0, 1.0], "positions": [[0.0] * 7, [0.1] * 7]},
    "CheckCommand": {"command": {"velocity": [0.1] * 7}, "dt": 0.01},
    "GetHistory": {"limit": 10},
    "GetEvents": {"after_seq": 0, "limit": 10},
    "WhoAmI": {},
    "ConfirmPending": {"all": True},
    "DiscardPending": {"all": True},
    "ConfirmArm": {},
    "RestoreFactory": {},
    "SetAuthority": {"authority": "control", "reason": "the cell is empty"},
    "HoldArm": {"reason": "maintenance"},
    "ReleaseArm": {},
    "SimFault": {"fault": "none"},
})  # fmt: skip
"""Params by method."""
