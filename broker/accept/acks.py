"""Acknowledgements: in the order of arrival, whatever the order of the decisions."""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from broker.link.mqtt_link import InboundMessage


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
