"""Acknowledgements: in the order of arrival, whatever the order of the decisions."""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol

from broker.link.mqtt_link import InboundMessage


class Source(Protocol):
    """Where messages come from."""

    def ack_now(self, messages: Sequence[InboundMessage]) -> bool:
        """As `ack`, without waiting; false when that cannot be."""

    async def ack(self, messages: Sequence[InboundMessage]) -> None:
        """Acknowledge messages, in the order of arrival."""


class Ticket:
    """The place of one message in the order of acknowledgements."""

    __slots__ = ("done", "message")

    def __init__(self, message: InboundMessage) -> None:
        self.message = message
        self.done = False


class Acks:
    """Acknowledges a message once it and every one that came before it are done with."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._open: deque[Ticket] = deque()
        self._ready: list[InboundMessage] = []
        self._wanted = asyncio.Event()
        self._waiting = False
        """Whether some are being acknowledged, and others come behind them."""

    def enter(self, message: InboundMessage) -> Ticket:
        """Take in the next message, in the order of arrival."""
        ticket = Ticket(message)
        self._open.append(ticket)
        return ticket

    def done(self, ticket: Ticket) -> None:
        """A message is decided durably, or needs no decision."""
        self.all_done((ticket,))

    def all_done(self, tickets: Iterable[Ticket]) -> None:
        """As `done`, of several messages."""
        for ticket in tickets:
            ticket.done = True
        order, ready = self._open, self._ready
        while order and order[0].done:
            ready.append(order.popleft().message)
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
