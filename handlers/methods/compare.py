"""Diff and Blame."""

import msgspec

from handlers.compare.sources import read_slots, read_source
from handlers.rpc.outcome import BlameQuery, DiffQuery
from handlers.rpc.plain_params import integer, known_only, plain_params, text
from handlers.rpc.request import Request
from handlers.rpc.source import ViewSource
from handlers.state.arm_state import ArmState
from handlers.state.refusals import not_read
from schema.errors import BrokerError

ROWS_LIMIT, ROWS_MOST = 100, 500
"""Arms of one answer to a Diff of a group: unless told, and at most."""
PAGED = ("after", "limit")
"""Params of a Diff of a group alone."""


def diff(_state: ArmState, request: Request) -> DiffQuery:
    """Diff: what differs between two sources, `from` being what the arm reports unless told; of a group arm by arm.

    Raises:
        BrokerError: unknown_field, malformed, unknown_enum, out_of_limits, and what a source raises.
    """
    params, of_group = plain_params(request), request.arm.startswith("@")
    known_only(params, ("from", "to", "items", *(PAGED if of_group else ())))
    if "to" not in params:
        raise BrokerError("malformed", "params.to: a source is needed")
    base = read_source(params["from"], "params.from") if "from" in params else ViewSource()
    query = DiffQuery(base, read_source(params["to"], "params.to"), read_slots(params))
    if not of_group:
        return query
    limit = integer(params, "limit", ROWS_LIMIT, ROWS_MOST, lowest=1)
    return msgspec.structs.replace(query, after=text(params, "after"), limit=limit)


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
