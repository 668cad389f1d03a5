"""Pages of the history and of events: long ones are read piece by piece, user by user in turns, beside all others."""

import asyncio
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import msgspec
import structlog

from broker.record.history_entries import history_entry
from broker.record.item_history import pieces_of
from broker.settle.contact.slices import Slices
from broker.store.errors import RowDamagedError
from broker.store.store import Store
from handlers.rpc.outcome import Answer, EventsQuery, HistoryQuery
from schema.errors import BrokerError

log = structlog.get_logger()

AT_ONCE = 32
"""Rows of a page that is read at once."""
PIECE = 16
"""Rows that are read and told without a turn of the event loop, some 50 µs each."""
PAUSE_MOST_S = 0.004
"""The longest pause after a slice of work."""
NO_BOUND = (1 << 63) - 1
PAGE_BYTES = 60_000 - 2_000
"""Most bytes of the events of one page: a page stays under 60 KiB with the reply around it."""
Query = HistoryQuery | EventsQuery
Pieces = Generator[None, None, Answer]
"""Reads a piece at a time; returns the answer."""
Give = Callable[[Answer | BrokerError], None]
"""Takes the answer to a question, or why there is none."""
_encode = msgspec.json.Encoder().encode


class _Read(NamedTuple):
    pieces: Pieces
    give: Give


class LongReads:
    """Answers questions about what the store has of an arm, or of the fleet.

    Args:
        store: what was.
        room: the bytes that the MQTT server takes of the entries of one page.
        tasks: where long ones are worked on.
    """

    def __init__(self, store: Store, room: Callable[[], int], tasks: asyncio.TaskGroup) -> None:
        self._store, self._room, self._tasks = store, room, tasks
        self._slices = Slices(asyncio.get_running_loop(), PAUSE_MOST_S)
        self._slices.served = True
        self._lanes: dict[str, deque[_Read]] = {}
        """What is being read of each user, and waits; the user whose turn it is first."""
        self._task: asyncio.Task[None] | None = None

    def ask(self, user: str, arm: str, query: Query, give: Give) -> None:
        """Answer a question; a short one at once."""
        read = _Read(self._history(arm, query) if isinstance(query, HistoryQuery) else self._events(arm, query), give)
        if query.limit <= AT_ONCE:
            while not _advance(read):
                pass
            return
        self._lanes.setdefault(user, deque()).append(read)
        if self._task is None:
            self._task = self._tasks.create_task(self._work())

    def close(self) -> None:
        """Read nothing more; what is under way is refused."""
        if self._task is not None:
            self._task.cancel()
        lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            for read in lane:
                read.give(BrokerError("shutting_down", "the service is ending; send the same request again"))

    async def _work(self) -> None:
        while self._lanes:
            async with self._slices:
                user = next(iter(self._lanes))
                lane = self._lanes.pop(user)
                if _advance(lane[0]):
                    lane.popleft()
                if lane:
                    self._lanes[user] = lane
        self._task = None

    def _history(self, arm: str, query: HistoryQuery) -> Pieces:
        """The changes of an arm, as many as there is room for."""
        entries: list[dict[str, Any]] = []
        missing: list[int] = []
        more, left = False, self._room()
        before_rev = query.before_rev or NO_BOUND
        for page in pieces_of(self._store, arm, query.after_rev, before_rev, query.item, query.limit, PIECE):
            more = page.more
            missing += page.missing
            for change in page.changes:
                entry = history_entry(change)
                left -= len(_encode(entry)) + 1
                if left < 0 and entries:
                    whole = [one for one in entries if one["rev"] > change.rev]  # the next page begins below a revision
                    entries = whole or entries
                    told = [rev for rev in missing if rev > entries[-1]["rev"]]
                    return _history_answer(entries, told, more=True)
                entries.append(entry)
            yield
        return _history_answer(entries, missing, more=more)

    def _events(self, arm: str, query: EventsQuery) -> Pieces:
        """The events of an arm, or of the fleet, as many as there is room for."""
        page = yield from self._store.event_pieces(arm, query.after_seq, query.limit, PAGE_BYTES, PIECE)
        events: list[Any] = []
        missing = list(page.missing)
        for number, row in enumerate(page.events, start=1):
            try:
                events.append(msgspec.json.decode(row.body))
            except msgspec.DecodeError:
                missing.append((row.seq, row.seq))
            if number % AT_ONCE == 0:
                yield
        return Answer(
            {
                "events": events,
                "first_seq": page.first_seq,
                "head_seq": page.head_seq,
                "more": page.more,
                "missing": [{"first": first, "last": last} for first, last in sorted(missing)],
            }
        )


def _history_answer(entries: list[dict[str, Any]], missing: list[int], *, more: bool) -> Answer:
    return Answer({"changes": entries, "more": more, "missing": [{"first": rev, "last": rev} for rev in missing]})


def _advance(read: _Read) -> bool:
    """Read one piece; whether that was the last one, and the answer was given."""
    try:
        next(read.pieces)
    except StopIteration as end:
        read.give(end.value)
    except RowDamagedError as error:
        read.give(BrokerError("internal", f"{error}. Restore the store from a backup."))
    except Exception:
        log.exception("read_failed")
        read.give(BrokerError("internal", "the service failed on this request"))
    else:
        return False
    return True
