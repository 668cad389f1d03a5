"""GetHistory, GetEvents and WhoAmI."""

from handlers.rpc.outcome import Answer, EventsQuery, HistoryQuery
from handlers.rpc.plain_params import integer, known_only, listed, plain_params, text
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from schema.codecs.times import format_time
from schema.errors import BrokerError
from schema.items import ITEMS

ADMIN_ITEMS = (AUTHORITY_ITEM, LOCK_ITEM, ARM_ITEM) = ("authority", "lock", "arm")
"""What entries about administration are about: how far the service may go, who holds the arm, which arm it is."""
HISTORY_LIMIT, HISTORY_MOST = 50, 500
"""Changes of one answer: unless told, and at most."""
EVENTS_MOST = 500
"""Events of one answer at most."""
_HIGHEST = (1 << 63) - 1


def get_history(_state: ArmState, request: Request) -> HistoryQuery:
    """Changes of the arm, newest first; `after_rev` and `before_rev` are exclusive.

    Raises:
        BrokerError: unknown_field, unknown_enum, malformed, out_of_limits.
    """
    params = plain_params(request)
    known_only(params, ("after_rev", "before_rev", "item", "limit"))
    item = text(params, "item")
    if item and item not in ITEMS and item not in ADMIN_ITEMS:
        known = listed(item, (*ITEMS, *ADMIN_ITEMS))
        raise BrokerError("unknown_enum", f"params.item: {item[:60]!r} is no item; items: {known}")
    return HistoryQuery(
        after_rev=integer(params, "after_rev", 0, _HIGHEST),
        before_rev=integer(params, "before_rev", 0, _HIGHEST),
        item=item,
        limit=integer(params, "limit", HISTORY_LIMIT, HISTORY_MOST, lowest=1),
    )


def get_events(_state: ArmState, request: Request) -> EventsQuery:
    """Events of the arm after a seq, oldest first."""
    params = plain_params(request)
    known_only(params, ("after_seq", "limit"))
    return EventsQuery(
        after_seq=integer(params, "after_seq", 0, _HIGHEST),
        limit=integer(params, "limit", EVENTS_MOST, EVENTS_MOST, lowest=1),
    )


def who_am_i(_state: ArmState, request: Request) -> Answer:
    """What the service understood of the sender."""
    known_only(plain_params(request), ())
    return Answer(
        {
            "user": request.user,
            "conn": request.conn,
            "codec": request.codec,
            "size": request.size,
            "at": format_time(request.at_us),
            "identity": request.identity,
            "roles": list(request.roles),
        }
    )
