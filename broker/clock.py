"""Time for the whole service: injected, so that tests can hold it."""

import time
from collections.abc import Callable


class Clock:
    """Service time never runs backwards; deadlines are on the monotonic clock.

    Args:
        wall_us: µs since 1970 of the machine's clock.
        monotonic: seconds of the monotonic clock.
    """

    def __init__(
        self,
        wall_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall_us = wall_us
        self.monotonic = monotonic
        self._last_us = 0
        self.behind = False
        """Whether the machine's clock was behind the store at the start: then nobody knows how long ago things were."""

    def not_before(self, time_us: int) -> None:
        """Never tell a time before this one (the last committed time of the store)."""
        self.behind = self._wall_us() < time_us
        self._last_us = max(self._last_us, time_us)

    def now_us(self) -> int:
        """Service time in µs since 1970: the machine's clock, or the last time told if that is later."""
        self._last_us = max(self._last_us, self._wall_us())
        return self._last_us
