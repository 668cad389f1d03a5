"""CheckCommand: one command through a limiter that is set up from the effective limits; nothing is relayed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handlers.methods.motion_params import (
    check_mode_of,
    joint_order,
    mode_name,
    mode_of,
    refusal,
    usable_limits,
    vector,
)
from handlers.rpc.outcome import Answer
from handlers.rpc.plain_params import known_only, listed, plain_params, text
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from limits.command import CommandCheck, CommandChecker, Limited, LimiterKind
from limits.errors import LimitsError
from limits.ros2.arrays import INTERFACES, JointValues
from limits.stack.joints import ArmJoints
from schema.errors import BrokerError

_NAMES = ("limiter", "state", "command", "dt", "joints", "mode", "check_mode")


def check_command(state: ArmState, request: Request) -> Answer:
    """The command as the limiter lets it pass, and which limit changed which number.

    `state` and `command` are lists by quantity (position, velocity, effort, acceleration, jerk) in rad or m and per s,
    s², s³, N·m or N; `dt` in s.

    Raises:
        BrokerError: malformed, unknown_field, unknown_enum, implausible_value; see `usable_limits`.
    """
    params = plain_params(request)
    known_only(params, _NAMES)
    limits, mode, check_mode = usable_limits(state), mode_of(state, params), check_mode_of(state, params)
    limiter, dt = _limiter(params), _dt(params)
    order = joint_order(params, limits.joints.names)
    now, command = (_values(params, key, order) for key in ("state", "command"))
    if not any(getattr(command, quantity) is not None for quantity in INTERFACES):
        raise BrokerError("malformed", f"params.command: one of {', '.join(INTERFACES)} is needed")
    try:
        checked = CommandChecker(limits.folded, mode).check(limiter, now, command, dt, check_mode)
    except LimitsError as error:
        raise refusal(error) from error
    changed = checked.limited()
    return Answer(
        {
            "limited": bool(changed),
            "mode": mode_name(mode),
            "check_mode": check_mode.name,
            "limiter": limiter.value,
            "command": _listed(checked, order),
            "reasons": [_reason(limits.joints, one) for one in changed],
        }
    )


def _limiter(params: Mapping[str, object]) -> LimiterKind:
    name = text(params, "limiter", LimiterKind.RANGE.value)
    if name not in set(LimiterKind):
        known = listed(name, LimiterKind)
        raise BrokerError("unknown_enum", f"params.limiter: {name[:60]!r} is no limiter; limiters: {known}")
    return LimiterKind(name)


def _dt(params: Mapping[str, object]) -> float:
    return float(vector([params.get("dt")], "params.dt")[0])


def _values(params: Mapping[str, object], key: str, order: Sequence[int]) -> JointValues:
    """Numbers by quantity, joints in the order of the arm.

    Raises:
        BrokerError: malformed, unknown_field, wrong_joint_count, not_finite.
    """
    given = params.get(key, {})
    if not isinstance(given, dict):
        raise BrokerError("malformed", f"params.{key}: lists by quantity are needed")
    known_only(given, INTERFACES)
    arrays = {}
    for quantity, numbers in given.items():
        path = f"params.{key}.{quantity}"
        values = vector(numbers, path)
        if values.size != len(order):
            raise BrokerError("wrong_joint_count", f"{path}: {values.size} numbers for {len(order)} joints")
        arrays[quantity] = values[list(order)]
    return JointValues(**arrays)


def _listed(checked: CommandCheck, order: Sequence[int]) -> dict[str, list[float]]:
    """The limited command in the order of the request, without what was not commanded."""
    back = np.argsort(np.array(order, dtype=np.int64))
    return {
        quantity: values[back].tolist()
        for quantity in INTERFACES
        if (values := getattr(checked.command, quantity)) is not None
    }


def _reason(joints: ArmJoints, one: Limited) -> dict[str, Any]:
    quantity = "position_upper" if one.quantity == "position" else one.quantity
    return {
        "quantity": one.quantity,
        "joint": joints.names.index(one.joint) + 1,
        "joint_name": one.joint,
        "wanted": one.wanted,
        "value": one.value,
        "unit": joints.unit(quantity, one.joint),
        "reason": one.reason.name,
    }
