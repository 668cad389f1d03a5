"""Questions about many arms: answered piece by piece, beside all other requests."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import Any

import msgspec
import structlog

from broker.accept.comparisons import Comparisons
from broker.accept.long_reads import LongReads
from broker.arms.arm_session import ArmSession
from broker.publish.contents import seen
from broker.record.fleet_history import FleetHistory
from broker.settings import EVERYBODY, Group
from broker.settle.contact.slices import Slices
from broker.store.errors import RowDamagedError
from broker.store.store import Store
from handlers.compare.comparison import comparison_row
from handlers.fleet.find_arms import matches, row
from handlers.rpc.fleet_queries import FindQuery, FleetHistoryQuery
from handlers.rpc.outcome import Answer, DiffQuery
from handlers.rpc.request import Request
from handlers.state.recipes import Shelf
from schema.errors import BrokerError

log = structlog.get_logger()

AT_ONCE = 4
"""Questions that are answered at a time."""
PIECE = 16
"""Arms that are looked at without a turn of the event loop."""
PAUSE_MOST_S = 0.004
"""The longest pause after a slice of work."""
PAGE_BYTES = 58_000
"""Most bytes of the rows of one page: it stays under 60 KiB with the reply around it."""
FleetQuery = FindQuery | FleetHistoryQuery | DiffQuery
WORDS_MOST = 200
"""Characters of why an arm could not be compared."""
Give = Callable[[Answer | BrokerError], None]
"""Takes the answer to a question, or why there is none."""
_encode = msgspec.json.Encoder().encode


class _Page:
    """The rows of one answer: those of arms above an id, as many as there is room for."""

    def __init__(self, limit: int, after: str) -> None:
        self._limit, self._after, self._size = limit, after, 0
        self.rows: list[dict[str, Any]] = []
        self.more = False

    def takes(self, arm: str) -> bool:
        """Whether the row of an arm is told, if there is room for it."""
        if self.more or arm <= self._after:
            return False
        self.more = len(self.rows) == self._limit
        return not self.more

    def add(self, told: dict[str, Any]) -> None:
        """Tell a row, unless it makes the page too large."""
        self._size += len(_encode(told))
        self.more = bool(self.rows and self._size > PAGE_BYTES)
        if not self.more:
            self.rows.append(told)


class FleetQuestions:
    """Answers some questions at a time; each piece of work has its turn among those of all.

    Args:
        sessions: the arms.
        store: what was.
        comparisons: compares one arm.
        shelf: the recipes.
        tasks: where the work on a question runs.
        room: the bytes that the MQTT server takes of the entries of one page.
    """

    def __init__(
        self,
        sessions: Mapping[str, ArmSession],
        store: Store,
        comparisons: Comparisons,
        shelf: Shelf,
        tasks: asyncio.TaskGroup,
        room: Callable[[], int],
    ) -> None:
        self._sessions, self._store, self._comparisons, self._shelf = sessions, store, comparisons, shelf
        self._tasks = tasks
        self.reads = LongReads(store, room, tasks)
        """Answers questions about one arm that take long."""
        self._slices = Slices(asyncio.get_running_loop(), PAUSE_MOST_S)
        self._slices.served = True
        self._running: dict[asyncio.Task[None], Give] = {}
        self._works: dict[type[FleetQuery], Callable[[Group, Request, Any], Coroutine[None, None, Answer]]] = {
            FindQuery: self._find,
            FleetHistoryQuery: self._history,
            DiffQuery: self._diff,
        }

    def ask(self, group: Group, request: Request, query: FleetQuery, give: Give) -> None:
        """Begin to answer a question.

        Raises:
            BrokerError: busy.
        """
        if len(self._running) >= AT_ONCE:
            raise BrokerError("busy", f"{AT_ONCE} questions about many arms are being answered; send it again as it is")
        task = self._tasks.create_task(self._answer(group, request, query, give))
        self._running[task] = give
        task.add_done_callback(self._running.pop)

    def close(self) -> None:
        """Answer nothing more; what is under way is refused."""
        self.reads.close()
        for task, give in self._running.items():
            task.cancel()
            give(BrokerError("shutting_down", "the service is ending; send the same request again"))

    async def _answer(self, group: Group, request: Request, query: FleetQuery, give: Give) -> None:
        try:
            give(await self._works[type(query)](group, request, query))
        except BrokerError as error:
            give(error)
        except RowDamagedError as error:
            give(BrokerError("internal", f"{error}. Restore the store from a backup."))
        except Exception:
            log.exception("question_failed")
            give(BrokerError("internal", "the service failed on this request"))

    async def _find(self, group: Group, _request: Request, query: FindQuery) -> Answer:
        """The arms for which everything holds, each as it is when it is looked at."""
        page, count = _Page(query.limit, query.after), 0
        async with aclosing(self._arms(group, PIECE)) as arms:
            async for session in arms:
                if matches(query, found := seen(session)):
                    count += 1
                    if page.takes(session.arm):
                        page.add(row(query, found))
        return Answer({"arms": page.rows, "count": count, "more": page.more})

    async def _diff(self, group: Group, request: Request, query: DiffQuery) -> Answer:
        """What each arm has otherwise; all are counted."""
        self._comparisons.check(request, query, self._shelf)
        page, counts = _Page(query.limit, query.after), dict.fromkeys(("same", "differ", "failed"), 0)
        async with aclosing(self._arms(group, 1)) as arms:  # what an arm was may take a while to find
            async for session in arms:
                told = self._compared(session, request, query)
                counts["failed" if "kind" in told else "same" if told["same"] else "differ"] += 1
                if page.takes(session.arm):
                    page.add(told)
        return Answer({"rows": page.rows, "counts": counts, "more": page.more})

    def _compared(self, session: ArmSession, request: Request, query: DiffQuery) -> dict[str, Any]:
        """The row of an arm, or why there is none."""
        try:
            return comparison_row(session.arm, self._comparisons.compared(session, request, query))
        except (BrokerError, RowDamagedError) as error:
            kind = error.kind if isinstance(error, BrokerError) else "internal"
            return {"arm": session.arm, "kind": kind, "message": str(error)[:WORDS_MOST]}

    async def _arms(self, group: Group, piece: int) -> AsyncGenerator[ArmSession, None]:
        """The arms of a group in order of id, at least so many without a pause."""
        for first in range(0, len(group.arms), piece):
            async with self._slices:
                for session in map(self._sessions.get, group.arms[first : first + piece]):
                    if session is not None:
                        yield session

    async def _history(self, group: Group, _request: Request, query: FleetHistoryQuery) -> Answer:
        """The changes of the arms of a group; of all there ever were, where it is that of all."""
        page = FleetHistory(self._store, query, None if group.name == EVERYBODY else group.members)
        pieces = page.pieces()
        while True:
            async with self._slices:
                if next(pieces, pieces) is pieces:
                    return Answer(page.result)
