"""Params of motions: lists of numbers of the joints, in an order of the sender's, and the control mode they are for."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handlers.rpc.plain_params import quoted, text
from handlers.stack.arm_limits import ArmLimits, limits_of
from handlers.state.arm_state import ArmState
from limits.errors import LimitsError
from schema.codecs.large import Grid
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.intrinsic import DynamicLimitsCheckMode
from schema.messages import ControlModeInformation

Array = NDArray[np.float64]

_NUMBERS = frozenset({float, int})
_SHORT = "DYNAMIC_LIMITS_CHECK_MODE_"
_KNOWN = {mode.value: mode for mode in ControlMode if mode}


def usable_limits(state: ArmState) -> ArmLimits:
    """The limits of an arm.

    Raises:
        BrokerError: arm_not_read; held: the files of the arm and what it tells make no limits.
    """
    limits = limits_of(state)
    try:
        limits.stack  # noqa: B018 - made when first asked for
    except LimitsError as error:
        raise BrokerError("held", f"the limits of {state.arm} cannot be used: {error}") from error
    return limits


def present_mode(state: ArmState) -> ControlMode | None:
    """The control mode that the arm is in; None where that is not known: not online, or a change is under way."""
    slot = ("control_mode", 0)
    seen, wanted = state.reported.get(slot), state.desired.get(slot)
    if not state.online or not isinstance(seen, ControlModeInformation) or seen != wanted:
        return None
    return _KNOWN.get(int(seen.control_mode))


def mode_of(state: ArmState, params: Mapping[str, object]) -> ControlMode | None:
    """The mode that the params name, else the present one; None for the unspecified and for one that is not known.

    Raises:
        BrokerError: malformed, unknown_enum.
    """
    name = text(params, "mode")
    if not name:
        return present_mode(state)
    mode = ControlMode.__members__.get(name)
    if mode is None:
        raise BrokerError("unknown_enum", f"params.mode: {name[:60]!r} is no control mode")
    return mode or None


def mode_name(mode: ControlMode | None) -> str:
    """Name of a mode; `UNSPECIFIED_CONTROL_MODE` stands for one that is not known."""
    return (mode or ControlMode.UNSPECIFIED_CONTROL_MODE).name


def check_mode_of(state: ArmState, params: Mapping[str, object]) -> DynamicLimitsCheckMode:
    """The check mode that the params name, with or without its prefix; accelerations are checked unless told.

    Raises:
        BrokerError: malformed, unknown_enum; not_permitted: looser than the settings of the arm allow.
    """
    name = text(params, "check_mode", "CHECK_JOINT_ACCELERATION")
    mode = DynamicLimitsCheckMode.__members__.get(_SHORT + name.removeprefix(_SHORT))
    if mode is None:
        known = ", ".join(member.removeprefix(_SHORT) for member in DynamicLimitsCheckMode.__members__)
        raise BrokerError("unknown_enum", f"params.check_mode: {name[:60]!r} is no check mode; known: {known}")
    loosest = state.sources.loosest
    if mode > loosest:
        most = loosest.name.removeprefix(_SHORT)
        text_ = f"params.check_mode: the settings of {state.arm} allow {most} at the loosest, not {name}"
        raise BrokerError("not_permitted", text_)
    return mode


def joint_order(params: Mapping[str, object], names: Sequence[str]) -> list[int]:
    """For each joint of the arm the place of its numbers; `joints` names them, absent they stand in the arm's order.

    Raises:
        BrokerError: malformed, wrong_joint_count; unknown_enum: a name that is no joint of the arm, or stands twice.
    """
    given = params.get("joints")
    if given is None:
        return list(range(len(names)))
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise BrokerError("malformed", "params.joints: a list of names is needed")
    for at, name in enumerate(given):
        if name not in names or name in given[:at]:
            known = f"joints: {', '.join(names)}"
            what = "stands twice" if name in names else "is no joint of the arm"
            raise BrokerError("unknown_enum", f"params.joints[{at}]: {name[:60]!r} {what}; {known}")
    if len(given) != len(names):
        raise BrokerError("wrong_joint_count", f"params.joints: {len(given)} names for {len(names)} joints")
    return [given.index(name) for name in names]


def vector(value: object, path: str) -> Array:
    """Finite numbers of a list, shape (numbers,).

    Raises:
        BrokerError: malformed, not_finite.
    """
    return _finite(_array(_numbers(value, path), path), path)


def rows(value: object, path: str, joints: int) -> Array:
    """Finite numbers of a list of lists with one number a joint, shape (lists, joints).

    Raises:
        BrokerError: malformed, wrong_joint_count, not_finite.
    """
    if isinstance(value, Grid):
        return _finite(_array(value.numbers, path).reshape(-1, _joints_wide(value.width, path, 0, joints)), path)
    if not isinstance(value, (list, tuple)):
        raise BrokerError("malformed", f"{path}: a list of lists of numbers is needed")
    if type(value) is list:
        for at, row in enumerate(value):
            _numbers(row, f"{path}[{at}]")
    if set(map(len, value)) - {joints}:
        at, length = next((at, length) for at, length in enumerate(map(len, value)) if length != joints)
        _joints_wide(length, path, at, joints)
    return _finite(_array(chain.from_iterable(value), path).reshape(len(value), joints), path)


def _joints_wide(length: int, path: str, at: int, joints: int) -> int:
    """The length of a list that has one number a joint.

    Raises:
        BrokerError: wrong_joint_count.
    """
    if length != joints:
        raise BrokerError("wrong_joint_count", f"{path}[{at}]: {length} numbers for {joints} joints")
    return length


def _numbers(value: object, path: str) -> Sequence[Any]:
    """A list of numbers; a tuple comes from a decoder that took nothing else."""
    if type(value) is tuple:
        return value
    if not isinstance(value, list):
        raise BrokerError("malformed", f"{path}: a list of numbers is needed")
    if set(map(type, value)) - _NUMBERS:
        at = next(at for at, number in enumerate(value) if type(number) not in _NUMBERS)
        raise BrokerError("malformed", f"{path}[{at}]: {quoted(value[at])} is no number")
    return value


def _array(numbers: Any, path: str) -> Array:
    try:
        return np.fromiter(numbers, dtype=np.float64)
    except OverflowError:
        raise BrokerError("not_finite", f"{path}: an integer does not fit a double") from None


def _finite(values: Array, path: str) -> Array:
    if not np.isfinite(values).all():
        at = np.argwhere(~np.isfinite(values))[0].tolist()
        place = "".join(f"[{index}]" for index in at)
        raise BrokerError("not_finite", f"{path}{place}: {values[tuple(at)]} is not finite")
    return values


def refusal(error: LimitsError) -> BrokerError:
    """The refusal of what the limits engine cannot check, in its words."""
    return BrokerError("implausible_value", f"params: {error}")
