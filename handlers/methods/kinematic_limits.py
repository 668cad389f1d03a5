"""The read-only views over several items."""

from collections.abc import Callable, Mapping
from functools import partial

from handlers.items.settling import agrees
from handlers.items.verbs import offline_warnings, until_of, viewed
from handlers.rpc.outcome import Answer
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from handlers.state.refusals import not_read
from limits.kinova_models import MODELS
from schema.arms import Slot
from schema.enums import ControlMode
from schema.envelope import Warned
from schema.errors import BrokerError
from schema.items import DESIRED_SPEEDS, ITEMS, NUMBER_FIELDS, SOFT_LIMITS
from schema.messages import (
    ControlModeInformation,
    DesiredSpeeds,
    KinematicLimits,
    KinematicLimitsList,
    Message,
)

LIMIT_MODES = tuple(int(mode) for mode in ITEMS["joint_speed_soft_limits"].modes)
"""The modes that take soft limits."""

_VIEW_KEYS = tuple((item.key, item.field, item.hard) for item in SOFT_LIMITS)
_DESIRED_KEYS = tuple((item.key, NUMBER_FIELDS[item.key]) for item in DESIRED_SPEEDS)

Values = Mapping[Slot, Message]


def _soft_limits(values: Values, mode: int) -> KinematicLimits:
    """The limits that a mode takes; what it does not take is 0 or empty."""
    found = {hard: getattr(values[key, mode], field) for key, field, hard in _VIEW_KEYS if (key, mode) in values}
    return KinematicLimits(ControlMode(mode), **found)


def _all_soft_limits(values: Values) -> KinematicLimitsList:
    return KinematicLimitsList(tuple(_soft_limits(values, mode) for mode in LIMIT_MODES))


def _desired_speeds(values: Values) -> DesiredSpeeds:
    found = {field: getattr(values[key, 0], field) for key, field in _DESIRED_KEYS if (key, 0) in values}
    return DesiredSpeeds(**found)


def _differs(state: ArmState, keys: set[Slot]) -> tuple[bool, int]:
    """Whether desired and reported differ in any of the slots, and the newest unsettled revision of them."""
    slots = keys & state.reported.keys()
    differs = not all(agrees(state, slot) for slot in slots)
    return differs, max((state.open_rev.get(slot, 0) for slot in slots if state.open.get(slot)), default=0)


def _answer(state: ArmState, request: Request, keys: set[Slot], made: Callable[[Values], Message]) -> Answer:
    differs, pending_rev = _differs(state, keys)
    return Answer(
        made(viewed(state, request.envelope.view)),
        warnings=offline_warnings(state),
        reported_at_us=state.read_at_us,
        desired=made(state.desired) if differs else None,
        pending_rev=pending_rev,
        until_us=until_of(state, keys),
    )


def get_hard_limits(state: ArmState, _request: Request) -> Answer:
    """GetKinematicHardLimits: what the arm told, else its profile (warning FROM_PROFILE).

    Raises:
        BrokerError: arm_not_read.
    """
    warnings = offline_warnings(state)
    if state.description is not None:
        limits, from_profile = state.description.hard_limits, state.description.hard_source != "hard:device"
    elif (profile := MODELS.get(state.model)) is not None:
        limits, from_profile = profile.hard, True
    else:
        raise not_read(state)
    if from_profile:
        warnings += (Warned("FROM_PROFILE", f"{state.arm} did not tell its hard limits; these are its profile's"),)
    return Answer(limits, warnings=warnings, reported_at_us=state.read_at_us)


def get_soft_limits(state: ArmState, request: Request) -> Answer:
    """GetKinematicSoftLimits of one of the five modes that take limits.

    Raises:
        BrokerError: mode_without_limit, arm_not_read.
    """
    message = request.params
    mode = int(message.control_mode) if isinstance(message, ControlModeInformation) else 0
    if mode not in LIMIT_MODES:
        raise BrokerError("mode_without_limit", f"control_mode: {ControlMode(mode).name} takes no soft limits")
    if not state.adopted:
        raise not_read(state)
    keys = {(key, mode) for key, _, _ in _VIEW_KEYS}
    return _answer(state, request, keys, partial(_soft_limits, mode=mode))


def get_all_soft_limits(state: ArmState, request: Request) -> Answer:
    """GetAllKinematicSoftLimits: the five modes that take limits.

    Raises:
        BrokerError: arm_not_read.
    """
    if not state.adopted:
        raise not_read(state)
    keys = {(key, mode) for key, _, _ in _VIEW_KEYS for mode in LIMIT_MODES}
    return _answer(state, request, keys, _all_soft_limits)


def get_desired_speeds(state: ArmState, request: Request) -> Answer:
    """GetDesiredSpeeds: the three desired joystick speeds.

    Raises:
        BrokerError: arm_not_read.
    """
    if not state.adopted:
        raise not_read(state)
    keys = {(key, 0) for key, _ in _DESIRED_KEYS}
    return _answer(state, request, keys, _desired_speeds)
