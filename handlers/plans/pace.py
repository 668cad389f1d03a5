"""How many rows may begin, and how evenly: a bucket that fills evenly, and a stride."""

from dataclasses import dataclass

HELD_S = 0.25
"""What may begin at once is what fills in this time: more would be noticed by other requests."""
TIGHTENING = 0.9
"""What a row that tightens takes: ten times the rate of them begin within 9 s, so that they are accepted, with the time
in which all are looked at first, within 10 s."""
STRIDE = 1.5
"""How many times as fast as it fills the bucket is emptied at most: what it held begins bit by bit."""
STRIDE_S = 0.025
"""What may begin at once in spite of that is the stride of this time: such rows share their commits."""
LEAST_S = 0.001
"""The shortest wait: what is left of less may be an error of the sum alone."""


@dataclass(slots=True)
class Bucket:
    """Fills with so many rows a second, and holds those of a quarter of one."""

    rate: float
    level: float = 0.0
    at_s: float = 0.0
    stride: float = 1.0
    """Rows that may begin now, if `level` has them."""

    def fill(self, now_s: float) -> None:
        """Let the time since the last look count."""
        more = (now_s - self.at_s) * self.rate
        self.level = min(max(1.0, self.rate * HELD_S), self.level + more)
        self.stride = min(max(1.0, self.rate * STRIDE * STRIDE_S), self.stride + more * STRIDE)
        self.at_s = now_s

    def take(self, *, tightens: bool) -> bool:
        """Take one row out of it, if there is one."""
        cost = TIGHTENING if tightens else 1.0
        if self.level < cost or self.stride < cost:
            return False
        self.level -= cost
        self.stride -= cost
        return True

    def wait_s(self, *, tightens: bool) -> float:
        """How long it takes until there is one."""
        cost = TIGHTENING if tightens else 1.0
        return max(LEAST_S, (cost - self.level) / self.rate, (cost - self.stride) / (self.rate * STRIDE))
