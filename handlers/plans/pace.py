"""How many rows may begin: a bucket that fills evenly."""

from dataclasses import dataclass

HELD_S = 0.25
"""What may begin at once is what fills in this time: more would be noticed by other requests."""
LEAST_S = 0.001
"""The shortest wait: what is left of less may be an error of the sum alone."""


@dataclass(slots=True)
class Bucket:
    """Fills with so many rows a second, and holds those of a quarter of one."""

    rate: float
    level: float = 0.0
    at_s: float = 0.0

    def fill(self, now_s: float) -> None:
        """Let the time since the last look count."""
        self.level = min(max(1.0, self.rate * HELD_S), self.level + (now_s - self.at_s) * self.rate)
        self.at_s = now_s

    def take(self) -> bool:
        """Take one row out of it, if there is one."""
        if self.level < 1.0:
            return False
        self.level -= 1.0
        return True

    @property
    def wait_s(self) -> float:
        """How long it takes until there is one."""
        return max(LEAST_S, (1.0 - self.level) / self.rate)
