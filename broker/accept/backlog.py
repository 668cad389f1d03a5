"""Who asks for more than the service can do: whose requests wait for it, not for an arm, without a reply."""

import math

from broker.accept.rates import Rates
from broker.publish.outbox import Outbox
from broker.record.replies import Replies
from broker.settle.queues import Queues

MOST = 96
"""Requests of a user that may wait for the service while others use it, too."""
MOST_ALONE = 1_000
"""The same of a user who is alone, or whose rate has no bound."""
STUCK = 4_000
"""Publications that wait for the MQTT server when its receipts lie behind more requests than can be decided: few of
these are from then on, so that they are passed and memory is bounded."""
FEW = 8
"""Requests of a user that may wait without a reply even then."""
ALONE_S = 10.0
"""A user is alone when nobody else sent anything for so long."""
LOOK_S = 0.005
"""How often changes that wait for arms are counted at most."""


class Backlog:
    """Judges by what is owed; times are seconds of the monotonic clock."""

    def __init__(self, replies: Replies, queues: Queues, rates: Rates, outbox: Outbox) -> None:
        self._replies = replies
        self._queues = queues
        self._rates = rates
        self._outbox = outbox
        self._last_user = ""
        self._mixed_s = -math.inf
        self._looked_at: dict[str, tuple[float, int]] = {}

    def exceeds(self, user: str, now_s: float) -> bool:
        """Whether too much of a user who sends one more request waits for the service, or for the MQTT server."""
        if user != self._last_user:
            if self._last_user:
                self._mixed_s = now_s
            self._last_user = user
        owed = self._replies.owed.get(user, 0)
        if owed < FEW:
            return False
        if self._outbox.backlog >= STUCK:
            return True
        if owed < MOST:
            return False
        alone = now_s - self._mixed_s >= ALONE_S or not self._rates.bounded(user, now_s)
        return owed - self._with_arms(user, now_s) >= (MOST_ALONE if alone else MOST)

    def _with_arms(self, user: str, now_s: float) -> int:
        looked_s, count = self._looked_at.get(user, (-math.inf, 0))
        if now_s - looked_s >= LOOK_S:
            if len(self._looked_at) >= MOST:
                self._looked_at.clear()
            count = self._queues.waiting_for_arms(user)
            self._looked_at[user] = (now_s, count)
        return count
