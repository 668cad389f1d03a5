"""The times between attempts."""

import random
from collections.abc import Callable

_RANDOM = random.SystemRandom().random
_DOUBLINGS = 64
"""More of them make no wait longer."""


class Backoff:
    """The seconds between attempts: doubling from `first_s` to `most_s`, each shortened at random by up to a half.

    `jitter` gives numbers from 0 (half of the time) to 1 (all of it); with None no time is shortened.
    """

    def __init__(self, first_s: float, most_s: float, jitter: Callable[[], float] | None = _RANDOM) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._jitter = jitter
        self._tries = 0

    def reset(self) -> None:
        """Begin with the first time again."""
        self._tries = 0

    def next_s(self) -> float:
        """Seconds to wait before the next attempt."""
        self._tries += 1
        return self.after_s(self._tries - 1)

    def after_s(self, tries: int) -> float:
        """Seconds to wait after so many attempts, 0 for the first time, for who counts them elsewhere."""
        whole_s = min(self._first_s * 2.0 ** min(tries, _DOUBLINGS), self._most_s)
        return whole_s if self._jitter is None else whole_s * (0.5 + 0.5 * self._jitter())
