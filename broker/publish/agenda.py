"""Which documents are to be sent, and in which order."""

from heapq import heappop, heappush
from typing import NamedTuple


class Key(NamedTuple):
    """One document of one arm."""

    arm: str
    name: str


class Agenda:
    """Documents that changed, each once: a choice costs the logarithm of their number. Times in seconds of one clock.

    What is under way (`take` to `taken`) is not given again meanwhile.
    """

    def __init__(self) -> None:
        self.due: dict[Key, float] = {}
        """Those that are to be sent, and when; read by others."""
        self._later: list[tuple[float, float, Key]] = []
        self._ready: list[tuple[float, float, Key]] = []
        self._under_way: set[Key] = set()
        self._again: set[Key] = set()

    def __len__(self) -> int:
        """How many are to be sent."""
        return len(self.due)

    def __contains__(self, key: Key) -> bool:
        """Whether a document is to be sent, or under way."""
        return key in self.due or key in self._under_way

    def add(self, key: Key, due: float, behind: float = 0.0) -> bool:
        """Send a document at `due`, in the order of due times and of what it stands behind; false if it was there."""
        if key in self.due:
            return False
        self.due[key] = due
        heappush(self._later, (due, behind, key))
        return True

    def take(self, now: float) -> Key | None:
        """The next document to be sent now; None if there is none. `taken` has to follow."""
        while self._later and self._later[0][0] <= now:
            due, behind, key = heappop(self._later)
            heappush(self._ready, (due + behind, due, key))
        while self._ready:
            _, due, key = heappop(self._ready)
            if self.due.get(key) != due:
                continue
            if key in self._under_way:
                self._again.add(key)
                continue
            del self.due[key]
            self._under_way.add(key)
            return key
        return None

    def start(self, key: Key) -> None:
        """A document is under way that nobody marked."""
        self._under_way.add(key)

    def taken(self, key: Key) -> bool:
        """A document is under way no longer; whether it is to be sent again, which was put off till now."""
        self._under_way.discard(key)
        if key not in self._again:
            return False
        self._again.discard(key)
        if (due := self.due.get(key)) is None:
            return False
        heappush(self._ready, (due, due, key))
        return True

    def next_due(self) -> float | None:
        """When something is due; None while nothing is, or only what waits for what is under way."""
        if self._ready:
            return self._ready[0][1]
        return self._later[0][0] if self._later else None

    def forget(self, arm: str) -> None:
        """Send no more documents of an arm."""
        for key in [key for key in self.due if key.arm == arm]:
            del self.due[key]
