"""Explain: the layers behind each effective number, with who set it and since when."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from handlers.methods.motion_params import mode_name, mode_of, usable_limits
from handlers.rpc.outcome import Answer
from handlers.rpc.plain_params import known_only, plain_params, text
from handlers.rpc.request import Request
from handlers.stack.effective import came_from, with_end
from handlers.state.arm_state import ArmState
from limits.stack.explain import Explanation, Said, explain
from limits.stack.joints import JOINT_QUANTITIES, QUANTITIES, TWIST_QUANTITIES, ArmJoints
from schema.errors import BrokerError

Place = tuple[str, str | None]
"""A quantity and its joint; a twist has none."""


def explain_limits(state: ArmState, request: Request) -> Answer:
    """Explain one number, those of a quantity or of a joint, or all: in a mode, else in the present one."""
    params = plain_params(request)
    known_only(params, ("quantity", "joint", "mode"))
    limits, mode = usable_limits(state), mode_of(state, params)
    numbers = [
        _explanation(state, explain(limits.stack, quantity, joint, mode, effective=limits.folded))
        for quantity, joint in _places(limits.joints, params)
    ]
    return Answer({"mode": mode_name(mode), "numbers": numbers})


def finite(value: float) -> float | None:
    """The number, None where it is infinite or not known."""
    return value if math.isfinite(value) else None


def _places(joints: ArmJoints, params: Mapping[str, object]) -> Iterator[Place]:
    """What is asked for, in the order of the quantities, then of the joints.

    Raises:
        BrokerError: malformed; unknown_enum: no such quantity or joint.
    """
    quantity, joint = text(params, "quantity"), text(params, "joint")
    if quantity and quantity not in QUANTITIES:
        known = ", ".join(QUANTITIES)
        raise BrokerError("unknown_enum", f"params.quantity: {quantity[:60]!r} is no quantity; quantities: {known}")
    if joint and joint not in joints.names:
        known = ", ".join(joints.names)
        raise BrokerError("unknown_enum", f"params.joint: {joint[:60]!r} is no joint of the arm; joints: {known}")
    if joint and quantity in TWIST_QUANTITIES:
        raise BrokerError("malformed", f"params.joint: {quantity} is of the whole arm, it has no joint")
    for one in (quantity,) if quantity else QUANTITIES:
        if one in JOINT_QUANTITIES:
            yield from ((one, name) for name in joints.names if joint in ("", name))
        elif not joint:
            yield one, None


def _explanation(state: ArmState, found: Explanation) -> dict[str, Any]:
    document: dict[str, Any] = {"quantity": found.quantity}
    if found.joint is not None:
        document["joint"] = found.joint
    document |= {"value": finite(found.value), "unit": found.unit}
    for said in found.said:
        if said.binds:
            document |= with_end(state, came_from(said.kind, said.origin))
    document["stack"] = [_said(state, said) for said in found.said]
    return document


def _said(state: ArmState, said: Said) -> dict[str, Any]:
    document = with_end(state, came_from(said.kind, said.origin))
    if said.mode is not None:
        document["mode"] = said.mode.name
    if said.origin.recipe:
        document["recipe"] = said.origin.recipe
    document |= {"value": finite(said.value), "binds": said.binds}
    if said.law is not None:
        document["law"] = msgspec.structs.asdict(said.law)
    return document
