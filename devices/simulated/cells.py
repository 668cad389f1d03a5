"""The values that a simulated arm keeps, one cell a slot: its default, its event, and what it takes."""

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import msgspec

from devices.adapter import ArmRefusedError
from devices.refusals import refused
from devices.simulated.numbers import (
    angle,
    bounded_angle,
    bounded_angles,
    bounded_float32,
    float32,
    steps,
)
from limits.kinova_models import MODELS, KinovaModel
from schema.arms import Slot
from schema.enums import CartesianReferenceFrame, ControlMode
from schema.fields import Kind, fields_of
from schema.items import ITEMS, SOFT_LIMIT_MODES
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

Take = Callable[[Any], Message]
"""Checks a message of the cell's record as the firmware does and returns what the arm keeps of it."""

MODES_SETTABLE = (
    ControlMode.ANGULAR_JOYSTICK,
    ControlMode.CARTESIAN_JOYSTICK,
    ControlMode.ANGULAR_TRAJECTORY,
    ControlMode.CARTESIAN_TRAJECTORY,
    ControlMode.CARTESIAN_ADMITTANCE,
    ControlMode.JOINT_ADMITTANCE,
    ControlMode.NULL_SPACE_ADMITTANCE,
    ControlMode.CARTESIAN_WAYPOINT_TRAJECTORY,
    ControlMode.IDLE,
)
"""The control modes that a simulated arm takes a request for."""


class Cell(NamedTuple):
    """One slot of an arm: Kinova's event number, whether it can be reset, its default as kept, its firmware check."""

    event: int
    resettable: bool
    default: Message
    take: Take

    def take_half(self, message: Message) -> Message:
        """Check a message of an item with bounds like `take` and return half of it; all of it if the half is no value.

        Raises:
            ArmRefusedError: the whole is refused.
        """
        taken = self.take(message)
        try:
            return self.take(_halved(taken))
        except ArmRefusedError:
            return taken


def _halved(message: Message) -> Message:
    """The message with half of each number."""
    halves: dict[str, Any] = {}
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if field.kind is Kind.FLOAT32:
            halves[field.name] = tuple(number / 2 for number in value) if field.repeated else value / 2
    return msgspec.structs.replace(message, **halves)


def _position(position: Position | None, field: str) -> Position | None:
    if position is None:
        return None
    return Position(float32(position.x, field), float32(position.y, field), float32(position.z, field))


def _mass(value: float, field: str) -> float:
    return bounded_float32(value, math.inf, field, zero=True)


def _take_gravity(message: GravityVector) -> GravityVector:
    field = "gravity_vector"
    return GravityVector(float32(message.x, field), float32(message.y, field), float32(message.z, field))


def _take_payload(message: PayloadInformation) -> PayloadInformation:
    return PayloadInformation(
        _mass(message.payload_mass, "payload_mass"),
        _position(message.payload_mass_center, "payload_mass_center"),
    )


def _take_tool(message: ToolConfiguration) -> ToolConfiguration:
    given, field = message.tool_transform, "tool_transform"
    transform = given and CartesianTransform(
        float32(given.x, field),
        float32(given.y, field),
        float32(given.z, field),
        angle(given.theta_x, field),
        angle(given.theta_y, field),
        angle(given.theta_z, field),
    )
    mass = _mass(message.tool_mass, "tool_mass")
    return ToolConfiguration(transform, mass, _position(message.tool_mass_center, "tool_mass_center"))


_FRAMES = frozenset(CartesianReferenceFrame)
_MODES = frozenset(ControlMode)


def _take_frame(message: CartesianReferenceFrameInfo) -> CartesianReferenceFrameInfo:
    frame = message.reference_frame
    if frame == CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_UNSPECIFIED or frame not in _FRAMES:
        raise refused("INVALID_PARAM", f"reference_frame: {frame} is no frame")
    return message


def _take_control_mode(message: ControlModeInformation) -> ControlModeInformation:
    mode = message.control_mode
    if mode in MODES_SETTABLE:
        return message
    known = mode != ControlMode.UNSPECIFIED_CONTROL_MODE and mode in _MODES
    raise refused("UNSUPPORTED_METHOD" if known else "INVALID_PARAM", f"control_mode: {mode} cannot be set")


class _Hard(NamedTuple):
    """The hard limits as the arm compares them: steps of 1e-4 rad, and m/s with the slack of float32."""

    joint_speeds: tuple[int, ...]
    joint_accelerations: tuple[int, ...]
    twist_linear: float
    twist_angular: int


def _hard(model: KinovaModel) -> _Hard:
    hard = model.hard
    return _Hard(
        tuple(steps(value, "joint_speed_limits") for value in hard.joint_speed_limits),
        tuple(steps(value, "joint_acceleration_limits") for value in hard.joint_acceleration_limits),
        hard.twist_linear * (1 + 1e-6),
        steps(hard.twist_angular, "twist_angular"),
    )


def _lower(values: tuple[float, ...], hard: tuple[float, ...]) -> tuple[float, ...]:
    """The values, none above its hard limit: the public soft default 573 deg/s² exceeds the public hard 572.95."""
    return tuple(min(pair) for pair in zip(values, hard, strict=True))


def _items(model: KinovaModel, hard: _Hard) -> dict[str, tuple[Message, Take]]:
    """The items without modes: default, check."""
    angular = model.soft_defaults[ControlMode.ANGULAR_JOYSTICK]
    cartesian = model.soft_defaults[ControlMode.CARTESIAN_JOYSTICK]
    origin = Position()
    mixed = CartesianReferenceFrameInfo(CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_MIXED)
    return {
        "gravity_vector": (model.gravity, _take_gravity),
        "payload_information": (PayloadInformation(0.0, origin), _take_payload),
        "tool_configuration": (ToolConfiguration(CartesianTransform(), 0.0, origin), _take_tool),
        "cartesian_reference_frame": (mixed, _take_frame),
        "desired_linear_twist": (
            LinearTwist(cartesian.twist_linear),
            lambda message: LinearTwist(bounded_float32(message.linear, hard.twist_linear, "linear", zero=True)),
        ),
        "desired_angular_twist": (
            AngularTwist(cartesian.twist_angular),
            lambda message: AngularTwist(bounded_angle(message.angular, hard.twist_angular, "angular")),
        ),
        "desired_joint_speeds": (
            JointSpeeds(angular.joint_speed_limits),
            lambda message: JointSpeeds(bounded_angles(message.joint_speed, hard.joint_speeds, "joint_speed")),
        ),
        "control_mode": (ControlModeInformation(ControlMode.IDLE), _take_control_mode),
    }


def _joint_speeds(model: KinovaModel, hard: _Hard, mode: ControlMode) -> tuple[Message, Take]:
    values = _lower(model.soft_defaults[mode].joint_speed_limits, model.hard.joint_speed_limits)

    def take(message: JointSpeedSoftLimits) -> JointSpeedSoftLimits:
        kept = bounded_angles(message.joint_speed_soft_limits, hard.joint_speeds, "joint_speed_soft_limits")
        return JointSpeedSoftLimits(mode, kept)

    return JointSpeedSoftLimits(mode, values), take


def _joint_accelerations(model: KinovaModel, hard: _Hard, mode: ControlMode) -> tuple[Message, Take]:
    values = _lower(model.soft_defaults[mode].joint_acceleration_limits, model.hard.joint_acceleration_limits)

    def take(message: JointAccelerationSoftLimits) -> JointAccelerationSoftLimits:
        given, field = message.joint_acceleration_soft_limits, "joint_acceleration_soft_limits"
        return JointAccelerationSoftLimits(mode, bounded_angles(given, hard.joint_accelerations, field))

    return JointAccelerationSoftLimits(mode, values), take


def _twist_linear(model: KinovaModel, hard: _Hard, mode: ControlMode) -> tuple[Message, Take]:
    def take(message: TwistLinearSoftLimit) -> TwistLinearSoftLimit:
        given, field = message.twist_linear_soft_limit, "twist_linear_soft_limit"
        return TwistLinearSoftLimit(mode, bounded_float32(given, hard.twist_linear, field, zero=False))

    return TwistLinearSoftLimit(mode, model.soft_defaults[mode].twist_linear), take


def _twist_angular(model: KinovaModel, hard: _Hard, mode: ControlMode) -> tuple[Message, Take]:
    def take(message: TwistAngularSoftLimit) -> TwistAngularSoftLimit:
        given, field = message.twist_angular_soft_limit, "twist_angular_soft_limit"
        return TwistAngularSoftLimit(mode, bounded_angle(given, hard.twist_angular, field, lowest=1))

    return TwistAngularSoftLimit(mode, model.soft_defaults[mode].twist_angular), take


_SOFT_LIMITS = {
    "joint_speed_soft_limits": _joint_speeds,
    "joint_acceleration_soft_limits": _joint_accelerations,
    "twist_linear_soft_limit": _twist_linear,
    "twist_angular_soft_limit": _twist_angular,
}


_KEPT = 256
"""So many messages of each cell are remembered with what is kept of them: many arms are sent the same."""


def _cell(key: str, default: Message, take: Take) -> Cell:
    item = ITEMS[key]
    return Cell(item.event_number, item.resettable, take(default), lru_cache(maxsize=_KEPT)(take))


@cache
def cells_of(model: str) -> dict[Slot, Cell]:
    """All cells of a model of `limits.kinova_models`, by slot; shared by the arms of the model, never changed."""
    facts = MODELS[model]
    hard = _hard(facts)
    cells: dict[Slot, Cell] = {
        (key, 0): _cell(key, default, take) for key, (default, take) in _items(facts, hard).items()
    }
    for key, modes in SOFT_LIMIT_MODES.items():
        for mode in modes:
            default, take = _SOFT_LIMITS[key](facts, hard, mode)
            cells[(key, int(mode))] = _cell(key, default, take)
    return cells
