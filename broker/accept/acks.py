"""Acknowledgements: in the order of arrival, whatever the order of the decisions."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from broker.link.mqtt_link import InboundMessage


class Source(Protocol):
    """Where messages come from."""

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

    def enter(self, message: InboundMessage) -> Ticket:
        """Take in the next message, in the order of arrival."""
        ticket = Ticket(message)
        self._open.append(ticket)
        return ticket

    def done(self, ticket: Ticket) -> None:
        """A message is decided durably, or needs no decision."""
        ticket.done = True
        order = self._open
        if order[0] is not ticket:
            return
        while order and order[0].done:
            self._ready.append(order.popleft().message)
        self._wanted.set()

    async def run(self) -> None:
        """Acknowledge, for ever."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            messages, self._ready = self._ready, []
            await self._source.ack(messages)
