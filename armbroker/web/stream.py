"""The stream of changes to each page that is open: server-sent events, merged where a page is slower than the fleet."""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from armbroker.board.board import (
    Board,
    Change,
    EventSeen,
    GroupChanged,
    LinkChanged,
    PlanChanged,
    RowChanged,
    RowGone,
    ServicesChanged,
)
from armbroker.board.events import EventLine

EVENTS_FIRST = 300
"""Events that a page gets when it opens."""
EVENTS_WAITING = 500
"""Events that wait for one page; of more, the oldest are left out, and it is told how many."""
BUFFERED = 65_536
"""Bytes to one page that may wait in this process before it counts as behind."""


class Pace(NamedTuple):
    """Seconds: between two messages to a page, between signs of life, and how long a page may read nothing."""

    between_s: float = 0.1
    alive_s: float = 15.0
    stall_s: float = 20.0


class Viewer:
    """One open page: what it has not been told yet; of each arm it is the latest that is told."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._rows: dict[str, None] = {}
        self._groups: dict[str, None] = {}
        self._plans: dict[int, None] = {}
        self._events: deque[EventLine] = deque(maxlen=EVENTS_WAITING)
        self._skipped = 0
        self._state = False
        self.news = asyncio.Event()

    def note(self, changes: Iterable[Change]) -> None:
        """Take note of changes."""
        for change in changes:
            match change:
                case RowChanged(arm) | RowGone(arm):
                    self._rows[arm] = None
                case GroupChanged(name):
                    self._groups[name] = None
                case PlanChanged(plan):
                    self._plans[plan] = None
                case EventSeen(line):
                    self._skipped += len(self._events) == EVENTS_WAITING
                    self._events.append(line)
                case ServicesChanged() | LinkChanged():
                    self._state = True
        self.news.set()

    def whole(self) -> bytes:
        """Everything, as one message."""
        self._told()
        board = self._board
        events, fleet = (
            [*board.events][-EVENTS_FIRST:],
            {"groups": [*board.groups.values()], "plans": [*board.plans.values()]},
        )
        return message("all", {"rows": board.rows(), "events": events, **fleet, **self._standing()})

    def delta(self) -> bytes:
        """What is new since the last message."""
        board, told = self._board, dict[str, Any]()
        rows = [board.arms[arm].row for arm in self._rows if arm in board.arms]
        gone = [arm for arm in self._rows if arm not in board.arms]
        parts = (
            ("rows", rows), ("gone", gone), ("events", [*self._events]), ("skipped", self._skipped),
            ("groups", [board.groups[name] for name in self._groups if name in board.groups]),
            ("groups_gone", [name for name in self._groups if name not in board.groups]),
            ("plans", [board.plans[plan] for plan in self._plans if plan in board.plans]),
            ("plans_gone", [plan for plan in self._plans if plan not in board.plans]),
        )  # fmt: skip
        for name, value in parts:
            if value:
                told[name] = value
        if self._state:
            told.update(self._standing())
        self._told()
        return message("delta", told)

    def _told(self) -> None:
        """Nothing is left to tell."""
        for waiting in (self._rows, self._groups, self._plans, self._events):
            waiting.clear()
        self._skipped, self._state = 0, False
        self.news.clear()

    def _standing(self) -> dict[str, Any]:
        return {"services": self._board.services, "link": self._board.link}


class Viewers:
    """Every open page, at most so many; a page that reads nothing for `stall_s` is let go."""

    def __init__(self, board: Board, most: int, pace: Pace) -> None:
        self._board = board
        self._most = most
        self._pace = pace
        self._viewers: set[Viewer] = set()

    @property
    def full(self) -> bool:
        """Whether no further page may open."""
        return len(self._viewers) >= self._most

    def tell(self, changes: list[Change]) -> None:
        """Let every page know."""
        for viewer in self._viewers:
            viewer.note(changes)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Write to one page until it goes; that it sends anything more is taken for its end."""
        viewer, loop, pace = Viewer(self._board), asyncio.get_running_loop(), self._pace
        writer.transport.set_write_buffer_limits(high=BUFFERED)
        self._viewers.add(viewer)
        gone = asyncio.create_task(reader.read(1))
        gone.add_done_callback(lambda _: viewer.news.set())
        try:
            await self._send(writer, viewer.whole())
            sent_s = loop.time()
            while not gone.done():
                try:
                    async with asyncio.timeout(pace.alive_s):
                        await viewer.news.wait()
                except TimeoutError:
                    await self._send(writer, b": alive\n\n")
                    continue
                if gone.done():
                    return
                await asyncio.sleep(max(0.0, sent_s + pace.between_s - loop.time()))
                await self._send(writer, viewer.delta())
                sent_s = loop.time()
        except TimeoutError:
            writer.write(message("slow", {"stalled_s": pace.stall_s}))  # what reads again finds it at the end
        finally:
            self._viewers.discard(viewer)
            gone.cancel()

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(data)
        async with asyncio.timeout(self._pace.stall_s):
            await writer.drain()


def message(event: str, content: dict[str, Any]) -> bytes:
    """One server-sent event: a name, and a document on one line."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), msgspec.json.encode(content))
