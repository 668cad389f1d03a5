"""The traits of an arm with the twelve config items of Kinova and seven joints (model `gen3_7dof`)."""

import math

from devices.conformance.rig import Example, Refusal, Traits
from schema.arms import Slot
from schema.enums import CartesianReferenceFrame, ControlConfigurationEvent, ControlMode
from schema.messages import (
    AngularTwist,
    CartesianReferenceFrameInfo,
    CartesianTransform,
    GravityVector,
    JointAccelerationSoftLimits,
    JointSpeeds,
    JointSpeedSoftLimits,
    LinearTwist,
    PayloadInformation,
    Position,
    ToolConfiguration,
    TwistAngularSoftLimit,
    TwistLinearSoftLimit,
)

SPEED_MODES = (1, 2, 4, 5, 12)
ACCELERATION_MODES = (1, 4)
TWIST_MODES = (2, 5, 12)
SPEEDS: Slot = ("joint_speed_soft_limits", 4)
_CARTESIAN = ControlMode.CARTESIAN_TRAJECTORY
_EVENT = ControlConfigurationEvent


def _plain() -> dict[Slot, Example]:
    """Values of the items without modes."""
    base = CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_BASE
    tool = CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_TOOL
    grip = CartesianTransform(0.0, 0.0, 0.12, 0.0, -90.0, 12.3456)
    return {
        ("gravity_vector", 0): Example(
            GravityVector(9.81, 0.0, 0.0), GravityVector(0.0, 9.81, 0.0), _EVENT.GRAVITY_VECTOR_CHANGED
        ),
        ("payload_information", 0): Example(
            PayloadInformation(1.25, Position(0.0, 0.01, -0.02)),
            PayloadInformation(0.5, Position(0.0, 0.0, 0.05)),
            _EVENT.PAYLOAD_CONFIGURATION_CHANGED,
        ),
        ("tool_configuration", 0): Example(
            ToolConfiguration(grip, 0.925, Position(0.0, 0.0, 0.047)),
            ToolConfiguration(CartesianTransform(z=0.2), 0.5, Position()),
            _EVENT.TOOL_CONFIGURATION_CHANGED,
        ),
        ("cartesian_reference_frame", 0): Example(
            CartesianReferenceFrameInfo(base), CartesianReferenceFrameInfo(tool), _EVENT.CARTESIAN_REFERENCE_CHANGED
        ),
        ("desired_linear_twist", 0): Example(
            LinearTwist(0.1), LinearTwist(0.15), _EVENT.DESIRED_TWIST_LINEAR_SPEED_CHANGED
        ),
        ("desired_angular_twist", 0): Example(
            AngularTwist(33.3), AngularTwist(44.4), _EVENT.DESIRED_TWIST_ANGULAR_SPEED_CHANGED
        ),
        ("desired_joint_speeds", 0): Example(
            JointSpeeds((10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 0.0)),
            JointSpeeds((20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 1.0)),
            _EVENT.DESIRED_JOINT_SPEED_CHANGED,
        ),
    }


def _speeds(mode: int) -> Example:
    lower, higher = (20.0, 1.0, 20.5, 30.0, 40.0, 49.0, 10.0), (25.0, 2.0, 21.5, 31.0, 41.0, 49.5, 11.0)
    value, other = (JointSpeedSoftLimits(ControlMode(mode), values) for values in (lower, higher))
    return Example(value, other, _EVENT.JOINT_SPEED_SOFT_LIMITS_CHANGED)


def _accelerations(mode: int) -> Example:
    lower, higher = (200.0, 100.0, 50.0, 20.0, 500.0, 3.0, 2.0), (210.0, 110.0, 60.0, 30.0, 510.0, 13.0, 12.0)
    value, other = (JointAccelerationSoftLimits(ControlMode(mode), values) for values in (lower, higher))
    return Example(value, other, _EVENT.JOINT_ACCELERATION_SOFT_LIMITS_CHANGED)


def _twist_linear(mode: int) -> Example:
    value, other = (TwistLinearSoftLimit(ControlMode(mode), limit) for limit in (0.2, 0.3))
    return Example(value, other, _EVENT.TWIST_LINEAR_SOFT_LIMIT_CHANGED)


def _twist_angular(mode: int) -> Example:
    value, other = (TwistAngularSoftLimit(ControlMode(mode), limit) for limit in (30.0, 40.0))
    return Example(value, other, _EVENT.TWIST_ANGULAR_SOFT_LIMIT_CHANGED)


VALUES: dict[Slot, Example] = {
    **_plain(),
    **{("joint_speed_soft_limits", mode): _speeds(mode) for mode in SPEED_MODES},
    **{("joint_acceleration_soft_limits", mode): _accelerations(mode) for mode in ACCELERATION_MODES},
    **{("twist_linear_soft_limit", mode): _twist_linear(mode) for mode in TWIST_MODES},
    **{("twist_angular_soft_limit", mode): _twist_angular(mode) for mode in TWIST_MODES},
}

REFUSED: dict[str, Refusal] = {
    "joint speed above hard": Refusal(SPEEDS, JointSpeedSoftLimits(ControlMode(4), (81.0,) * 7), 48),
    "joint speed negative": Refusal(SPEEDS, JointSpeedSoftLimits(ControlMode(4), (*(1.0,) * 6, -1.0)), 49),
    "joint count": Refusal(SPEEDS, JointSpeedSoftLimits(ControlMode(4), (1.0,) * 6), 57),
    "joint speed NaN": Refusal(SPEEDS, JointSpeedSoftLimits(ControlMode(4), (*(1.0,) * 6, math.nan)), 3),
    "twist linear above hard": Refusal(("twist_linear_soft_limit", 5), TwistLinearSoftLimit(_CARTESIAN, 0.51), 48),
    "twist angular zero": Refusal(("twist_angular_soft_limit", 5), TwistAngularSoftLimit(_CARTESIAN, 0.0), 49),
    "payload negative": Refusal(("payload_information", 0), PayloadInformation(-0.1), 49),
    "frame unspecified": Refusal(("cartesian_reference_frame", 0), CartesianReferenceFrameInfo(), 3),
}

KINOVA = Traits(
    values=VALUES,
    refused=REFUSED,
    resettable=frozenset(
        {
            "gravity_vector",
            "payload_information",
            "tool_configuration",
            "joint_speed_soft_limits",
            "joint_acceleration_soft_limits",
            "twist_linear_soft_limit",
            "twist_angular_soft_limit",
        }
    ),
    clamped=(SPEEDS, JointSpeedSoftLimits(ControlMode(4), (20.0,) * 7)),
    rounded=(SPEEDS, JointSpeedSoftLimits(ControlMode(4), (12.3456,) * 7)),
)
