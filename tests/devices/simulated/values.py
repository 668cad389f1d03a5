"""Values that an arm of the model `gen3_7dof` takes, and those it refuses."""

import math

import pytest

from schema.arms import Slot
from schema.enums import CartesianReferenceFrame, ControlMode
from schema.fields import Kind, fields_of
from schema.messages import (
    AngularTwist,
    CartesianReferenceFrameInfo,
    CartesianTransform,
    ControlModeInformation,
    GravityVector,
    JointAccelerationSoftLimits,
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

SPEED_MODES = (1, 2, 4, 5, 12)
ACCELERATION_MODES = (1, 4)
TWIST_MODES = (2, 5, 12)

VALUES: dict[Slot, tuple[Message, int]] = {
    ("gravity_vector", 0): (GravityVector(9.81, 0.0, 0.0), 2),
    ("payload_information", 0): (PayloadInformation(1.25, Position(0.0, 0.01, -0.02)), 12),
    ("tool_configuration", 0): (
        ToolConfiguration(CartesianTransform(0.0, 0.0, 0.12, 0.0, -90.0, 12.3456), 0.925, Position(0.0, 0.0, 0.047)),
        11,
    ),
    ("cartesian_reference_frame", 0): (
        CartesianReferenceFrameInfo(CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_BASE),
        13,
    ),
    ("desired_linear_twist", 0): (LinearTwist(0.1), 20),
    ("desired_angular_twist", 0): (AngularTwist(33.3), 21),
    ("desired_joint_speeds", 0): (JointSpeeds((10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 0.0)), 22),
    **{
        ("joint_speed_soft_limits", mode): (
            JointSpeedSoftLimits(ControlMode(mode), (80.0, 1.0, 20.5, 30.0, 40.0, 50.0, 70.0)),
            16,
        )
        for mode in SPEED_MODES
    },
    **{
        ("joint_acceleration_soft_limits", mode): (
            JointAccelerationSoftLimits(ControlMode(mode), (297.94, 100.0, 50.0, 20.0, 572.95, 3.0, 2.0)),
            19,
        )
        for mode in ACCELERATION_MODES
    },
    **{("twist_linear_soft_limit", mode): (TwistLinearSoftLimit(ControlMode(mode), 0.3), 17) for mode in TWIST_MODES},
    **{
        ("twist_angular_soft_limit", mode): (TwistAngularSoftLimit(ControlMode(mode), 100.0), 18)
        for mode in TWIST_MODES
    },
}
"""A value of each slot that it takes, and the event that tells of it."""

MODE_SLOT: Slot = ("control_mode", 0)
GRAVITY: Slot = ("gravity_vector", 0)
SPEEDS: Slot = ("joint_speed_soft_limits", 4)
RESETTABLE = [slot for slot in VALUES if slot[0] != "cartesian_reference_frame" and "desired" not in slot[0]]
NOT_RESETTABLE = [slot for slot in (*VALUES, MODE_SLOT) if slot not in RESETTABLE]

SLOW, FAST = GravityVector(0.0, 9.81, 0.0), GravityVector(9.81, 0.0, 0.0)


JOYSTICK = ControlMode.ANGULAR_JOYSTICK
CARTESIAN = ControlMode.CARTESIAN_TRAJECTORY
REFUSED: dict[str, tuple[Slot, Message, int]] = {
    "joint speed above hard": (SPEEDS, JointSpeedSoftLimits(ControlMode(4), (80.0,) * 7), 48),
    "joint speed negative": (SPEEDS, JointSpeedSoftLimits(ControlMode(4), (*(1.0,) * 6, -1.0)), 49),
    "joint count": (SPEEDS, JointSpeedSoftLimits(ControlMode(4), (1.0,) * 6), 57),
    "joint speed NaN": (SPEEDS, JointSpeedSoftLimits(ControlMode(4), (*(1.0,) * 6, math.nan)), 3),
    "joint speed infinite": (SPEEDS, JointSpeedSoftLimits(ControlMode(4), (*(1.0,) * 6, math.inf)), 3),
    "other mode in the message": (SPEEDS, JointSpeedSoftLimits(JOYSTICK, (1.0,) * 7), 3),
    "other message": (SPEEDS, FAST, 3),
    "acceleration above hard": (
        ("joint_acceleration_soft_limits", 1),
        JointAccelerationSoftLimits(JOYSTICK, (298.0,) * 7),
        48,
    ),
    "acceleration of a Cartesian mode": (
        ("joint_acceleration_soft_limits", 5),
        JointAccelerationSoftLimits(CARTESIAN, (80.0,) * 7),
        1,
    ),
    "twist linear above hard": (("twist_linear_soft_limit", 5), TwistLinearSoftLimit(CARTESIAN, 0.51), 48),
    "twist linear zero": (("twist_linear_soft_limit", 5), TwistLinearSoftLimit(CARTESIAN, 0.0), 49),
    "twist linear beyond float32": (("twist_linear_soft_limit", 5), TwistLinearSoftLimit(CARTESIAN, 1e300), 3),
    "twist linear of an angular mode": (("twist_linear_soft_limit", 1), TwistLinearSoftLimit(JOYSTICK, 0.1), 1),
    "twist angular above hard": (("twist_angular_soft_limit", 5), TwistAngularSoftLimit(CARTESIAN, 101.0), 48),
    "twist angular zero": (("twist_angular_soft_limit", 5), TwistAngularSoftLimit(CARTESIAN, 0.0), 49),
    "twist angular NaN": (("twist_angular_soft_limit", 5), TwistAngularSoftLimit(CARTESIAN, math.nan), 3),
    "gravity infinite": (GRAVITY, GravityVector(0.0, 0.0, -math.inf), 3),
    "payload negative": (("payload_information", 0), PayloadInformation(-0.1), 49),
    "tool mass negative": (("tool_configuration", 0), ToolConfiguration(None, -0.1), 49),
    "frame unspecified": (("cartesian_reference_frame", 0), CartesianReferenceFrameInfo(), 3),
    "frame unknown": (("cartesian_reference_frame", 0), CartesianReferenceFrameInfo(99), 3),
    "mode unspecified": (MODE_SLOT, ControlModeInformation(), 3),
    "mode unknown": (MODE_SLOT, ControlModeInformation(99), 3),
    "desired linear above hard": (("desired_linear_twist", 0), LinearTwist(0.6), 48),
    "desired angular negative": (("desired_angular_twist", 0), AngularTwist(-1.0), 49),
    "desired joint speeds count": (("desired_joint_speeds", 0), JointSpeeds((1.0,)), 57),
    "no such item": (("joint_limits", 0), FAST, 5),
}
"""Slot, value and the sub code of the refusal."""


def numbers(message: Message) -> list[float]:
    """All numbers of a message in order of its fields."""
    found: list[float] = []
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if field.kind is Kind.MESSAGE:
            found += numbers(value)
        else:
            found += value if field.repeated else [value]
    return found


def assert_close(read: Message, wanted: Message, resolution_rad: float) -> None:
    """The read value is the wanted one within the arm's resolution."""
    assert type(read) is type(wanted)
    for got, want in zip(numbers(read), numbers(wanted), strict=True):
        assert got == pytest.approx(want, rel=1e-6, abs=math.degrees(resolution_rad))
