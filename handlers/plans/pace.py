"""How many rows may begin: a bucket that fills evenly."""

from dataclasses import dataclass

LEAST_S = 0.001
"""The shortest wait: what is left of less may be an error of the sum alone."""


@dataclass(slots=True)
class Bucket:
    """Holds as many rows as may begin in a second, and fills with as many a second."""

    rate: float
    level: float = 0.0
    at_s: float = 0.0

    def fill(self, now_s: float) -> None:
        """Let the time since the last look count."""
        self.level = min(self.rate, self.level + (now_s - self.at_s) * self.rate)
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
