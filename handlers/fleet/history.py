"""GetFleetHistory: the changes of many arms, newest first."""

from collections.abc import Mapping

from handlers.batch.outcomes import WHOLE_KEY
from handlers.methods.queries import ADMIN_ITEMS, HISTORY_LIMIT, HISTORY_MOST
from handlers.rpc.fleet_queries import FleetHistoryQuery
from handlers.rpc.plain_params import integer, known_only, listed, plain_params, quoted, text
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from schema.codecs.times import parse_time
from schema.errors import BrokerError
from schema.items import ITEMS

_HIGHEST = (1 << 63) - 1
_DIGITS = 12
"""Hexadecimal digits of a cursor."""
_PARAMS = ("since", "until", "user", "item", "method", "plan", "outcome", "cursor", "limit")
_MILLI = 1_000


def get_fleet_history(_state: ArmState, request: Request) -> FleetHistoryQuery:
    """Changes of the arms of a group; `since` and `until` bound the time that an entry tells.

    Raises:
        BrokerError: unknown_field, unknown_enum, malformed, out_of_limits.
    """
    params = plain_params(request)
    known_only(params, _PARAMS)
    item = text(params, "item")
    if item and item not in (known := (*ITEMS, WHOLE_KEY, *ADMIN_ITEMS)):
        raise BrokerError("unknown_enum", f"params.item: {item[:60]!r} is no item; items: {listed(item, known)}")
    return FleetHistoryQuery(
        since_us=_time(params, "since"),
        until_us=_time(params, "until"),
        user=text(params, "user"),
        item=item,
        method=text(params, "method"),
        outcome=text(params, "outcome"),
        plan=integer(params, "plan", 0, _HIGHEST, lowest=1) if "plan" in params else 0,
        before_n=_number_of(text(params, "cursor")),
        limit=integer(params, "limit", HISTORY_LIMIT, HISTORY_MOST, lowest=1),
    )


def cursor_of(number: int) -> str:
    """The cursor of a page that stopped at the job of a number."""
    return f"{number:0{_DIGITS}x}"


def _number_of(cursor: str) -> int:
    if not cursor:
        return _HIGHEST
    if len(cursor) != _DIGITS or not set(cursor) <= set("0123456789abcdef"):
        raise BrokerError("malformed", f"params.cursor: {cursor[:60]!r} is no cursor of a page before")
    return int(cursor, 16)


def _time(params: Mapping[str, object], key: str) -> int | None:
    """A time in µs since 1970, given in RFC 3339 or ms since 1970."""
    given = params.get(key)
    if given is None:
        return None
    if isinstance(given, int) and not isinstance(given, bool):
        return given * _MILLI
    try:
        return parse_time(text(params, key))
    except ValueError as error:
        raise BrokerError("malformed", f"params.{key}: {quoted(given)} is {error}") from error
