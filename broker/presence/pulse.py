"""Whether the process was standing still: stopped, swapped out, or busy with one thing."""

import asyncio
from collections.abc import Callable

from broker.histogram import Histogram

TICK_S = 1.0
LATE_S = 2.0
"""A beat that is later than this tells of a stand-still."""


class Pulse:
    """Beats on the event loop, from `start` to `close`; a beat that is overdue tells that nothing else ran either.

    `on_still` is called after each stand-still, before anything that came meanwhile is handed on, with the time of the
    last beat before it, in seconds of the loop's clock.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self.on_still: list[Callable[[float], None]] = []
        self.every_s = TICK_S
        self.lags = Histogram()
        """How much later than they were due beats came."""
        self.last_s = loop.time()
        """When it beat last, in seconds of the loop's clock."""

    def start(self) -> None:
        """Begin to beat."""
        self.last_s = self._loop.time()
        self._timer = self._loop.call_later(self.every_s, self._beat)

    def still_s(self) -> float:
        """For how many seconds the loop has been standing still; 0 while beats come in time."""
        return max(0.0, self._loop.time() - self.last_s - self.every_s)

    def look(self) -> None:
        """Tell of a stand-still that is just over, if there was one: its beat may be due, and not have come yet."""
        if self._loop.time() - self.last_s - self.every_s > LATE_S:
            before_s, self.last_s = self.last_s, self._loop.time()
            for tell in self.on_still:
                tell(before_s)

    def close(self) -> None:
        """Beat no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _beat(self) -> None:
        self.lags.add(self.still_s())
        self.look()
        self.start()
