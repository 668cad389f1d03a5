"""ExtendOverride and EndOverride: which overrides are meant, and what becomes of them."""

from collections.abc import Mapping

from handlers.items.direction import Direction
from handlers.overrides.stack import direction
from handlers.rpc.outcome import EndOrder, ExtendOrder
from handlers.rpc.plain_params import integer, known_only, listed, plain_params, quoted, text
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED
from schema.codecs.envelope import VALID_FOR_MS
from schema.codecs.times import parse_time
from schema.errors import BrokerError

LARGEST = (1 << 63) - 1
_NAMED = ("rev", "plan", "all")
DIRECTIONS = (Direction.TIGHTENING, Direction.LOOSENING, Direction.UNORDERED)
"""Those that an override may have."""


def extend_override(state: ArmState, request: Request) -> ExtendOrder:
    """ExtendOverride: a new end, earlier or later, counted from now.

    Raises:
        BrokerError: unknown_field, malformed, out_of_limits; revision_conflict: nothing that is named is live.
    """
    params = plain_params(request)
    known_only(params, (*_NAMED, "valid_for_ms", "until"))
    revs = _named(state, params)
    return ExtendOrder(revs, _until_us(params, request.at_us))


def end_override(state: ArmState, request: Request) -> EndOrder:
    """EndOverride: it ends now, or what it gave becomes the ground.

    Raises:
        BrokerError: unknown_field, unknown_enum, malformed; revision_conflict: nothing that is named is live.
    """
    params = plain_params(request)
    known_only(params, (*_NAMED, "direction", "keep"))
    keep = params.get("keep", False)
    if type(keep) is not bool:
        raise BrokerError("malformed", f"params.keep: {quoted(keep)} is no bool. {NOTHING_CHANGED}")
    return EndOrder(_named(state, params), keep)


def _named(state: ArmState, params: Mapping[str, object]) -> tuple[int, ...]:
    """The revisions of the live overrides that are named, oldest first."""
    if sum(name in params for name in _NAMED) != 1:
        raise BrokerError("malformed", f"params: one of rev, plan or all: true is needed. {NOTHING_CHANGED}")
    live = () if state.overrides is None else state.overrides.live
    wanted = _direction(params)
    if "rev" in params:
        rev = integer(params, "rev", 0, LARGEST, 1)
        found, what = [one for one in live if one.rev == rev], f"params.rev: {rev} is no live override of {state.arm}"
    elif "plan" in params:
        plan = integer(params, "plan", 0, LARGEST, 1)
        found = [one for one in live if one.plan == plan]
        what = f"params.plan: {plan} has no live override of {state.arm}"
    elif params["all"] is not True:
        raise BrokerError("malformed", f"params.all: only true is known, got {quoted(params['all'])}")
    else:
        found, what = list(live), f"params.all: {state.arm} has no live override"
    if wanted and state.overrides is not None:
        overrides = state.overrides
        found = [one for one in found if direction(overrides, one) == wanted]
        what += f" that is {wanted}" if not found else ""
    if not found:
        known = ", ".join(str(one.rev) for one in live) or "none"
        raise BrokerError("revision_conflict", f"{what}; live: {known}. {NOTHING_CHANGED}")
    return tuple(one.rev for one in found)


def _direction(params: Mapping[str, object]) -> str:
    if "direction" not in params:
        return ""
    name = text(params, "direction")
    if name not in DIRECTIONS:
        known = listed(name, DIRECTIONS)
        raise BrokerError("unknown_enum", f"params.direction: {name[:60]!r} is none of {known}. {NOTHING_CHANGED}")
    return name


def _until_us(params: Mapping[str, object], now_us: int) -> int:
    """The new end, µs since 1970: 1 s to 30 d ahead."""
    if ("until" in params) == ("valid_for_ms" in params):
        raise BrokerError("malformed", f"params: either valid_for_ms or until is needed. {NOTHING_CHANGED}")
    low, high = VALID_FOR_MS
    if "valid_for_ms" in params:
        return now_us + integer(params, "valid_for_ms", 0, high, low) * 1_000
    until = text(params, "until")
    try:
        until_us = parse_time(until)
    except ValueError as error:
        raise BrokerError("malformed", f"params.until: {until[:60]!r}: {error}. {NOTHING_CHANGED}") from None
    if not low * 1_000 <= until_us - now_us <= high * 1_000:
        name = "VALUE_IS_BELOW_MINIMUM" if until_us < now_us + low * 1_000 else "VALUE_IS_ABOVE_MAXIMUM"
        why = f"params.until: {until} is not 1 s to {high // 86_400_000} d ahead. {NOTHING_CHANGED}"
        raise BrokerError("out_of_limits", why, name=name)
    return until_us
