"""How much each user may ask for, so that nobody locks out the others: buckets that fill evenly, and what is owed."""

import math
from typing import NamedTuple

from broker.publish.outbox import Outbox
from broker.record.replies import Replies
from broker.settings import Settings, Users
from broker.settle.queues import Queues

REFUSED_COST = 0.4
"""What a refused request takes out of the bucket: who sends 2.5 times its rate gets nothing until it slows down."""
EXEMPT_RATE, EXEMPT_BURST = 20.0, 40.0
"""Requests of a connection that are looked at beyond its user's rate, a second and at once, as they may tighten."""
CONNECTIONS_MOST = 16
"""Connections of a user with such a budget of their own; the others share one."""
HELD_RATE, HELD_BURST = 100.0, 10.0
"""What a user is held to that asks for more than the service can do, a second and at once."""
HELD_S = 1.0
"""How long it is held to that after the last refusal."""
ANSWER_RATE, ANSWER_BURST = 50.0, 100.0
"""Refusals of a user that are answered, a second and at once; the others are acknowledged and counted."""
WITHOUT_BOUND_MS = 100
"""What a user without a bound is told to wait, when the service cannot keep up with it."""
DEBT_S = 1.0
"""So far below empty a bucket may get, in seconds of its rate: nobody waits longer after the last request."""
USERS_MOST = 10_000
"""Users known at once; who is forgotten begins with a full bucket."""


class Bucket:
    """Tokens that come back evenly, up to `burst`."""

    __slots__ = ("at_s", "tokens")

    def __init__(self, burst: float, now_s: float) -> None:
        self.tokens = burst
        self.at_s = now_s
        """When it was filled last."""

    def fill(self, rate: float, burst: float, now_s: float) -> None:
        """Put in what came back since the last time."""
        self.tokens = min(burst, self.tokens + (now_s - self.at_s) * rate)
        self.at_s = now_s

    def take(self, rate: float, burst: float, now_s: float) -> bool:
        """Take one token, if there is one."""
        self.fill(rate, burst, now_s)
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class Allowance(NamedTuple):
    """Requests a second (0 = without bound) and at once."""

    rate: float
    burst: float


class _Account:
    """The buckets of one user: of requests, of looks at what may tighten by connection, of answers when refused."""

    __slots__ = ("allowance", "answers", "exempt", "held_until_s", "requests")

    def __init__(self, allowance: Allowance, now_s: float) -> None:
        self.allowance = allowance
        self.held_until_s = 0.0
        self.requests = Bucket(allowance.burst, now_s)
        self.exempt: dict[str, Bucket] = {}
        self.answers = Bucket(ANSWER_BURST, now_s)

    def paced(self, now_s: float) -> Allowance:
        """What counts now."""
        rate, burst = self.allowance
        if self.held_until_s <= now_s:
            return self.allowance
        return Allowance(min(rate, HELD_RATE), min(burst, HELD_BURST))


class Rates:
    """Who may ask for how much; times are seconds of the monotonic clock."""

    def __init__(self, settings: Settings) -> None:
        self._users = Users(settings)
        self._accounts: dict[str, _Account] = {}

    def follow(self, settings: Settings) -> None:
        """Judge by these settings from now on; every bucket is full."""
        self._users = Users(settings)
        self._accounts.clear()

    def admits(self, user: str, cost: float, now_s: float, *, too_much: bool = False) -> bool:
        """Whether a user may have one more request, which then has cost so many tokens.

        With `too_much` the user asks for more than the service can do: it is held to little for a while, or, where its
        rate has no bound, until it is no more too much.
        """
        account = self._accounts[user] if user in self._accounts else self._account(user, now_s)
        if not account.allowance.rate:
            return not too_much
        if too_much:
            account.held_until_s = now_s + HELD_S
        rate, burst = account.allowance if account.held_until_s <= now_s else account.paced(now_s)
        bucket = account.requests
        if bucket.at_s != now_s or bucket.tokens > burst:
            bucket.fill(rate, burst, now_s)
        if bucket.tokens < 1:
            return False
        bucket.tokens -= cost
        return True

    def refuse(self, user: str, now_s: float) -> None:
        """A request is refused: that costs, too."""
        account = self._account(user, now_s)
        if account.held_until_s > now_s:
            account.held_until_s = now_s + HELD_S
        else:
            bucket = account.requests
            bucket.tokens = max(bucket.tokens - REFUSED_COST, -account.allowance.rate * DEBT_S)

    def charge(self, user: str, cost: float) -> None:
        """A request cost more than was thought (below 0: less)."""
        account = self._accounts.get(user)
        if account is not None:
            account.requests.tokens -= cost

    def exempts(self, user: str, conn: str, now_s: float) -> bool:
        """Whether a request that may tighten, or does, need not count: it does not, up to a budget of its own."""
        budgets = self._account(user, now_s).exempt
        name = conn if conn in budgets or len(budgets) < CONNECTIONS_MOST else ""
        if (budget := budgets.get(name)) is None:
            budgets[name] = budget = Bucket(EXEMPT_BURST, now_s)
        return budget.take(EXEMPT_RATE, EXEMPT_BURST, now_s)

    def held(self, now_s: float) -> int:
        """How many users are held to little."""
        return sum(account.held_until_s > now_s for account in self._accounts.values())

    def answers(self, user: str, now_s: float) -> bool:
        """Whether one more refusal of a user is answered."""
        return self._account(user, now_s).answers.take(ANSWER_RATE, ANSWER_BURST, now_s)

    def wait_ms(self, user: str, now_s: float) -> int:
        """How long a user has to wait until a request is taken, ms, if it sends nothing meanwhile."""
        account = self._account(user, now_s)
        rate, burst = account.paced(now_s)
        account.requests.fill(rate, burst, now_s)
        return max(1, math.ceil((1 - account.requests.tokens) / rate * 1000)) if rate else WITHOUT_BOUND_MS

    def bounded(self, user: str, now_s: float) -> bool:
        """Whether the rate of a user has a bound."""
        return self._account(user, now_s).allowance.rate > 0

    def _account(self, user: str, now_s: float) -> _Account:
        account = self._accounts.get(user)
        if account is None:
            while len(self._accounts) >= USERS_MOST:
                del self._accounts[next(iter(self._accounts))]
            self._accounts[user] = account = _Account(Allowance(*self._users.rate(user)), now_s)
        return account


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
