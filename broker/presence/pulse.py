"""Whether the process was standing still: stopped, swapped out, or busy with one thing."""

import asyncio

TICK_S = 1.0


class Pulse:
    """Beats on the event loop, from `start` to `close`; a beat that is overdue tells that nothing else ran either."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self.every_s = TICK_S
        self.last_s = loop.time()
        """When it beat last, in seconds of the loop's clock."""

    def start(self) -> None:
        """Begin to beat."""
        self.last_s = self._loop.time()
        self._timer = self._loop.call_later(self.every_s, self.start)

    def still_s(self) -> float:
        """For how many seconds the loop has been standing still; 0 while beats come in time."""
        return max(0.0, self._loop.time() - self.last_s - self.every_s)

    def close(self) -> None:
        """Beat no more."""
        if self._timer is not None:
            self._timer.cancel()
