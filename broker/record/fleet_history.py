"""GetFleetHistory: the jobs of the store, the newest first, as far as a query wants their changes."""

from collections.abc import Iterator
from typing import Any

import msgspec

from broker.publish.shortening import short_past
from broker.record.batch_entries import batch_entry
from broker.record.history_entries import history_entry
from broker.store.rows import PastChange
from broker.store.store import Store
from handlers.batch.outcomes import WHOLE_KEY
from handlers.fleet.history import cursor_of
from handlers.rpc.fleet_queries import FleetHistoryQuery

LOOKED_MOST = 20_000
"""Numbers of jobs that one page looks at."""
SPAN = 32
"""Numbers that are looked at in one piece."""
PAGE_BYTES = 58_000
"""Most bytes of the entries of one page."""
ENTRY_BYTES = 50_000
"""Most bytes of one entry; a longer one is told without its values."""
OPEN_US = 7 * 86_400_000_000
"""How long after it was accepted a change is looked for by the time of its end."""
_encode = msgspec.json.Encoder().encode


class FleetHistory:
    """One page; `pieces` looks at a part of the store with each step, then `result` is the page.

    Args:
        store: where the jobs lie.
        query: which changes are wanted.
        arms: the arms whose changes are told; None: those of all there were.
    """

    def __init__(self, store: Store, query: FleetHistoryQuery, arms: frozenset[str] | None) -> None:
        self._store, self._query, self._arms = store, query, arms
        self._entries: list[dict[str, Any]] = []
        self._size = 0
        self._next_n = query.before_n
        """Number above which, and at which, everything was looked at."""
        self._more = True

    @property
    def result(self) -> dict[str, Any]:
        """The page as far as it is known."""
        return {"changes": self._entries, "cursor": cursor_of(self._next_n), "more": self._more}

    def pieces(self) -> Iterator[None]:
        """Look at part after part, until the page is full or enough was looked at.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        lowest, highest = self._store.numbers()
        self._next_n = min(self._next_n, highest + 1)
        last_n = self._next_n - LOOKED_MOST
        while self._more:
            from_n = max(self._next_n - SPAN, last_n, lowest, 1)
            self._look(from_n)
            if self._next_n <= lowest or self._next_n <= 1:
                self._more = False
            if self._next_n <= last_n or self._next_n > from_n:
                return
            yield

    def _look(self, from_n: int) -> None:
        """Look at the jobs from the highest number on that was not looked at; full pages stop before."""
        since_us, item = self._query.since_us, self._query.item
        items = (item, WHOLE_KEY) if item else ()
        jobs, oldest_us = self._store.changes_between(self._next_n, from_n, self._arms, items)
        for row in jobs:
            change = self._wanted(row.past()) if row.tells else None
            if change is not None and not self._take(change):
                return
            self._next_n = row.n
        self._next_n = from_n
        if since_us is not None and 0 < oldest_us < since_us - OPEN_US:
            self._more = False

    def _take(self, change: PastChange) -> bool:
        """Put an entry onto the page; whether there was room."""
        if len(self._entries) >= self._query.limit:
            return False
        entry = short_past({"arm": change.arm, **history_entry(change)}, ENTRY_BYTES)
        size = len(_encode(entry))
        if self._entries and self._size + size > PAGE_BYTES:
            return False
        self._entries.append(entry)
        self._size += size
        return True

    def _wanted(self, change: PastChange | None) -> PastChange | None:
        """The change, if the query wants it."""
        query = self._query
        if change is None or (self._arms is not None and change.arm not in self._arms):
            return None
        at_us = change.settled_at_us or change.at_us
        if (query.since_us is not None and at_us < query.since_us) or (
            query.until_us is not None and at_us > query.until_us
        ):
            return None
        asked = (query.user, query.method, query.outcome)
        told = (change.user, change.method, change.outcome or change.state)
        if any(wanted and wanted != has for wanted, has in zip(asked, told, strict=True)):
            return None
        if query.plan and (change.terms is None or change.terms.plan != query.plan):
            return None
        return change if not query.item or _touches(change, query.item) else None


def _touches(change: PastChange, item: str) -> bool:
    """Whether a change is of an item, or of several slots, one of them of that item."""
    if change.key == item:
        return True
    if change.key != WHOLE_KEY:
        return False
    told = batch_entry(change).values()
    return any(path.partition("/")[0] == item for paths in told for path in paths or ())
