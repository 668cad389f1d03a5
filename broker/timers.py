"""Many times to wait for, on one timer of the event loop."""

import asyncio
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

Timer = list[Any]
"""One time: when it is due (s of the loop's clock), its number, what to call then (None: nothing), with what."""
_CALL, _WITH = 2, 3
_DEAD_MOST = 64
"""So many that were dropped are kept at least."""


class Timers:
    """Calls back when a time is over; most are dropped before, which costs next to nothing."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heap: list[Timer] = []
        self._count = self._dead = 0
        self._next: asyncio.TimerHandle | None = None

    def time(self) -> float:
        """The loop's clock, s."""
        return self._loop.time()

    def put(self, after_s: float, call: Callable[..., None], *args: Any) -> Timer:
        """Call back with `args` after so many seconds; earlier ones first, equal ones in their order."""
        due_s = self._loop.time() + after_s
        self._count += 1
        timer: Timer = [due_s, self._count, call, args]
        heappush(self._heap, timer)
        if self._heap[0] is timer:
            self._arm(due_s)
        return timer

    def drop(self, timer: Timer) -> None:
        """Call nothing; harmless when that was done already."""
        if timer[_CALL] is None:
            return
        timer[_CALL], timer[_WITH] = None, ()
        self._dead += 1
        if self._dead > _DEAD_MOST and self._dead * 2 > len(self._heap):
            self._heap = [one for one in self._heap if one[_CALL] is not None]
            heapify(self._heap)
            self._dead = 0

    def close(self) -> None:
        """Call nothing any more."""
        self._heap.clear()
        self._dead = 0
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def __len__(self) -> int:
        """How many are kept, those that were dropped included."""
        return len(self._heap)

    def _arm(self, due_s: float) -> None:
        if self._next is not None:
            if self._next.when() <= due_s:
                return
            self._next.cancel()
        self._next = self._loop.call_at(due_s, self._ring)

    def _ring(self) -> None:
        """Call what is due, and wait for the next."""
        self._next = None
        due_s = self._loop.time()
        heap = self._heap
        while heap and (heap[0][_CALL] is None or heap[0][0] <= due_s):
            _, _, call, args = timer = heappop(heap)
            if call is None:
                self._dead -= 1
                continue
            timer[_CALL], timer[_WITH] = None, ()
            call(*args)
            heap = self._heap
        if heap:
            self._arm(heap[0][0])
