"""Diff and Blame of an arm."""

from handlers.compare.sources import read_slots, read_source
from handlers.rpc.outcome import BlameQuery, DiffQuery
from handlers.rpc.plain_params import known_only, plain_params
from handlers.rpc.request import Request
from handlers.rpc.source import ViewSource
from handlers.state.arm_state import ArmState
from handlers.state.refusals import not_read
from schema.errors import BrokerError


def diff(_state: ArmState, request: Request) -> DiffQuery:
    """Diff: what differs between two sources, `from` being what the arm reports unless told.

    Raises:
        BrokerError: unknown_field, malformed, unknown_enum, out_of_limits, and what a source raises.
    """
    params = plain_params(request)
    known_only(params, ("from", "to", "items"))
    if "to" not in params:
        raise BrokerError("malformed", "params.to: a source is needed")
    base = read_source(params["from"], "params.from") if "from" in params else ViewSource()
    return DiffQuery(base, read_source(params["to"], "params.to"), read_slots(params))


def blame(state: ArmState, request: Request) -> BlameQuery:
    """Blame: who set which of the values in force.

    Raises:
        BrokerError: unknown_field, malformed, unknown_enum, out_of_limits, arm_not_read.
    """
    params = plain_params(request)
    known_only(params, ("items",))
    slots = read_slots(params)
    if not state.adopted:
        raise not_read(state)
    return BlameQuery(slots)
