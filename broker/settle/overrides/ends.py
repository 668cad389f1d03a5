"""When overrides are over: all of them on one timer of the event loop."""

import asyncio
import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from broker.arms.arm_session import ArmSession
from broker.clock import Clock

LOOK_S = 10.0
"""How long the timer runs at most: service time may be set forward, of which no timer hears."""
SLICE_S, PAUSE_S = 0.005, 0.015
"""How long ends are worked on at a stretch, and how long others then have their turn."""


class Entry(NamedTuple):
    """One time, on the clock of its heap; of equal ones those of a lower rank are first, then those put first."""

    at: float
    rank: int
    n: int
    session: ArmSession
    rev: int


class Ends:
    """Rings when the end of an override is reached on the monotonic clock, and again when it is by service time.

    `ring` decides whether it is over; it may be called for one that ended long ago.
    """

    def __init__(self, clock: Clock, loop: asyncio.AbstractEventLoop, ring: Callable[[ArmSession, int], None]) -> None:
        self._clock = clock
        self._loop = loop
        self._ring = ring
        self._by_time: list[Entry] = []
        self._by_seconds: list[Entry] = []
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None

    def put(self, session: ArmSession, rev: int, at_us: int, deadline_s: float = math.inf, rank: int = 0) -> None:
        """Ring for an override at this service time, and at this time of the monotonic clock."""
        self._count += 1
        heappush(self._by_time, Entry(at_us, rank, self._count, session, rev))
        if deadline_s < math.inf:
            heappush(self._by_seconds, Entry(deadline_s, rank, self._count, session, rev))
        self._arm()

    def look(self) -> None:
        """Ring for what is reached, for a slice of time; the rest soon."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        until_s = self._loop.time() + SLICE_S
        while (entry := self._next()) is not None:
            self._ring(entry.session, entry.rev)
            if self._loop.time() > until_s:
                self._timer = self._loop.call_later(PAUSE_S, self.look)
                return
        self._arm()

    def forget(self, arm: str) -> None:
        """Ring no more for the overrides of one arm."""
        self._by_time = [one for one in self._by_time if one.session.arm != arm]
        self._by_seconds = [one for one in self._by_seconds if one.session.arm != arm]
        heapify(self._by_time)
        heapify(self._by_seconds)

    def close(self) -> None:
        """Ring no more."""
        self._by_time.clear()
        self._by_seconds.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __len__(self) -> int:
        """How many times are waited for, on both clocks."""
        return len(self._by_time) + len(self._by_seconds)

    def _next(self) -> Entry | None:
        """What is reached first."""
        if self._by_time and self._by_time[0].at <= self._clock.now_us():
            return heappop(self._by_time)
        if self._by_seconds and self._by_seconds[0].at <= self._clock.monotonic():
            return heappop(self._by_seconds)
        return None

    def _arm(self) -> None:
        if not self._by_time and not self._by_seconds:
            return
        left_s = LOOK_S
        if self._by_time:
            left_s = min(left_s, (self._by_time[0].at - self._clock.now_us()) / 1e6)
        if self._by_seconds:
            left_s = min(left_s, self._by_seconds[0].at - self._clock.monotonic())
        due_s = self._loop.time() + max(0.0, left_s)
        if self._timer is not None:
            if self._timer.when() <= due_s:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due_s, self.look)
