"""How long the event loop of a service in this process stood still at most."""

import asyncio
import time
from collections.abc import Callable

TICK_S = 0.001


class Ticker:
    """Notes the longest time between two callbacks on a loop, beyond their distance.

    By a clock that stands while the loop waits (`time.thread_time`), it is what its work took at most.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float] = time.perf_counter) -> None:
        self._loop, self._clock = loop, clock
        self._waits_s = 0.0 if clock is time.thread_time else TICK_S
        self._last_s: float | None = None
        self._worst_s = 0.0
        loop.call_soon_threadsafe(self._tick)

    def take(self) -> float:
        """The longest time since the last call, in seconds."""
        worst_s, self._worst_s = self._worst_s, 0.0
        return worst_s

    def _tick(self) -> None:
        now_s = self._clock()
        if self._last_s is not None:
            self._worst_s = max(self._worst_s, now_s - self._last_s - self._waits_s)
        self._last_s = now_s
        self._loop.call_later(TICK_S, self._tick)
