"""Whose work begins next: so much at once, then everything else of the service has its turn."""

import asyncio
from collections import deque

AT_ONCE, WHILE_BUSY = 12, 3
"""Pieces of work that begin in one turn of the event loop, and while requests wait to be decided."""


class Turns:
    """Lets work begin, user by user in turns when there is more than fits into one turn of the event loop."""

    def __init__(self) -> None:
        self.busy = False
        """Whether requests wait to be decided: they come first, so that it is soon known who asks too much."""
        self._begun = 0
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._turning = False

    async def take(self, user: str) -> None:
        """Return when work of a user may begin."""
        if not self._waiting and self._begun < (WHILE_BUSY if self.busy else AT_ONCE):
            self._begun += 1
            self._turn_soon()
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(turn)
        self._turn_soon()
        await turn

    def _turn_soon(self) -> None:
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """A new turn of the event loop: the first of each user begins, then the second, while there is room."""
        self._turning = False
        self._begun = 0
        most = WHILE_BUSY if self.busy else AT_ONCE
        while self._waiting and self._begun < most:
            user, lane = next(iter(self._waiting.items()))
            del self._waiting[user]
            turn = lane.popleft()
            if lane:
                self._waiting[user] = lane
            if not turn.cancelled():
                turn.set_result(None)
                self._begun += 1
        if self._begun:
            self._turn_soon()
