"""How often each user may write what does not tighten: buckets that fill evenly."""

import math
from collections.abc import Callable

from handlers.policy.rules import Rate
from schema.errors import BrokerError

USERS_MOST = 10_000
"""Users known at once; who is forgotten begins with a full bucket."""


class WriteRates:
    """Counts writes by user; `monotonic` tells seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._buckets: dict[str, tuple[float, float]] = {}
        """What was left in the bucket of a user, and when."""

    def take(self, user: str, rate: Rate) -> None:
        """Count one write.

        Raises:
            BrokerError: rate_limited.
        """
        now_s = self._monotonic()
        left, at_s = self._buckets.pop(user, (rate.count, now_s))
        left = min(rate.count, left + (now_s - at_s) * rate.per_s)
        if left < 1:
            self._buckets[user] = (left, now_s)
            wait_ms = max(1, math.ceil((1 - left) / rate.per_s * 1_000))
            text = (
                f"{user} may write {rate.count:g} in {rate.count / rate.per_s:g} s what does not tighten, by the policy"
            )
            raise BrokerError("rate_limited", f"{text}. Nothing was changed.", retry_after_ms=wait_ms)
        if len(self._buckets) >= USERS_MOST:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[user] = (left - 1, now_s)
