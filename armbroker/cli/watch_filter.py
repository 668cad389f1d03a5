"""Which events `armbroker watch` shows, and the ones of before. Pure but for the time of an event."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from armbroker.client import ReplyDocument, Watched, WatchedDocument, WatchedEvent
from handlers.methods.queries import ADMIN_ITEMS
from schema.items import ITEMS
from schema.nearest import did_you_mean

WINDOW = 200
"""Events that are fetched at once on the way back; twice as many each time."""
AHEAD = 2**53
"""A seq that no event has."""
EARLIEST = datetime.fromtimestamp(0, UTC)


class Filter(NamedTuple):
    """What is shown: everything, or the events of a user, or of an item, or both."""

    user: str = ""
    item: str = ""

    def shows(self, watched: Watched) -> bool:
        """Whether something seen is shown; what may be missing always is."""
        if not self.user and not self.item:
            return True
        if isinstance(watched, WatchedDocument):
            return watched.name == "svc"
        return not isinstance(watched, WatchedEvent) or self._fits(watched.event)

    def _fits(self, event: dict[str, Any]) -> bool:
        of_user = not self.user or (event.get("by") or {}).get("user") == self.user
        return of_user and (not self.item or (event.get("change") or {}).get("item") == self.item)


def checked_item(item: str) -> str:
    """The item, if there is one of this name.

    Raises:
        ValueError: there is none.
    """
    known = (*ITEMS, *ADMIN_ITEMS)
    if item and item not in known:
        raise ValueError(f"--item: {item[:60]!r} is no item{did_you_mean(item, known)}")
    return item


class Past(NamedTuple):
    """Events of before, oldest first; `upto` is the seq of the last there was; `gone` says what is no more kept."""

    events: list[dict[str, Any]]
    upto: int
    gone: str = ""


async def past_events(ask: Callable[[int], Awaitable[ReplyDocument]], since: datetime) -> Past:
    """The events since a time; `ask` is GetEvents after a seq."""
    upto = (await ask(AHEAD))["seq"]
    width, events, gone = WINDOW, list[dict[str, Any]](), ""
    first = upto + 1
    while first > 1:
        start = max(1, first - width)
        page, kept_from = await _between(ask, start, first)
        events, first, width = page + events, start, width * 2
        if kept_from > start:
            gone = f"events before seq {kept_from} are kept no more"
            break
        if page and _at(page[0]) < since:
            break
    return Past([event for event in events if _at(event) >= since], upto, gone)


async def _between(
    ask: Callable[[int], Awaitable[ReplyDocument]], start: int, end: int
) -> tuple[list[dict[str, Any]], int]:
    """The events from seq `start` to before `end`, and from which seq on events are kept."""
    found: list[dict[str, Any]] = []
    after, kept_from = start - 1, 0
    while after < end - 1:
        result = (await ask(after)).get("result", {})
        kept_from = max(kept_from, result.get("first_seq", 0))
        page = [event for event in result.get("events", []) if event["seq"] < end]
        found += page
        if not page or not result.get("more"):
            break
        after = page[-1]["seq"]
    return found, kept_from


def _at(event: dict[str, Any]) -> datetime:
    try:
        return datetime.fromisoformat(event["at"])
    except (KeyError, ValueError):
        return EARLIEST
