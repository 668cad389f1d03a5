"""What a value has to keep to: (arm state, message) -> warnings, or a refusal; the table of it is at the end."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from handlers.items.sanity import Doubt, gravity_doubts, told, tool_doubts
from handlers.stack.arm_limits import OuterBounds, limits_of
from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED, description_of, listing, number, out_of_limits
from limits.bounds import RELATIVE, excesses, nearest_legal
from schema.enums import ControlMode
from schema.envelope import Warned
from schema.errors import BrokerError
from schema.items import CONFIG_ITEMS, NUMBER_FIELDS, ConfigItem, Zero
from schema.messages import (
    CartesianReferenceFrameInfo,
    ControlModeInformation,
    GravityVector,
    Message,
    PayloadInformation,
    ToolConfiguration,
)
from schema.quantities import JOINT_ACCELERATION, MASS, Quantity

Check = Callable[[ArmState, Any], tuple[Warned, ...]]
"""Warns of a value of an item, or refuses it with a BrokerError."""

STANDARD_GRAVITY = 9.81
GRAVITY_TOLERANCE = 0.02
SUSPECT_SPEED = 2.0
"""Below this many deg/s every value looks like rad/s."""
SMALLEST_TWIST = 1e-6
"""The least soft limit of a twist; 0 means "unset" on the arm."""
_NO_BOUND = OuterBounds((math.inf,), ("",))
_QUARTER_TURN = math.pi / 2
_ANGLE_SLACK = 1e-3


def _suspect(state: ArmState, path: str, values: Sequence[float], ceiling: float, unit: str) -> tuple[Warned, ...]:
    """Doubt values that are all so small that they look like radians."""
    largest = max(values) if values else 0.0
    if not 0.0 < largest < ceiling:
        return ()
    degrees = number(round(math.degrees(largest), 1))
    text = f"{path}: every value is under {number(ceiling)} {unit}; {number(largest)} rad would be {degrees} {unit}"
    return told(state, [Doubt("UNIT_SUSPECT", path, text)])


def _joint_list(
    state: ArmState,
    path: str,
    values: tuple[float, ...],
    bounds: OuterBounds,
    quantity: Quantity,
) -> tuple[Warned, ...]:
    """One value per joint, each from 0 to its bound; doubted when all look like radians."""
    if len(values) != len(bounds.high):
        text = f"{path}: {len(values)} values for {len(bounds.high)} joints of {state.arm}. {NOTHING_CHANGED}"
        raise BrokerError("wrong_joint_count", text)
    if found := excesses(values, 0.0, bounds.high, quantity, state.resolution_rad):
        nearest = nearest_legal(values, 0.0, bounds.high)
        raise out_of_limits(state, path, found, quantity, nearest, bounds.sources)
    ceiling = SUSPECT_SPEED if quantity is not JOINT_ACCELERATION else _radian_in_degrees(bounds)
    return _suspect(state, path, values, ceiling, quantity.unit)


def _scalar(
    state: ArmState, path: str, value: float, low: float, bounds: OuterBounds, quantity: Quantity
) -> tuple[Warned, ...]:
    """One number between two bounds; a small angular one is doubted."""
    inside = low <= value <= bounds.high[0]
    if not inside and (found := excesses((value,), low, bounds.high, quantity, state.resolution_rad)):
        (nearest,) = nearest_legal((value,), low, bounds.high)
        raise out_of_limits(state, path, found, quantity, nearest, bounds.sources)
    return _suspect(state, path, (value,), SUSPECT_SPEED, quantity.unit) if quantity.angular else ()


def _radian_in_degrees(bounds: OuterBounds) -> float:
    """Below this many deg/s² every acceleration of a list looks like radians."""
    return math.radians(max(filter(math.isfinite, bounds.high), default=0.0))


@lru_cache(maxsize=64)
def _least(resolution_rad: float, zero: Zero, *, angular: bool) -> float:
    """The least value of a number: 0, or the least that an arm of this resolution can hold where 0 is "unset" to it."""
    if zero is Zero.VALUE:
        return 0.0
    return max(SMALLEST_TWIST, math.degrees(resolution_rad)) if angular else SMALLEST_TWIST


def within_bounds(item: ConfigItem, quantity: Quantity, state: ArmState, message: Message) -> tuple[Warned, ...]:
    """Every number of an item with a bound from above lies between its least and its bound, in its unit.

    Raises:
        BrokerError: wrong_joint_count, out_of_limits; implausible_value under `checks.strict`.
    """
    path, bounds = NUMBER_FIELDS[item.key], limits_of(state).bounds(item.key)
    value = getattr(message, path)
    if type(value) is tuple:
        return _joint_list(state, path, value, bounds, quantity)
    least = _least(state.resolution_rad, item.zero, angular=quantity.angular)
    return _scalar(state, path, value, least, bounds, quantity)


def gravity_is_plausible(state: ArmState, message: GravityVector) -> tuple[Warned, ...]:
    """The norm is 9.81 m/s² within 2 %; a turn that looks like a wrong sign is doubted.

    Raises:
        BrokerError: implausible_value.
    """
    norm = math.hypot(message.x, message.y, message.z)
    low, high = STANDARD_GRAVITY * (1 - GRAVITY_TOLERANCE), STANDARD_GRAVITY * (1 + GRAVITY_TOLERANCE)
    if not low <= norm <= high:
        looks = "; it looks like a unit vector" if math.isclose(norm, 1.0, rel_tol=GRAVITY_TOLERANCE) else ""
        text = f"gravity_vector of {state.arm}: norm {number(norm)} m/s² is outside {number(low)} to {number(high)}"
        raise BrokerError("implausible_value", f"{text}{looks}. {NOTHING_CHANGED}")
    return told(state, gravity_doubts(state, message))


def _load(state: ArmState, path: str, payload: float, tool: float) -> tuple[Warned, ...]:
    rating = description_of(state).payload_max
    if rating <= 0.0 or payload + tool <= rating * (1 + RELATIVE):
        return ()
    text = f"payload {number(payload)} kg and tool {number(tool)} kg exceed the rating of {number(rating)} kg"
    return (Warned("PAYLOAD_OVER_RATING", text, path),)


def payload_is_plausible(state: ArmState, message: PayloadInformation) -> tuple[Warned, ...]:
    """Mass from 0 kg; a payload keeps its mass (strict: a refusal); with the tool it is within the rating: warnings."""
    _scalar(state, "payload_mass", message.payload_mass, 0.0, _NO_BOUND, MASS)
    dropped: tuple[Warned, ...] = ()
    before = state.desired.get(("payload_information", 0))
    if isinstance(before, PayloadInformation) and before.payload_mass > 0.0 and message.payload_mass == 0.0:
        text = f"payload_mass: {number(before.payload_mass)} kg before, 0 kg now; a Set replaces the whole message"
        dropped = told(state, [Doubt("PAYLOAD_MASS_DROPPED", "payload_mass", text)])
    tool = state.desired.get(("tool_configuration", 0))
    mass = tool.tool_mass if isinstance(tool, ToolConfiguration) else 0.0
    return dropped + _load(state, "payload_mass", message.payload_mass, mass)


def _angles_suspect(state: ArmState, message: ToolConfiguration) -> tuple[Warned, ...]:
    turn = message.tool_transform
    angles = (turn.theta_x, turn.theta_y, turn.theta_z) if turn is not None else ()
    given = [math.fabs(angle) for angle in angles if math.fabs(angle) > _ANGLE_SLACK]
    off_quarters = [math.fabs(math.remainder(angle, _QUARTER_TURN)) for angle in given]
    if not given or max(off_quarters) >= _ANGLE_SLACK or max(given) > math.tau + _ANGLE_SLACK:
        return ()
    text = f"tool_transform: {listing(angles)} deg are multiples of pi/2: radians?"
    return told(state, [Doubt("UNIT_SUSPECT", "tool_transform", text)])


def tool_is_plausible(state: ArmState, message: ToolConfiguration) -> tuple[Warned, ...]:
    """Mass from 0 kg; a tool that had a mass keeps one, angles are no radians, else a warning (strict: a refusal)."""
    _scalar(state, "tool_mass", message.tool_mass, 0.0, _NO_BOUND, MASS)
    warnings = _angles_suspect(state, message)
    before = state.desired.get(("tool_configuration", 0))
    if isinstance(before, ToolConfiguration) and before.tool_mass > 0.0 and message.tool_mass == 0.0:
        text = f"tool_mass: {number(before.tool_mass)} kg before, 0 kg now; a Set replaces the whole message"
        warnings += told(state, [Doubt("TOOL_MASS_DROPPED", "tool_mass", text)])
    payload = state.desired.get(("payload_information", 0))
    carried = payload.payload_mass if isinstance(payload, PayloadInformation) else 0.0
    warnings += told(state, tool_doubts(state, message))
    return warnings + _load(state, "tool_mass", carried, message.tool_mass)


def frame_is_known(state: ArmState, message: CartesianReferenceFrameInfo) -> tuple[Warned, ...]:
    """One of MIXED, TOOL, BASE.

    Raises:
        BrokerError: unknown_enum.
    """
    if message.reference_frame == 0:
        text = f"reference_frame of {state.arm}: the unspecified frame cannot be set. {NOTHING_CHANGED}"
        raise BrokerError("unknown_enum", text)
    return ()


def mode_is_settable(state: ArmState, message: ControlModeInformation) -> tuple[Warned, ...]:
    """A mode that the arm's factsheet lists in `modes_settable`.

    Raises:
        BrokerError: unknown_enum, unknown_method.
    """
    if message.control_mode == 0:
        raise BrokerError("unknown_enum", f"control_mode: the unspecified mode cannot be set. {NOTHING_CHANGED}")
    if message.control_mode not in description_of(state).modes_settable:
        name = ControlMode(message.control_mode).name
        text = f"control_mode: {state.arm} takes no request for {name}. {NOTHING_CHANGED}"
        raise BrokerError("unknown_method", text)
    return ()


CHECKS: dict[str, Check] = {
    "gravity_vector": gravity_is_plausible,
    "payload_information": payload_is_plausible,
    "tool_configuration": tool_is_plausible,
    "cartesian_reference_frame": frame_is_known,
    "control_mode": mode_is_settable,
    **{item.key: partial(within_bounds, item, item.quantity) for item in CONFIG_ITEMS if item.quantity is not None},
}
"""The check of each item of the arm, by key; those with a bound from above share one."""
