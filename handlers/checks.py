"""One function per rule: (arm state, message) -> warnings, or a refusal."""

import math
from collections.abc import Sequence

from handlers.arm_state import ArmState
from handlers.refusals import NOTHING_CHANGED, description_of, listing, number, out_of_limits
from limits.bounds import (
    JOINT_ACCELERATION,
    JOINT_SPEED,
    MASS,
    RELATIVE,
    TWIST_ANGULAR,
    TWIST_LINEAR,
    Quantity,
    excesses,
    nearest_legal,
)
from schema.enums import ControlMode
from schema.envelope import Warned
from schema.errors import BrokerError
from schema.messages import (
    AngularTwist,
    CartesianReferenceFrameInfo,
    ControlModeInformation,
    GravityVector,
    JointAccelerationSoftLimits,
    JointSpeeds,
    JointSpeedSoftLimits,
    LinearTwist,
    PayloadInformation,
    ToolConfiguration,
    TwistAngularSoftLimit,
    TwistLinearSoftLimit,
)

STANDARD_GRAVITY = 9.81
GRAVITY_TOLERANCE = 0.02
SUSPECT_SPEED = 2.0
"""Below this many deg/s every value looks like rad/s."""
SMALLEST_TWIST = 1e-6
"""The least soft limit of a twist; 0 means "unset" on the arm."""
_QUARTER_TURN = math.pi / 2
_ANGLE_SLACK = 1e-3


def _doubt(state: ArmState, name: str, path: str, text: str) -> tuple[Warned, ...]:
    """A warning; under `checks.strict` a refusal."""
    if state.strict:
        raise BrokerError("implausible_value", f"{text} (checks.strict). {NOTHING_CHANGED}")
    return (Warned(name, text, path),)


def _suspect(state: ArmState, path: str, values: Sequence[float], ceiling: float, unit: str) -> tuple[Warned, ...]:
    """Doubt values that are all so small that they look like radians."""
    largest = max(values, default=0.0)
    if not 0.0 < largest < ceiling:
        return ()
    degrees = number(round(math.degrees(largest), 1))
    text = f"{path}: every value is under {number(ceiling)} {unit}; {number(largest)} rad would be {degrees} {unit}"
    return _doubt(state, "UNIT_SUSPECT", path, text)


def _joint_list(
    state: ArmState, path: str, values: tuple[float, ...], high: tuple[float, ...], quantity: Quantity, ceiling: float
) -> tuple[Warned, ...]:
    """One value per joint, each from 0 to its bound; doubted when all are under the ceiling."""
    joints = len(description_of(state).joints)
    if len(values) != joints:
        text = f"{path}: {len(values)} values for {joints} joints of {state.arm}. {NOTHING_CHANGED}"
        raise BrokerError("wrong_joint_count", text)
    if found := excesses(values, 0.0, high, quantity, state.resolution_rad):
        raise out_of_limits(state, path, found, quantity, nearest_legal(values, 0.0, high))
    return _suspect(state, path, values, ceiling, quantity.unit)


def _scalar(
    state: ArmState, path: str, value: float, low: float, high: float, quantity: Quantity
) -> tuple[Warned, ...]:
    """One number between two bounds; a small angular one is doubted."""
    if found := excesses((value,), low, (high,), quantity, state.resolution_rad):
        raise out_of_limits(state, path, found, quantity, nearest_legal((value,), low, (high,))[0])
    return _suspect(state, path, (value,), SUSPECT_SPEED, quantity.unit) if quantity.angular else ()


def joint_speeds_within_hard(state: ArmState, message: JointSpeedSoftLimits) -> tuple[Warned, ...]:
    """One value in deg/s per joint, 0 to the joint's hard speed."""
    high = description_of(state).hard_limits.joint_speed_limits
    values = message.joint_speed_soft_limits
    return _joint_list(state, "joint_speed_soft_limits", values, high, JOINT_SPEED, SUSPECT_SPEED)


def joint_accelerations_within_hard(state: ArmState, message: JointAccelerationSoftLimits) -> tuple[Warned, ...]:
    """One value in deg/s² per joint, 0 to the joint's hard acceleration."""
    high = description_of(state).hard_limits.joint_acceleration_limits
    values = message.joint_acceleration_soft_limits
    ceiling = math.radians(max(high, default=0.0))
    return _joint_list(state, "joint_acceleration_soft_limits", values, high, JOINT_ACCELERATION, ceiling)


def twist_linear_within_hard(state: ArmState, message: TwistLinearSoftLimit) -> tuple[Warned, ...]:
    """From 1e-6 to the hard linear twist, m/s."""
    high = description_of(state).hard_limits.twist_linear
    return _scalar(
        state, "twist_linear_soft_limit", message.twist_linear_soft_limit, SMALLEST_TWIST, high, TWIST_LINEAR
    )


def twist_angular_within_hard(state: ArmState, message: TwistAngularSoftLimit) -> tuple[Warned, ...]:
    """From the least that the arm can hold to the hard angular twist, deg/s."""
    high = description_of(state).hard_limits.twist_angular
    low = max(SMALLEST_TWIST, math.degrees(state.resolution_rad))
    return _scalar(state, "twist_angular_soft_limit", message.twist_angular_soft_limit, low, high, TWIST_ANGULAR)


def desired_linear_within_hard(state: ArmState, message: LinearTwist) -> tuple[Warned, ...]:
    """From 0 to the hard linear twist, m/s."""
    return _scalar(state, "linear", message.linear, 0.0, description_of(state).hard_limits.twist_linear, TWIST_LINEAR)


def desired_angular_within_hard(state: ArmState, message: AngularTwist) -> tuple[Warned, ...]:
    """From 0 to the hard angular twist, deg/s."""
    return _scalar(
        state, "angular", message.angular, 0.0, description_of(state).hard_limits.twist_angular, TWIST_ANGULAR
    )


def desired_joints_within_hard(state: ArmState, message: JointSpeeds) -> tuple[Warned, ...]:
    """One value in deg/s per joint, 0 to the joint's hard speed."""
    high = description_of(state).hard_limits.joint_speed_limits
    return _joint_list(state, "joint_speed", message.joint_speed, high, JOINT_SPEED, SUSPECT_SPEED)


def gravity_is_plausible(state: ArmState, message: GravityVector) -> tuple[Warned, ...]:
    """The norm is 9.81 m/s² within 2 %."""
    norm = math.hypot(message.x, message.y, message.z)
    low, high = STANDARD_GRAVITY * (1 - GRAVITY_TOLERANCE), STANDARD_GRAVITY * (1 + GRAVITY_TOLERANCE)
    if not low <= norm <= high:
        looks = "; it looks like a unit vector" if math.isclose(norm, 1.0, rel_tol=GRAVITY_TOLERANCE) else ""
        text = f"gravity_vector of {state.arm}: norm {number(norm)} m/s² is outside {number(low)} to {number(high)}"
        raise BrokerError("implausible_value", f"{text}{looks}. {NOTHING_CHANGED}")
    return ()


def _load(state: ArmState, path: str, payload: float, tool: float) -> tuple[Warned, ...]:
    rating = description_of(state).payload_max
    if rating <= 0.0 or payload + tool <= rating * (1 + RELATIVE):
        return ()
    text = f"payload {number(payload)} kg and tool {number(tool)} kg exceed the rating of {number(rating)} kg"
    return (Warned("PAYLOAD_OVER_RATING", text, path),)


def payload_is_plausible(state: ArmState, message: PayloadInformation) -> tuple[Warned, ...]:
    """Mass from 0 kg; payload and tool within the rating, else a warning."""
    _scalar(state, "payload_mass", message.payload_mass, 0.0, math.inf, MASS)
    tool = state.desired.get(("tool_configuration", 0))
    mass = tool.tool_mass if isinstance(tool, ToolConfiguration) else 0.0
    return _load(state, "payload_mass", message.payload_mass, mass)


def _angles_suspect(state: ArmState, message: ToolConfiguration) -> tuple[Warned, ...]:
    turn = message.tool_transform
    angles = (turn.theta_x, turn.theta_y, turn.theta_z) if turn is not None else ()
    given = [math.fabs(angle) for angle in angles if math.fabs(angle) > _ANGLE_SLACK]
    off_quarters = [math.fabs(math.remainder(angle, _QUARTER_TURN)) for angle in given]
    if not given or max(off_quarters) >= _ANGLE_SLACK or max(given) > math.tau + _ANGLE_SLACK:
        return ()
    text = f"tool_transform: {listing(angles)} deg are multiples of pi/2: radians?"
    return _doubt(state, "UNIT_SUSPECT", "tool_transform", text)


def tool_is_plausible(state: ArmState, message: ToolConfiguration) -> tuple[Warned, ...]:
    """Mass from 0 kg; a tool that had a mass keeps one, angles are no radians, else a warning (strict: a refusal)."""
    _scalar(state, "tool_mass", message.tool_mass, 0.0, math.inf, MASS)
    warnings = _angles_suspect(state, message)
    before = state.desired.get(("tool_configuration", 0))
    if isinstance(before, ToolConfiguration) and before.tool_mass > 0.0 and message.tool_mass == 0.0:
        text = f"tool_mass: {number(before.tool_mass)} kg before, 0 kg now; a Set replaces the whole message"
        warnings += _doubt(state, "TOOL_MASS_DROPPED", "tool_mass", text)
    payload = state.desired.get(("payload_information", 0))
    carried = payload.payload_mass if isinstance(payload, PayloadInformation) else 0.0
    return warnings + _load(state, "tool_mass", carried, message.tool_mass)


def frame_is_known(state: ArmState, message: CartesianReferenceFrameInfo) -> tuple[Warned, ...]:
    """One of MIXED, TOOL, BASE."""
    if message.reference_frame == 0:
        text = f"reference_frame of {state.arm}: the unspecified frame cannot be set. {NOTHING_CHANGED}"
        raise BrokerError("unknown_enum", text)
    return ()


def mode_is_settable(state: ArmState, message: ControlModeInformation) -> tuple[Warned, ...]:
    """A mode that the arm's factsheet lists in `modes_settable`."""
    if message.control_mode == 0:
        raise BrokerError("unknown_enum", f"control_mode: the unspecified mode cannot be set. {NOTHING_CHANGED}")
    if message.control_mode not in description_of(state).modes_settable:
        name = ControlMode(message.control_mode).name
        text = f"control_mode: {state.arm} takes no request for {name}. {NOTHING_CHANGED}"
        raise BrokerError("unknown_method", text)
    return ()
