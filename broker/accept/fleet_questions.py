"""Questions about many arms: answered piece by piece, beside all other requests."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec
import structlog

from broker.arms.arm_session import ArmSession
from broker.publish.contents import seen
from broker.record.fleet_history import FleetHistory
from broker.settings import EVERYBODY, Group
from broker.settle.slices import Slices
from broker.store.errors import RowDamagedError
from broker.store.store import Store
from handlers.fleet.find_arms import matches, row
from handlers.rpc.fleet_queries import FindQuery, FleetHistoryQuery
from handlers.rpc.outcome import Answer
from schema.errors import BrokerError

log = structlog.get_logger()

AT_ONCE = 4
"""Questions that are answered at a time."""
PIECE = 16
"""Arms that are looked at without a turn of the event loop."""
PAGE_BYTES = 58_000
"""Most bytes of the rows of one page: it stays under 60 KiB with the reply around it."""
FleetQuery = FindQuery | FleetHistoryQuery
Give = Callable[[Answer | BrokerError], None]
"""Takes the answer to a question, or why there is none."""
_encode = msgspec.json.Encoder().encode


class FleetQuestions:
    """Answers some questions at a time; each piece of work has its turn among those of all.

    Args:
        sessions: the arms.
        store: what was.
        tasks: where the work on a question runs.
    """

    def __init__(self, sessions: Mapping[str, ArmSession], store: Store, tasks: asyncio.TaskGroup) -> None:
        self._sessions, self._store, self._tasks = sessions, store, tasks
        self._slices = Slices(asyncio.get_running_loop())
        self._slices.served = True
        self._running: dict[asyncio.Task[None], Give] = {}
        self._works: dict[type[FleetQuery], Callable[[Group, Any], Coroutine[None, None, Answer]]] = {
            FindQuery: self._find,
            FleetHistoryQuery: self._history,
        }

    def ask(self, group: Group, query: FleetQuery, give: Give) -> None:
        """Begin to answer a question.

        Raises:
            BrokerError: busy.
        """
        if len(self._running) >= AT_ONCE:
            raise BrokerError("busy", f"{AT_ONCE} questions about many arms are being answered; send it again as it is")
        task = self._tasks.create_task(self._answer(group, query, give))
        self._running[task] = give
        task.add_done_callback(self._running.pop)

    def close(self) -> None:
        """Answer nothing more; what is under way is refused."""
        for task, give in self._running.items():
            task.cancel()
            give(BrokerError("shutting_down", "the service is ending; send the same request again"))

    async def _answer(self, group: Group, query: FleetQuery, give: Give) -> None:
        try:
            give(await self._works[type(query)](group, query))
        except BrokerError as error:
            give(error)
        except RowDamagedError as error:
            give(BrokerError("internal", f"{error}. Restore the store from a backup."))
        except Exception:
            log.exception("question_failed")
            give(BrokerError("internal", "the service failed on this request"))

    async def _find(self, group: Group, query: FindQuery) -> Answer:
        """The arms for which everything holds, each as it is when it is looked at."""
        rows: list[dict[str, Any]] = []
        count = size = 0
        more = False
        for first in range(0, len(group.arms), PIECE):
            async with self._slices:
                for session in map(self._sessions.get, group.arms[first : first + PIECE]):
                    if session is None:
                        continue
                    if not matches(query, found := seen(session)):
                        continue
                    count += 1
                    if session.arm <= query.after or more:
                        continue
                    told = row(query, found)
                    size += len(_encode(told))
                    more = len(rows) == query.limit or bool(rows and size > PAGE_BYTES)
                    if not more:
                        rows.append(told)
        return Answer({"arms": rows, "count": count, "more": more})

    async def _history(self, group: Group, query: FleetHistoryQuery) -> Answer:
        """The changes of the arms of a group; of all there ever were, where it is that of all."""
        page = FleetHistory(self._store, query, None if group.name == EVERYBODY else group.members)
        pieces = page.pieces()
        while True:
            async with self._slices:
                if next(pieces, pieces) is pieces:
                    return Answer(page.result)
