"""Who asks for more than the service can do: whose requests wait for it, not for an arm, without a reply."""

import math

from broker.record.replies import Replies
from broker.settle.queues import Queues

MOST = 96
"""Requests of a user that may wait for the service while others use it, too."""
MOST_ALONE = 1_000
"""The same of a user who is alone."""
ALONE_S = 10.0
"""A user is alone when nobody else sent anything for so long."""
LOOK_S = 0.005
"""How often changes that wait for arms are counted at most."""


class Backlog:
    """Judges by what is owed; times are seconds of the monotonic clock."""

    def __init__(self, replies: Replies, queues: Queues) -> None:
        self._replies = replies
        self._queues = queues
        self._last_user = ""
        self._mixed_s = -math.inf
        self._looked_at: dict[str, tuple[float, int]] = {}

    def exceeds(self, user: str, now_s: float) -> bool:
        """Whether too much of a user who sends one more request waits for the service."""
        if user != self._last_user:
            if self._last_user:
                self._mixed_s = now_s
            self._last_user = user
        owed = self._replies.owed.get(user, 0)
        if owed < MOST:
            return False
        most = MOST if now_s - self._mixed_s < ALONE_S else MOST_ALONE
        return owed - self._with_arms(user, now_s) >= most

    def _with_arms(self, user: str, now_s: float) -> int:
        looked_s, count = self._looked_at.get(user, (-math.inf, 0))
        if now_s - looked_s >= LOOK_S:
            if len(self._looked_at) >= MOST:
                self._looked_at.clear()
            count = self._queues.waiting_for_arms(user)
            self._looked_at[user] = (now_s, count)
        return count
