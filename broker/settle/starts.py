"""Which accepted change begins next, of those whose arms may answer without waiting."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob

AT_ONCE = 64
"""Changes that begin in one turn of the event loop: their ends share a commit, so they are not fewer."""
Run = Callable[[ArmSession, ChangeJob | None], int]
Lane = deque[tuple[ArmSession, ChangeJob | None]]


class Starts:
    """Lets the queues of arms run, user by user in turns where more waits than fits into one turn of the event loop.

    `run` lets the queue of an arm run, as far as a change where one is named, and tells how many were carried out;
    `failed` hears what it raised: that the rest goes on is not to be taken for granted then.
    """

    def __init__(self, run: Run, failed: Callable[[Exception], None]) -> None:
        self._run = run
        self._failed = failed
        self.lanes: dict[str, Lane] = {}
        """What waits, by user; the one whose turn is next first."""
        self._begun = 0
        self._turning = False
        self._passed = asyncio.Event()

    def put(self, user: str, session: ArmSession, last: ChangeJob | None) -> None:
        """Let the queue of an arm run in the user's turn."""
        self.lanes.setdefault(user, deque()).append((session, last))
        self._turn_soon()

    def put_all(self, accepted: Iterable[tuple[ArmSession, ChangeJob]]) -> None:
        """Let each of these begin in its user's turn, the first of them now."""
        lanes = self.lanes
        for pair in accepted:
            user = pair[1].author.user
            if (lane := lanes.get(user)) is None:
                lane = lanes[user] = deque()
            lane.append(pair)
        self._go_on()

    async def passed(self) -> None:
        """Return once nothing waits."""
        while self.lanes:
            self._passed.clear()
            await self._passed.wait()

    def _turn_soon(self) -> None:
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._turning = False
        self._begun = 0
        self._go_on()

    def _go_on(self) -> None:
        """The first of each user begins, then the second, while this turn of the event loop has room."""
        lanes = self.lanes
        while lanes and self._begun < AT_ONCE:
            user, lane = next(iter(lanes.items()))
            if len(lanes) == 1:
                self._begin_alone(lane)
                if not lane:
                    del lanes[user]
                continue
            del lanes[user]
            session, last = lane.popleft()
            if lane:
                lanes[user] = lane
            if session.jobs:
                self._begin(session, last)
        if lanes or self._begun:
            self._turn_soon()
        if not lanes:
            self._passed.set()

    def _begin_alone(self, lane: Lane) -> None:
        """Nobody else waits: no queue has to stop at each change."""
        while lane and self._begun < AT_ONCE:
            session, _ = lane.popleft()
            if session.jobs:
                self._begin(session, None)

    def _begin(self, session: ArmSession, last: ChangeJob | None) -> None:
        try:
            self._begun += self._run(session, last)
        except Exception as error:  # noqa: BLE001 - whatever it was, the others go on, and somebody hears of it
            self._failed(error)
