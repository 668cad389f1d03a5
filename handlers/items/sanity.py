"""What is allowed and yet doubtful: warnings with numbers, refusals under `checks.strict`."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from handlers.stack.arm_limits import ArmLimits, limits_of
from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED, listing, number
from limits.stack.joints import ArmJoints, Bounds
from limits.stack.layer import SLOTS
from limits.stopping import Stopping, check_stopping
from schema.arms import Slot
from schema.enums import ControlMode
from schema.envelope import Warned
from schema.errors import BrokerError
from schema.messages import (
    GravityVector,
    JointAccelerationSoftLimits,
    JointSpeedSoftLimits,
    Message,
    PayloadInformation,
    ToolConfiguration,
)

REVERSED_DEG = 150.0
"""A gravity vector that turns further than that looks like a wrong sign; a wall is 90 degrees from a table."""


SPEEDS, ACCELERATIONS = "joint_speed_soft_limits", "joint_acceleration_soft_limits"
_SPEEDS = frozenset({SPEEDS, ACCELERATIONS})
"""Items that change how far a joint needs to stop."""
MOVING = _SPEEDS | {"joint_limits", "joint_safety", "joint_parameters"}
"""These, and the items that move the ends too."""
_NO_WORSE = 1e-9
"""Rad or m that come from rounding."""


class Doubt(NamedTuple):
    """One thing that cannot be meant: name of the warning, path of the field, words."""

    name: str
    path: str
    text: str


def told(state: ArmState, doubts: Iterable[Doubt]) -> tuple[Warned, ...]:
    """The warnings of doubts.

    Raises:
        BrokerError: implausible_value under `checks.strict`.
    """
    warnings = tuple(Warned(doubt.name, doubt.text, doubt.path) for doubt in doubts)
    if warnings and state.strict:
        texts = "; ".join(warning.message for warning in warnings)
        raise BrokerError("implausible_value", f"{texts} (checks.strict). {NOTHING_CHANGED}")
    return warnings


def gravity_doubts(state: ArmState, message: GravityVector) -> list[Doubt]:
    """A vector that points against the present one."""
    before = state.desired.get(("gravity_vector", 0))
    if not isinstance(before, GravityVector):
        return []
    old, new = (np.array([vector.x, vector.y, vector.z], dtype=np.float64) for vector in (before, message))
    norms = float(np.linalg.norm(old) * np.linalg.norm(new))
    turn = math.degrees(math.acos(max(-1.0, min(1.0, float(old @ new) / norms)))) if norms else 0.0
    if turn <= REVERSED_DEG:
        return []
    text = (
        f"gravity_vector: {listing(new.tolist())} m/s² is turned by {number(round(turn, 1))} deg from the present "
        f"{listing(old.tolist())}: a wrong sign? Along the present one: {listing(_along(old, new))}"
    )
    return [Doubt("GRAVITY_DIRECTION", "gravity_vector", text)]


def _along(old: np.ndarray, new: np.ndarray) -> list[float]:
    scaled: list[float] = (old * (np.linalg.norm(new) / np.linalg.norm(old))).round(6).tolist()
    return scaled


def tool_doubts(state: ArmState, message: ToolConfiguration) -> list[Doubt]:
    """Another tool below a payload that stays: its centre of mass is told from the tool frame."""
    before = state.desired.get(("tool_configuration", 0))
    payload = state.desired.get(("payload_information", 0))
    if not isinstance(payload, PayloadInformation) or not payload.payload_mass or before in (None, message):
        return []
    text = (
        f"tool_configuration: the tool changes, the payload of {number(payload.payload_mass)} kg stays; "
        "its centre of mass is relative to the tool frame. Set payload_information too"
    )
    return [Doubt("PAYLOAD_KEPT", "tool_configuration", text)]


def stopping_doubts(state: ArmState, slot: Slot, message: Message) -> list[Doubt]:
    """Joints that a change leaves less way between soft and hard end than they need to stop: v²/2a.

    Speed and deceleration are the effective ones, of the slot's mode, else of the mode that lacks most. What a change
    makes no worse is not its fault.
    """
    key, mode = slot
    if key not in MOVING or (key in _SPEEDS and _stops(state, mode, message)):
        return []
    modes = (ControlMode(mode),) if mode else SLOTS
    limits = limits_of(state).with_value(slot, message)
    before = _shortfalls(limits_of(state), modes)
    return [
        Doubt("STOPPING_DISTANCE", key, f"{key}: {_in_words(limits.joints, at, short)}")
        for at, short in sorted(_shortfalls(limits, modes).items())
        if at not in before or short.lack > before[at].lack + _NO_WORSE
    ]


def _stops(state: ArmState, mode: int, message: Message) -> bool:
    """Whether every joint is sure to stop in its margin with these speeds or accelerations: the quick test."""
    guard = limits_of(state).guard
    if guard is None:
        return True
    fastest = message if isinstance(message, JointSpeedSoftLimits) else state.desired.get((SPEEDS, mode))
    speeds = fastest.joint_speed_soft_limits if isinstance(fastest, JointSpeedSoftLimits) else ()
    known = (message, state.desired.get((ACCELERATIONS, mode)), state.reported.get((ACCELERATIONS, mode)))
    slowing = [
        one.joint_acceleration_soft_limits
        for one in (known[:1] if isinstance(message, JointAccelerationSoftLimits) else known)
        if isinstance(one, JointAccelerationSoftLimits)
    ]
    for at, way, velocity, deceleration in guard.margins:
        speed = min(velocity, math.radians(speeds[at])) if speeds else velocity
        least = min(deceleration, *(math.radians(one[at]) for one in slowing)) if slowing else deceleration
        if not speed * speed <= 2.0 * least * way:
            return False
    return not state.unread.get((ACCELERATIONS, mode))


class _Shortfall(NamedTuple):
    """A joint that cannot stop in a margin: how much it lacks, rad or m, and with which limits."""

    lack: float
    effective: Bounds
    stopping: Stopping


def _shortfalls(limits: ArmLimits, modes: Sequence[ControlMode]) -> dict[int, _Shortfall]:
    """The joints that cannot stop in a margin, each in the mode in which it lacks most."""
    found: dict[int, _Shortfall] = {}
    guard = limits.guard
    if guard is None:
        return found
    for mode in modes:
        effective = limits.effective(mode)
        stopping = check_stopping(guard.hard, effective)
        margins = np.minimum(stopping.lower_margin, stopping.upper_margin)
        for at in map(int, np.flatnonzero(~stopping.consistent)):
            lack = float(stopping.distance[at] - margins[at])
            if at not in found or lack > found[at].lack:
                found[at] = _Shortfall(lack, effective, stopping)
    return found


def _in_words(joints: ArmJoints, at: int, short: _Shortfall) -> str:
    name, effective, found = joints.names[at], short.effective, short.stopping
    way, speed, slowing = (joints.unit(quantity, name) for quantity in ("position_upper", "velocity", "deceleration"))
    ends = (("lower", float(found.lower_margin[at])), ("upper", float(found.upper_margin[at])))
    end, margin = min(ends, key=lambda one: one[1])
    room = f"[{number(found.lower[at])}, {number(found.upper[at])}]"
    return (
        f"joint {at + 1} ({name}) needs {number(found.distance[at])} {way} to stop from "
        f"{number(effective.velocity[at])} {speed} at {number(effective.deceleration[at])} {slowing}, "
        f"{number(margin)} {way} are between its soft and hard {end} end. Consistent: at most "
        f"{number(found.largest_speed[at])} {speed}, or a soft range of {room} {way}"
    )
