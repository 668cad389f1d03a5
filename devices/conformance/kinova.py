"""The traits of an arm with the twelve config items of Kinova and seven joints (model `gen3_7dof`)."""

import math

from devices.conformance.rig import Example, Refusal, Traits
from schema.arms import Slot
from schema.enums import CartesianReferenceFrame, ControlMode
from schema.items import CONFIG_ITEMS, ITEMS, SOFT_LIMITS, ConfigItem, slots_of
from schema.messages import (
    AngularTwist,
    CartesianReferenceFrameInfo,
    CartesianTransform,
    GravityVector,
    JointSpeeds,
    JointSpeedSoftLimits,
    LinearTwist,
    Message,
    PayloadInformation,
    Position,
    ToolConfiguration,
    TwistAngularSoftLimit,
    TwistLinearSoftLimit,
)

SPEEDS: Slot = ("joint_speed_soft_limits", 4)
_CARTESIAN = ControlMode.CARTESIAN_TRAJECTORY


def _plain() -> dict[str, tuple[Message, Message]]:
    """Values of the items without modes, by key."""
    base = CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_BASE
    tool = CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_TOOL
    grip = CartesianTransform(0.0, 0.0, 0.12, 0.0, -90.0, 12.3456)
    return {
        "gravity_vector": (GravityVector(9.81, 0.0, 0.0), GravityVector(0.0, 9.81, 0.0)),
        "payload_information": (
            PayloadInformation(1.25, Position(0.0, 0.01, -0.02)),
            PayloadInformation(0.5, Position(0.0, 0.0, 0.05)),
        ),
        "tool_configuration": (
            ToolConfiguration(grip, 0.925, Position(0.0, 0.0, 0.047)),
            ToolConfiguration(CartesianTransform(z=0.2), 0.5, Position()),
        ),
        "cartesian_reference_frame": (CartesianReferenceFrameInfo(base), CartesianReferenceFrameInfo(tool)),
        "desired_linear_twist": (LinearTwist(0.1), LinearTwist(0.15)),
        "desired_angular_twist": (AngularTwist(33.3), AngularTwist(44.4)),
        "desired_joint_speeds": (
            JointSpeeds((10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 0.0)),
            JointSpeeds((20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 1.0)),
        ),
    }


LIMITS: dict[str, tuple[float | tuple[float, ...], float | tuple[float, ...]]] = {
    "joint_speed_soft_limits": ((20.0, 1.0, 20.5, 30.0, 40.0, 49.0, 10.0), (25.0, 2.0, 21.5, 31.0, 41.0, 49.5, 11.0)),
    "joint_acceleration_soft_limits": (
        (200.0, 100.0, 50.0, 20.0, 500.0, 3.0, 2.0),
        (210.0, 110.0, 60.0, 30.0, 510.0, 13.0, 12.0),
    ),
    "twist_linear_soft_limit": (0.2, 0.3),
    "twist_angular_soft_limit": (30.0, 40.0),
}
"""Values of the items with a slot a mode, by key: the same in each mode."""


def _limit(item: ConfigItem, mode: int) -> Example:
    """Values of one slot of a soft limit."""
    value, other = (item.record(**{"control_mode": ControlMode(mode), item.field: limit}) for limit in LIMITS[item.key])
    return Example(value, other, item.event_number)


VALUES: dict[Slot, Example] = {
    **{(key, 0): Example(*pair, ITEMS[key].event_number) for key, pair in _plain().items()},
    **{slot: _limit(item, slot[1]) for item in SOFT_LIMITS for slot in slots_of(item.key)},
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
    resettable=frozenset(item.key for item in CONFIG_ITEMS if item.resettable),
    clamped=(SPEEDS, JointSpeedSoftLimits(ControlMode(4), (20.0,) * 7)),
    rounded=(SPEEDS, JointSpeedSoftLimits(ControlMode(4), (12.3456,) * 7)),
)
