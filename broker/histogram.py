"""Times counted by how long they were, as Prometheus counts them."""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

FAST_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of what usually takes milliseconds, in seconds."""


class Counted(NamedTuple):
    """What a histogram holds: how many were not above each bound (the last: all of them), and the sum in seconds."""

    bounds: tuple[float, ...]
    below: tuple[int, ...]
    sum_s: float

    def quantile(self, share: float) -> float:
        """The least bound, in seconds, that this share is not above; the last bound where none is, 0 of none."""
        wanted = share * self.below[-1]
        if not wanted:
            return 0.0
        reached = zip(self.bounds, self.below, strict=False)
        return next((bound for bound, below in reached if below >= wanted), self.bounds[-1])


class Histogram:
    """Counts of times between `bounds` (seconds, rising); a time that is no number, or below 0, counts as 0."""

    __slots__ = ("_bounds", "_counts", "_sum_s")

    def __init__(self, bounds: tuple[float, ...] = FAST_S) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum_s = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        if not seconds > 0:
            seconds = 0.0
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._sum_s += seconds

    def add_all(self, times_s: list[float]) -> None:
        """Count many, which are sorted in place: there is one step a bound up to the longest, not one a time."""
        times_s.sort()
        ordered = times_s if not times_s or times_s[0] >= 0 else [max(each, 0.0) for each in times_s]
        before = 0
        for index, bound in enumerate(self._bounds):
            after = bisect_right(ordered, bound, before)
            self._counts[index] += after - before
            before = after
            if after == len(ordered):
                break
        self._counts[-1] += len(ordered) - before
        self._sum_s += sum(ordered)

    @property
    def counted(self) -> Counted:
        """What it holds now."""
        below, so_far = [], 0
        for count in self._counts:
            so_far += count
            below.append(so_far)
        return Counted(self._bounds, tuple(below), self._sum_s)
