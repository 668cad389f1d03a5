"""Arm states and requests as the handlers see them."""

from typing import Any

import numpy as np

from handlers.rpc.outcome import Answer, Proposal
from handlers.rpc.request import Request
from handlers.rpc_table import RPC_TABLE
from handlers.state.arm_state import ArmState
from limits.kinova_models import MODELS
from schema.arms import Description, JointInfo, Slot
from schema.enums import CartesianReferenceFrame, ControlMode
from schema.envelope import RequestEnvelope
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.items import SOFT_LIMIT_MODES
from schema.joint_items import JointParameterMap, JointSafetyMap
from schema.messages import (
    AngularTwist,
    CartesianReferenceFrameInfo,
    CartesianTransform,
    ControlModeInformation,
    Empty,
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

RESOLUTION_RAD = 1e-4
MODEL = MODELS["gen3_7dof"]
SLOT_MESSAGES: dict[str, tuple[type[Message], str]] = {
    "joint_speed_soft_limits": (JointSpeedSoftLimits, "joint_speed_limits"),
    "joint_acceleration_soft_limits": (JointAccelerationSoftLimits, "joint_acceleration_limits"),
    "twist_linear_soft_limit": (TwistLinearSoftLimit, "twist_linear"),
    "twist_angular_soft_limit": (TwistAngularSoftLimit, "twist_angular"),
}


def _radians(degrees: tuple[float, ...]) -> RepeatedDouble:
    return RepeatedDouble(tuple(np.radians(degrees).tolist()))


def values() -> dict[Slot, Message]:
    """What a fresh arm of seven joints holds."""
    held: dict[Slot, Message] = {
        ("gravity_vector", 0): GravityVector(0.0, 0.0, -9.81),
        ("payload_information", 0): PayloadInformation(),
        ("tool_configuration", 0): ToolConfiguration(CartesianTransform(z=0.12), 0.925, Position(z=0.047)),
        ("cartesian_reference_frame", 0): CartesianReferenceFrameInfo(
            CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_BASE
        ),
        ("desired_linear_twist", 0): LinearTwist(0.1),
        ("desired_angular_twist", 0): AngularTwist(20.0),
        ("desired_joint_speeds", 0): JointSpeeds((20.0,) * 7),
        ("control_mode", 0): ControlModeInformation(ControlMode.ANGULAR_JOYSTICK),
    }
    held |= {
        ("joint_limits", 0): JointLimits(
            max_velocity=_radians(MODEL.hard.joint_speed_limits),
            max_acceleration=_radians(MODEL.hard.joint_acceleration_limits),
        ),
        ("joint_safety", 0): JointSafetyMap(),
        ("joint_parameters", 0): JointParameterMap(),
    }
    for key, (message, field) in SLOT_MESSAGES.items():
        for mode in SOFT_LIMIT_MODES[key]:
            held[key, int(mode)] = message(mode, getattr(MODEL.soft_defaults[mode], field))
    return held


def description(**changes: Any) -> Description:
    """What an arm of seven joints tells of itself."""
    told: dict[str, Any] = {
        "model": MODEL.name,
        "serial": "S-1",
        "firmware": "2.2.0",
        "joints": tuple(JointInfo(joint.name, joint.type) for joint in MODEL.joints),
        "hard_limits": MODEL.hard,
        "hard_source": "hard:device",
        "payload_max": MODEL.payload_max,
        "modes_settable": (int(ControlMode.ANGULAR_JOYSTICK), int(ControlMode.CARTESIAN_JOYSTICK)),
    }
    return Description(**(told | changes))


def arm(**changes: Any) -> ArmState:
    """An arm that was read, is online and ready, in revision 3."""
    known: dict[str, Any] = {
        "arm": "r12",
        "adapter": "simulated",
        "methods": frozenset(RPC_TABLE),
        "resolution_rad": RESOLUTION_RAD,
        "model": MODEL.name,
        "description": description(),
        "adopted": True,
        "online": True,
        "ready": True,
        "rev": 3,
        "read_at_us": 1_000_000,
        "mode_seen_at_us": 2_000_000,
        "desired": values(),
        "reported": values(),
    }
    return ArmState(**(known | changes))


def never_read(**changes: Any) -> ArmState:
    """An arm that is registered and was never reached."""
    absent: dict[str, Any] = {"description": None, "adopted": False, "online": False, "ready": False, "rev": 0}
    return arm(**(absent | {"read_at_us": 0, "desired": {}, "reported": {}} | changes))


def request(
    method: str,
    params: Message | dict[str, object] | None = None,
    *,
    conn: str = "plc-3",
    user: str = "alice",
    **envelope: Any,
) -> Request:
    """A request of alice for r12; absent params are empty."""
    return Request(
        user=user,
        conn=conn,
        arm="r12",
        method=method,
        envelope=RequestEnvelope(id="7-1", **envelope),
        params=Empty() if params is None else params,
        id="7-1",
        at_us=1_700_000_000_123_456,
        codec="json",
        size=99,
        identity="server-acl",
    )


def decide(state: ArmState, method: str, params: Message | dict[str, object] | None = None, **envelope: Any) -> Any:
    """What the method of the table decides."""
    return RPC_TABLE[method].decide(state, request(method, params, **envelope))


def propose(state: ArmState, method: str, params: Message | None = None, **envelope: Any) -> Proposal:
    """What a Set or Reset decides."""
    outcome = decide(state, method, params, **envelope)
    assert isinstance(outcome, Proposal)
    return outcome


def answer(state: ArmState, method: str, params: Message | dict[str, object] | None = None, **envelope: Any) -> Answer:
    """What a read decides."""
    outcome = decide(state, method, params, **envelope)
    assert isinstance(outcome, Answer)
    return outcome


def speeds(*degrees: float, mode: ControlMode = ControlMode.ANGULAR_JOYSTICK) -> JointSpeedSoftLimits:
    """Joint speeds of one mode; a single number stands for all seven joints."""
    return JointSpeedSoftLimits(mode, degrees * 7 if len(degrees) == 1 else degrees)


def linear(limit: float, mode: ControlMode = ControlMode.CARTESIAN_JOYSTICK) -> TwistLinearSoftLimit:
    """A linear twist limit of one mode, m/s."""
    return TwistLinearSoftLimit(mode, limit)


def angular(limit: float, mode: ControlMode = ControlMode.CARTESIAN_JOYSTICK) -> TwistAngularSoftLimit:
    """An angular twist limit of one mode, deg/s."""
    return TwistAngularSoftLimit(mode, limit)
