"""Work on many arms in slices, so that requests are served in between."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from types import TracebackType

SLICE_S = 0.002
"""How long pieces of work follow each other without a pause."""


class Slices:
    """Lets one piece of work begin at a time; once requests are `served`, a pause as long as it follows each slice.

    No pause is longer than `pause_most_s`: a slice takes long where the machine has much else to do.
    A piece must not wait for anything; it begins once `room` returns.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        pause_most_s: float = math.inf,
        room: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._loop, self._pause_most_s, self._room = loop, pause_most_s, room
        self._lock = asyncio.Lock()
        self._began_s = self._spent_s = 0.0
        self.served = False

    async def __aenter__(self) -> None:
        """Wait for the turn of a piece."""
        await self._lock.acquire()
        if self._room is not None:
            try:
                await self._room()
            except BaseException:
                self._lock.release()
                raise
        self._began_s = self._loop.time()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The piece is done."""
        try:
            self._spent_s += self._loop.time() - self._began_s
            if self._spent_s > SLICE_S:
                pause_s, self._spent_s = self._spent_s if self.served else 0.0, 0.0
                if pause_s:
                    await asyncio.sleep(min(pause_s, self._pause_most_s))
        finally:
            self._lock.release()
