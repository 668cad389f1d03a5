"""Messages on their way to the acceptor: held back while another service may have taken our place, and their ages.

What waited before it was received is as old as nobody knows. So after each connection, and after standing still, a
marker is published to ourselves: what comes before it came back may have waited, what comes behind it has not.
"""

import asyncio
import math
import secrets
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Protocol

import msgspec
import structlog

from broker.link.mqtt_link import InboundMessage, LinkError, MqttLink
from broker.link.outbound import Outbound
from broker.presence.presence import Presence
from broker.topics import is_name


class Source(Protocol):
    """Where messages come from."""

    def ack_now(self, messages: Sequence[InboundMessage]) -> bool:
        """As `ack`, without waiting; false when that cannot be."""

    async def ack(self, messages: Sequence[InboundMessage]) -> None:
        """Acknowledge messages, in the order of arrival."""


class Ticket(msgspec.Struct, eq=False, gc=False):
    """The place of one message in the order of acknowledgements."""

    message: InboundMessage
    done: bool = False


class Acks:
    """Acknowledges a message once it and every one that came before it are done with."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._open: deque[Ticket] = deque()
        self._ready: list[InboundMessage] = []
        self._wanted = asyncio.Event()
        self._waiting = False
        """Whether some are being acknowledged, and others come behind them."""

    def enter(self, messages: Iterable[InboundMessage]) -> list[Ticket]:
        """Take in the next messages, in the order of arrival."""
        tickets = [Ticket(message) for message in messages]
        self._open.extend(tickets)
        return tickets

    def done(self, ticket: Ticket) -> None:
        """A message is decided durably, or needs no decision."""
        self.all_done((ticket,))

    def all_done(self, tickets: Iterable[Ticket]) -> None:
        """As `done`, of several messages."""
        for ticket in tickets:
            ticket.done = True
        order, ready, count = self._open, self._ready, 0
        for ticket in order:
            if not ticket.done:
                break
            count += 1
        ready += [order.popleft().message for _ in range(count)]
        if not ready:
            return
        if not self._waiting and self._source.ack_now(ready):
            self._ready = []
        else:
            self._wanted.set()

    async def run(self) -> None:
        """Acknowledge, for ever."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            messages, self._ready = self._ready, []
            self._waiting = True
            await self._source.ack(messages)
            self._waiting = False


log = structlog.get_logger()

STILL_S = 2.0
"""After a pause of this length messages may have waited in the network."""
AGAIN_S = 10.0
"""A marker that is not back by then is published anew, and somebody has to look why."""
NO_LEVEL = "service"
"""Stands for a client id that is no level of a topic."""
MARKER_ARM = "_"
"""No arm has this name."""


def marker_levels(user: str, client_id: str) -> tuple[str, str, str]:
    """The levels below `req/` that a service with this account may publish below, and no arm stands at."""
    return user, client_id if is_name(client_id) else NO_LEVEL, MARKER_ARM


class Intake:
    """The messages of `link`, in the order of arrival; `marker` is the topic of markers, without its last level."""

    def __init__(self, link: MqttLink, presence: Presence, marker: str) -> None:
        self._link = link
        self._presence = presence
        self._base = marker
        self._marker = ""
        """The topic of the marker that we wait for."""
        self._receipt: Outbound | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._sent_after_s: float | None = None
        """What comes before the marker was not sent before then, on the loop's clock; None: it did not wait."""
        self._received_s = math.inf
        """Only what was received from then on can have waited."""
        self.taken = 0
        """Batches handed over; `busy` while one is with the acceptor."""
        self.busy = False
        link.on_session(self._on_session)
        presence.pulse.on_still.append(self._on_still)

    def linked(self) -> bool:
        """Whether the MQTT server is there."""
        return self._link.connected

    async def batches(self) -> AsyncIterator[Sequence[InboundMessage]]:
        """As those of the link; `sent_after_s` is filled in where a message may have waited before it was received."""
        loop, presence = asyncio.get_running_loop(), self._presence
        async for batch in self._link.batches():
            self.busy = True
            if loop.time() > presence.sure_until_s and not presence.sure:
                await presence.made_sure()
            handed_s = loop.time()
            yield self._aged(batch) if self._marker else batch
            self.busy = False
            self.taken += 1
            if loop.time() - handed_s > STILL_S:
                self._on_still(handed_s)

    async def ack(self, messages: Sequence[InboundMessage]) -> None:
        """Acknowledge messages, in the order of arrival."""
        await self._link.ack(messages)

    def ack_now(self, messages: Sequence[InboundMessage]) -> bool:
        """As `ack`, without waiting; false when the link cannot do that."""
        return self._link.ack_now(messages)

    def close(self) -> None:
        """Wait for no marker any more."""
        self._marker = ""
        if self._timer is not None:
            self._timer.cancel()

    def _aged(self, batch: Sequence[InboundMessage]) -> list[InboundMessage]:
        found = []
        for message in batch:
            if message.topic.startswith(self._base):
                if message.topic == self._marker:
                    self._passed()
                message = msgspec.structs.replace(message, payload=b"", retain=True)  # noqa: PLW2901 - ignored further on
            elif self._sent_after_s is not None and message.received_s >= self._received_s:
                message = msgspec.structs.replace(message, sent_after_s=self._sent_after_s)  # noqa: PLW2901 - the same one
            found.append(message)
        return found

    def _on_session(self, present: bool) -> None:
        """What waits in a session that was there is of any age; where it was not, the marker only shows that it can."""
        self._sent_after_s, self._received_s = (-math.inf, -math.inf) if present else (None, math.inf)
        self._publish()

    def _on_still(self, since_s: float) -> None:
        """Nothing was read for a while: what comes now may have waited since."""
        if self._sent_after_s is None:
            self._sent_after_s = self._received_s = since_s
            self._publish()

    def _publish(self) -> None:
        """Publish a new marker; without an answer in time another one."""
        self.close()
        self._marker = f"{self._base}{secrets.token_hex(8)}"
        try:
            self._receipt = self._link.publish(self._marker, b"", retain=True)
        except LinkError:
            self._receipt = None  # with the next connection, or when there is room
        self._timer = asyncio.get_running_loop().call_later(AGAIN_S, self._overdue)

    def _overdue(self) -> None:
        if not self._link.connected:
            return
        receipt = self._receipt
        if receipt is not None and receipt.done():
            code = receipt.reason_code()
            why = f"refused with reason code 0x{code:02x}" if code else "published, and not delivered to us"
            log.error(
                "marker_not_back", topic=f"{self._base}+", why=why, remedy="our user has to write and read this topic",
                effect="requests without issued_at and Message Expiry count as old after each lost connection",
            )  # fmt: skip
        self._publish()

    def _passed(self) -> None:
        """The marker is back: nothing behind it waited."""
        self.close()
        self._sent_after_s = None
