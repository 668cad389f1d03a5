"""Whether a commit may be done on the event loop's thread: a small one, while the disk is quick."""

FEW = 4
"""Requests and ends of changes in a small batch, at most."""
QUICK_S = 0.001
"""What commits take on average while the disk is quick."""
SLOW_S = 0.003
"""A commit that took longer is slow, whatever others took."""
KEEP_OFF = 50
"""So many commits after a slow one are left to the thread."""
_WEIGHT = 0.2


class Pace:
    """What the last commits took: an average in which newer ones count more; unknown at first, which is slow."""

    def __init__(self) -> None:
        self._usual_s = SLOW_S
        self._keep_off = 0

    def took(self, seconds: float) -> None:
        """A commit took so long, without the way to the thread and back."""
        self._usual_s += _WEIGHT * (seconds - self._usual_s)
        if seconds > SLOW_S:
            self._keep_off = KEEP_OFF
        elif self._keep_off:
            self._keep_off -= 1

    @property
    def quick(self) -> bool:
        """Whether waiting for the next commit keeps nobody else waiting for long."""
        return not self._keep_off and self._usual_s < QUICK_S
