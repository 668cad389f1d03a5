"""What comes in: judged by its user's rate before it is decoded, then decided in turns that are fair to all users."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping

from broker.accept.acceptor import Acceptor
from broker.accept.acks import Acks
from broker.accept.arrival import Arrival, presumed_codec
from broker.accept.backlog import MOST, Backlog
from broker.accept.costs import PAGES, found_cost, presumed_cost
from broker.accept.foresight import Foresight
from broker.accept.intake import Intake
from broker.accept.quarantine import STARTS, Quarantine
from broker.accept.rates import Rates
from broker.accept.shares import Shares
from broker.arms.arm_session import ArmSession
from broker.link.mqtt_link import InboundMessage
from broker.presence.presence import Presence
from broker.record.ledger import Ledger
from broker.record.replies import Replies
from broker.settings import Settings
from broker.settle.queues import Queues
from broker.topics import Topics, user_of
from handlers.rpc_table import MAY_TIGHTEN
from schema.errors import BrokerError

SLICE_S = 0.004
"""How long messages are decided without a pause: everything else waits meanwhile."""
LOOK_AHEAD = 32
"""Messages that are read together, and whose ids are looked up in one query."""
AGAIN_S = 0.02
"""How soon it is looked again whether messages may be decided."""
REPLIES_MOST = 2_000
"""Publications that wait for the MQTT server; beyond it nothing is decided, unless the link reads no more: then the
MQTT server's receipts lie behind requests that are to be acknowledged first. `Backlog` bounds them then."""
AHEAD_MESSAGES, AHEAD_BYTES = 2_000, 32 * 2**20
"""What may wait for its turn; beyond it nothing is read."""


class Turnstile:
    """Takes messages in, picks the next one to decide, and has them acknowledged in the order of arrival."""

    def __init__(
        self,
        *,
        intake: Intake,
        ledger: Ledger,
        acceptor: Acceptor,
        acks: Acks,
        replies: Replies,
        quarantine: Quarantine,
        queues: Queues,
        presence: Presence,
        sessions: Mapping[str, ArmSession],
        settings: Settings,
        topics: Topics,
    ) -> None:
        self._intake, self._ledger = intake, ledger
        self._clock = ledger.clock
        self._counters = ledger.counters
        self._outbox = ledger.outbox
        self._acceptor = acceptor
        self._acks = acks
        self._replies = replies
        self._quarantine = quarantine
        self._presence = presence
        self._turns = queues.turns
        self._topics = topics
        self._rates = Rates(settings)
        self._backlog = Backlog(replies, queues, self._rates, ledger.outbox)
        self._foresight = Foresight(sessions, settings)
        self._shares = Shares(self._foresight.tightens)
        self._next: deque[Arrival] = deque()
        """Whose turn it is, read already."""
        self._bytes = 0
        self._picking: asyncio.Handle | None = None
        self._room = asyncio.Event()
        self._closed = self.open = False
        """Whether nothing more is decided; whether messages are taken in."""
        self._asked: Callable[[], None] | None = None
        self._taken_before = -1

    @property
    def waiting(self) -> tuple[int, int]:
        """Requests that wait for their turn, and bytes of their payloads."""
        return len(self._shares), self._bytes

    @property
    def held(self) -> int:
        """Users who are held to little because they ask for more than the service can do."""
        return self._rates.held(self._clock.monotonic())

    async def run(self) -> None:
        """Take messages in until the link is closed."""
        self.open = True
        async for batch in self._intake.batches():
            for message in batch:
                if self._quarantine.suspects(message):
                    await self._take_suspect(message)
                else:
                    self.take(message)
            self._pick_now()
            while self._full():
                self._room.clear()
                await self._room.wait()

    async def _take_suspect(self, message: InboundMessage) -> None:
        """Take one that may have ended the process; it is decided before the next of them is on record as begun."""
        barred: BrokerError | None = None
        if not await self._quarantine.begin(message):
            barred = BrokerError("quarantined", f"the service ended {STARTS} times on this message")
        self.take(message, barred)
        self._pick_now()

    def _pick_now(self) -> None:
        """Decide what waits, unless that is about to happen."""
        if self._picking is None and self._shares and not self._closed:
            self._pick()

    def take(self, message: InboundMessage, barred: BrokerError | None = None) -> None:
        """Take one message in: let it wait for its turn, or be done with it at once.

        Args:
            message: the message.
            barred: why it is refused unread, whatever it is.
        """
        ticket = self._acks.enter(message)
        topic = self._topics.parse_request(message.topic)
        clears = message.retain and not message.payload
        if topic is None or clears:
            if not clears:
                self._counters.add("request_dropped", user_of(message.topic, self._topics))
            self._acks.done(ticket)
            return
        cost = presumed_cost(topic.method, len(message.payload))
        clock = self._clock
        now_s = clock.monotonic()
        arrival = Arrival(message, topic, clock.now_us(), presumed_codec(message.content_type), now_s=now_s)
        arrival.ticket, arrival.cost, arrival.barred = ticket, cost, barred
        too_much = self._backlog.exceeds(topic.user, now_s) or (cost > 1 and self._shares.weight(topic.user) >= MOST)
        if not self._rates.admits(topic.user, cost, now_s, too_much=too_much):
            arrival.exempt = self._exempt(arrival)
            if not arrival.exempt:
                self._limit(arrival)
                return
        self._replies.owe(topic.user)
        self._shares.put(arrival)
        self._bytes += len(message.payload)
        self._turns.busy = True

    def turn(self, passed: Callable[[], None]) -> None:
        """Call back once what a request passes was gone through: it is read, has its turn, and is committed.

        Never, if one of these hangs; waiting for the MQTT server, or to be sure of no second service, is none of it.
        """
        intake = self._intake
        taken, before = intake.taken, self._taken_before
        self._taken_before = taken
        if intake.busy and taken == before and self._presence.sure and not self._full():
            return
        self._asked = passed
        if self._picking is None and not self._closed:
            self._picking = asyncio.get_running_loop().call_soon(self._pick)

    def follow(self, settings: Settings) -> None:
        """Judge and decide by these settings from now on."""
        self._rates.follow(settings)
        self._foresight.follow(settings)
        self._acceptor.follow(settings)

    def close(self) -> None:
        """Decide nothing more: what waits is not acknowledged, and comes again."""
        self._closed = True
        if self._picking is not None:
            self._picking.cancel()

    def _exempt(self, arrival: Arrival) -> bool:
        """Whether a request beyond its user's rate tightens limits, and so is taken."""
        topic = arrival.topic
        if topic.method not in MAY_TIGHTEN or not self._rates.exempts(topic.user, topic.conn, self._clock.monotonic()):
            return False
        arrival.tightens = self._foresight.tightens(arrival)
        return arrival.tightens

    def _limit(self, arrival: Arrival) -> None:
        """Refuse a request beyond its user's rate; of many such, only some are answered."""
        user, now_s = arrival.topic.user, self._clock.monotonic()
        self._rates.refuse(user, now_s)
        if self._rates.answers(user, now_s):
            self._counters.add("rate_limited", user)
            wait_ms = self._rates.wait_ms(user, now_s)
            text = f"{user} sends more than it may. Nothing was changed; send the same request again in {wait_ms} ms"
            self._acceptor.limit(arrival, BrokerError("rate_limited", text, retry_after_ms=wait_ms))
        else:
            self._counters.add("rate_limited_unanswered", user)
        self._quarantine.passed(arrival.message)
        if arrival.ticket is not None:
            self._acks.done(arrival.ticket)

    def _pick(self) -> None:
        """Decide what waits, by turns, for a while.

        Later, while another service may have taken our place, or too many replies wait for the MQTT server.
        """
        if self._asked is not None:
            self._ledger.after_commit(self._asked)
            self._asked = None
        if not self._presence.sure or self._outbox.holds(REPLIES_MOST):
            self._picking = asyncio.get_running_loop().call_later(AGAIN_S, self._pick)
            return
        self._picking = None
        store = self._ledger.store
        store.hold()
        try:
            self._decide()
        finally:
            self._acceptor.forget()
            self._turns.busy = bool(self._shares or self._next)
            self._room.set()
            store.release()
        if self._turns.busy and self._picking is None:
            self._picking = asyncio.get_running_loop().call_soon(self._pick)

    def _decide(self) -> None:
        """Decide for the time of a slice."""
        clock, shares, following = self._clock, self._shares, self._next
        begun_s = at_s = clock.monotonic()
        while (shares or following) and at_s - begun_s < SLICE_S and not self._outbox.holds(REPLIES_MOST):
            if not following:
                self._look_ahead()
            arrival = following.popleft()
            self._bytes -= len(arrival.message.payload)
            self._acceptor.accept(arrival)
            before_s, at_s = at_s, clock.monotonic()
            self._settle_up(arrival, at_s - before_s, at_s)

    def _look_ahead(self) -> None:
        """Take the next ones from their shares, few where they cost much: nobody comes between."""
        following, cost = self._next, 0.0
        while self._shares and cost < LOOK_AHEAD:
            following.append(self._shares.take())
            cost += following[-1].cost
        self._acceptor.look(following)

    def _full(self) -> bool:
        """Whether so much waits for its turn that nothing more is read."""
        return len(self._shares) >= AHEAD_MESSAGES or self._bytes >= AHEAD_BYTES

    def _settle_up(self, arrival: Arrival, spent_s: float, now_s: float) -> None:
        """Charge what took longer than it looked, and give back what a tightening or a short page was charged."""
        user = arrival.topic.user
        if arrival.exempt:
            return
        if arrival.tightened:
            if self._rates.exempts(user, arrival.topic.conn, now_s):
                self._rates.charge(user, -arrival.cost)
        elif (more := found_cost(arrival, spent_s) - arrival.cost) > 0 or arrival.topic.method in PAGES:
            self._rates.charge(user, more)
