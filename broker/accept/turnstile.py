"""What comes in: judged by its user's rate before it is decoded, then decided in turns that are fair to all users."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from broker.accept.acceptor import Acceptor
from broker.accept.arrival import Arrival
from broker.accept.costs import COST_BYTES, COST_S, LIKELY, found_cost, presumed_cost
from broker.accept.foresight import Foresight
from broker.accept.intake import Acks, Intake, Ticket
from broker.accept.quarantine import STARTS, Quarantine
from broker.accept.rates import MOST, Backlog, Rates
from broker.arms.arm_session import ArmSession
from broker.link.mqtt_link import InboundMessage
from broker.presence.presence import Presence
from broker.record.ledger import Ledger
from broker.record.replies import Replies
from broker.settings import Settings
from broker.settle.queues import Queues
from broker.store.reserve import LOOK_EVERY_S
from broker.topics import Topics, user_of
from handlers.rpc_table import MAY_TIGHTEN
from schema.codecs import PRESUMED
from schema.errors import BrokerError

QUANTUM = 4.0
"""What a user may have decided in its turn, in units of cost: an ordinary request costs 1."""

LOOKS = 8
"""Connections of a user that are looked at for a message that tightens."""

Lane = deque[Arrival]
"""Messages of one connection, in the order of arrival."""


class _Share:
    """What waits of one user: a lane for each connection, and what it may still have in this turn."""

    __slots__ = ("cost", "credit", "lanes", "user")

    def __init__(self, user: str) -> None:
        self.user = user
        self.credit = QUANTUM
        self.cost = 0.0
        self.lanes: dict[str, Lane] = {}


class Shares:
    """Deficit round robin over users; a connection's messages keep their order.

    Of several connections of one user, one whose next message tightens comes first; else they take turns.

    Args:
        tightens: whether a message would tighten limits if it were decided now.
    """

    def __init__(self, tightens: Callable[[Arrival], bool]) -> None:
        self._tightens = tightens
        self._shares: dict[str, _Share] = {}
        self._turn: deque[_Share] = deque()
        self.count = 0
        """Messages that wait."""

    def __len__(self) -> int:
        return self.count

    def put(self, arrival: Arrival) -> None:
        """Let a message wait for its turn."""
        topic = arrival.topic
        user, conn = topic.user, topic.conn
        if user in self._shares:
            share = self._shares[user]
        else:
            self._shares[user] = share = _Share(user)
            self._turn.append(share)
        if conn in share.lanes:
            lane = share.lanes[conn]
        else:
            share.lanes[conn] = lane = deque()
        lane.append(arrival)
        share.cost += arrival.cost
        self.count += 1

    def weight(self, user: str) -> float:
        """What all that waits of a user will cost."""
        share = self._shares.get(user)
        return 0.0 if share is None else share.cost

    def take(self, most: float) -> list[Arrival]:
        """The messages whose turn it is, until they cost so much; nothing may be put in between."""
        turn, taken, cost = self._turn, list[Arrival](), 0.0
        while turn and cost < most:
            share = turn[0]
            alone, lane = len(share.lanes) == 1, self._next_lane(share)
            while lane and cost < most and lane[0].cost <= share.credit:
                arrival = lane.popleft()
                taken.append(arrival)
                share.credit -= arrival.cost
                share.cost -= arrival.cost
                cost += arrival.cost
                if not alone:
                    lane = self._next_lane(share, arrival.topic.conn)
            if not lane:
                del self._shares[share.user]
                turn.popleft()
            elif cost < most:
                share.credit += QUANTUM
                turn.rotate(-1)
        self.count -= len(taken)
        return taken

    def _next_lane(self, share: _Share, served: str | None = None) -> Lane:
        """The lane of a user that goes first: one that tightens, else the one that was not served for longest.

        The lane `served` had its turn just now; an empty one when all are.
        """
        lanes = share.lanes
        if served is not None:
            lane = lanes.pop(served)
            if lane:
                lanes[served] = lane
            elif not lanes:
                return lane
        if len(lanes) > 1:
            for lane in islice(lanes.values(), LOOKS):
                first = lane[0]
                if first.tightens is None:
                    first.tightens = self._tightens(first)
                if first.tightens:
                    return lane
        return next(iter(lanes.values()))


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
        self._clock, self._counters, self._outbox = ledger.clock, ledger.counters, ledger.outbox
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
        self._look_s = 0.0
        """When it is looked again whether the disk is full."""

    @property
    def waiting(self) -> tuple[int, int]:
        """Requests that wait for their turn, and bytes of their payloads."""
        return self._shares.count, self._bytes

    @property
    def held(self) -> int:
        """Users who are held to little because they ask for more than the service can do."""
        return self._rates.held(self._clock.monotonic())

    async def run(self) -> None:
        """Take messages in until the link is closed."""
        self.open = True
        async for batch in self._intake.batches():
            if self._quarantine.watching:
                await self._take_watched(batch)
            else:
                self.take(batch)
            self._pick_now()
            while self._full():
                self._room.clear()
                await self._room.wait()

    async def _take_watched(self, batch: Sequence[InboundMessage]) -> None:
        """Take messages of which some may have ended the process: each is on record before it is decided."""
        for message in batch:
            if self._quarantine.suspects(message):
                await self._take_suspect(message)
            else:
                self.take((message,))

    async def _take_suspect(self, message: InboundMessage) -> None:
        """Take one that may have ended the process; it is decided before the next of them is on record as begun."""
        barred: BrokerError | None = None
        if not await self._quarantine.begin(message):
            barred = BrokerError("quarantined", f"the service ended {STARTS} times on this message")
        self.take((message,), barred)
        self._pick_now()

    def _pick_now(self) -> None:
        """Decide what waits, unless that is about to happen."""
        if self._picking is None and self._shares.count and not self._closed:
            self._pick()

    def take(self, messages: Sequence[InboundMessage], barred: BrokerError | None = None) -> None:
        """Take messages in: let each wait for its turn, or be done with it at once.

        Args:
            messages: the messages, in the order of arrival.
            barred: why they are refused unread, whatever they are.
        """
        requests, shares, owed = self._topics.requests, self._shares, self._replies.owed
        at_us, now_s = self._clock.now_us(), self._clock.monotonic()
        for message, ticket in zip(messages, self._acks.enter(messages), strict=True):
            topic = requests[message.topic]
            if topic is None or (message.retain and not message.payload):
                self._drop(message, ticket)
                continue
            user, size, cost = topic.user, len(message.payload), 1.0
            if size >= COST_BYTES or topic.method in LIKELY:
                cost = presumed_cost(topic.method, size)
            arrival = Arrival(
                message, topic, at_us, PRESUMED[message.content_type], size=size, now_s=now_s, ticket=ticket, cost=cost,
                barred=barred,
            )  # fmt: skip
            too_much = self._backlog.exceeds(user, now_s) or (cost > 1 and shares.weight(user) >= MOST)
            if not self._rates.admits(user, cost, now_s, too_much=too_much):
                arrival.exempt = self._exempt(arrival)
                if not arrival.exempt:
                    self._limit(arrival)
                    continue
            owed[user] += 1
            shares.put(arrival)
            self._bytes += size
        self._turns.busy = self._turns.busy or bool(shares.count)

    def _drop(self, message: InboundMessage, ticket: Ticket) -> None:
        """Be done with what is no request: a topic that is none, or what clears a retained message."""
        if not (message.retain and not message.payload):
            self._counters.add("request_dropped", user_of(message.topic, self._topics))
        self._acks.done(ticket)

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
        unsure = self._clock.monotonic() > self._presence.sure_until_s and not self._presence.sure
        if unsure or self._outbox.holds(REPLIES_MOST):
            self._picking = asyncio.get_running_loop().call_later(AGAIN_S, self._pick)
            return
        self._picking = None
        store = self._ledger.store
        store.hold()
        try:
            self._decide()
        finally:
            for arrival in self._next:  # something may be committed before they are decided
                arrival.key = 0
            self._turns.busy = bool(self._shares.count or self._next)
            self._room.set()
            store.release()
        if self._turns.busy and self._picking is None:
            self._picking = asyncio.get_running_loop().call_soon(self._pick)

    def _decide(self) -> None:
        """Decide for the time of a slice."""
        clock, shares, following, outbox = self._clock, self._shares, self._next, self._outbox
        begun_s = at_s = clock.monotonic()
        if begun_s >= self._look_s:
            self._look_s = begun_s + LOOK_EVERY_S
            self._ledger.store.reserve.look()
        while (shares.count or following) and at_s - begun_s < SLICE_S:
            if outbox.backlog >= REPLIES_MOST and outbox.holds(REPLIES_MOST):
                break
            if not following:  # few where they cost much: nobody comes between
                following.extend(shares.take(LOOK_AHEAD))
                self._acceptor.look(following)
            arrival = following.popleft()
            self._bytes -= arrival.size
            self._acceptor.accept(arrival, at_s)
            before_s, at_s = at_s, clock.monotonic()
            spent_s = at_s - before_s
            if arrival.tightened or spent_s > arrival.cost * COST_S or arrival.topic.method in LIKELY:
                self._settle_up(arrival, spent_s, at_s)

    def _full(self) -> bool:
        """Whether so much waits for its turn that nothing more is read."""
        return self._shares.count >= AHEAD_MESSAGES or self._bytes >= AHEAD_BYTES

    def _settle_up(self, arrival: Arrival, spent_s: float, now_s: float) -> None:
        """Charge what took longer than it looked, and give back what a tightening or a short page was charged."""
        user = arrival.topic.user
        if arrival.exempt:
            return
        if arrival.tightened:
            if self._rates.exempts(user, arrival.topic.conn, now_s):
                self._rates.charge(user, -arrival.cost)
        elif (more := found_cost(arrival, spent_s) - arrival.cost) > 0 or arrival.topic.method in LIKELY:
            self._rates.charge(user, more)
