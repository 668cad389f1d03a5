"""An MQTT link in memory, for what depends on the moment."""

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

from broker.link.mqtt_link import (
    UNTOLD_MAX_PACKET,
    InboundMessage,
    LinkConfig,
    LinkCounts,
    LinkDownError,
    LinkUnreachableError,
    MqttLink,
)
from broker.link.outbound import LOST, OPEN, TAKEN, Giver, Outbound

PATIENCE_S = 3600.0
_BINARY = frozenset({"application/msgpack", "application/x-protobuf"})


class Published(NamedTuple):
    """One publication, in the order of sending; `topic` without the prefix of the link.

    `document` is its JSON, else the bytes of another codec.
    """

    topic: str
    document: Any
    retained: bool
    at_s: float
    trace: str = ""


class _Inbox:
    """What came and was not taken yet."""

    def __init__(self) -> None:
        self._inbox: asyncio.Queue[InboundMessage | None] = asyncio.Queue()

    async def messages(self) -> AsyncIterator[InboundMessage]:
        """See `MqttLink`."""
        while (message := await self._inbox.get()) is not None:
            yield message

    async def batches(self) -> AsyncIterator[Sequence[InboundMessage]]:
        """See `MqttLink`."""
        ended = False
        while not ended:
            batch = [await self._inbox.get()]
            while not self._inbox.empty():
                batch.append(self._inbox.get_nowait())
            ended = None in batch
            yield [message for message in batch if message is not None]


class MemoryLink(_Inbox, Giver):
    """An `MqttLink` without a network: `deliver` a message, look at `published` and `acked`.

    Topics are given and shown without `prefix`.
    While `silent` nothing that is published is acknowledged; `lose` and `restore` cut and renew the connection.
    """

    prefix = ""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, silent: bool = False) -> None:
        super().__init__()
        self.counts = LinkCounts()
        self.published: list[Published] = []
        self.retained: dict[str, bytes] = {}
        """What an MQTT server would hold, by topic."""
        self.acked: list[InboundMessage] = []
        self.delivered: list[InboundMessage] = []
        self.silent = silent
        self.readable = True
        """Whether a second link may read what is retained; while `mute` it gets nothing that it publishes itself."""
        self.mute = False
        self.connected = self.deaf = False
        self.max_packet = UNTOLD_MAX_PACKET
        self._loop = loop
        self._open: deque[Outbound] = deque()
        self._callbacks: list[Callable[[bool], None]] = []
        self._lost_callbacks: list[Callable[[], None]] = []
        self._news = asyncio.Event()

    def on_session(self, callback: Callable[[bool], None], lost: Callable[[], None] | None = None) -> None:
        """See `MqttLink`."""
        self._callbacks.append(callback)
        if lost is not None:
            self._lost_callbacks.append(lost)

    async def open(self) -> bool:
        """See `MqttLink`."""
        self.restore(present=True)
        return True

    async def ack(self, messages: Sequence[InboundMessage]) -> None:
        """See `MqttLink`."""
        self.ack_now(messages)

    def hold(self) -> None:
        """See `MqttLink`."""

    def flush(self) -> None:
        """See `MqttLink`."""

    def on_receipts(self, callback: Callable[[], None]) -> bool:
        """See `MqttLink`."""
        del callback
        return False

    def ack_now(self, messages: Sequence[InboundMessage]) -> bool:
        """See `MqttLink`."""
        self.acked += [message for message in messages if message.payload or not message.retain]
        return True

    def give(self, message: Outbound) -> None:
        """See `MqttLink`."""
        if not self.connected:
            raise LinkDownError("cut")
        topic, payload, message.code = message.topic, message.payload, TAKEN
        if message.retain and not payload and "/_/" in topic:  # a marker comes back, and is nothing to look at
            self._inbox.put_nowait(_message(topic, b"", received_s=self._loop.time(), retain=True))
            return
        if self.silent:
            message.code = OPEN
            self._open.append(message)
        if message.retain:
            self.retained.pop(topic, None)
            if payload:
                self.retained[topic] = payload
        document = (payload if message.content_type in _BINARY else json.loads(payload)) if payload else None
        told = Published(topic.removeprefix(self.prefix), document, message.retain, self._loop.time(), message.trace)
        self.published.append(told)
        self._news.set()

    async def close(self, *, will: bool = False) -> None:
        """See `MqttLink`."""
        del will
        self.lose()
        self._inbox.put_nowait(None)

    def answer(self, number: int | None = None, *, skip: int = 0, code: int = 0) -> None:
        """Acknowledge so many of the oldest publications (all, from now on), or refuse them with `code`."""
        self.silent = self.silent and number is not None
        chosen = list(self._open)[skip:][:number]
        for message in chosen:
            message.code = code
            self._open.remove(message)

    def lose(self) -> None:
        """Cut the connection."""
        self.connected = False
        for message in self._open:
            message.code = LOST
        self._open.clear()
        for callback in self._lost_callbacks:
            callback()

    def restore(self, *, present: bool) -> None:
        """Connect."""
        self.connected = True
        for callback in self._callbacks:
            callback(present)

    def deliver(
        self, topic: str, payload: bytes, *, dup: bool = False, retain: bool = False, expiry_s: int | None = None
    ) -> None:
        """Let a message come."""
        message = _message(
            f"{self.prefix}{topic}", payload, retain=retain, dup=dup, expiry_s=expiry_s, received_s=self._loop.time()
        )
        self.delivered.append(message)
        self._inbox.put_nowait(message)

    @property
    def unacked(self) -> list[InboundMessage]:
        """What an MQTT server would deliver again."""
        done = set(map(id, self.acked))
        return [message for message in self.delivered if id(message) not in done]

    async def take(self, wanted: Callable[[Published], bool], after: int = 0) -> Published:
        """The first publication from number `after` on that is wanted; waits for it."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for published in self.published[after:]:
                    if wanted(published):
                        return published
                self._news.clear()
                await self._news.wait()


def _message(
    topic: str,
    payload: bytes,
    *,
    received_s: float,
    retain: bool = False,
    dup: bool = False,
    expiry_s: int | None = None,
) -> InboundMessage:
    return InboundMessage(topic, payload, retain, dup, "", "", b"", expiry_s, None, received_s)


class MirrorLink(MemoryLink):
    """A link on which its owner reads what it publishes itself, as on an MQTT server without others."""

    def give(self, message: Outbound) -> None:
        """See `MqttLink`."""
        super().give(message)
        self.deliver(message.topic.removeprefix(self.prefix), message.payload)


class MemoryReader(Giver):
    """A second `MqttLink` to the server of a `MemoryLink`: brings what is retained, then what it publishes itself."""

    def __init__(self, server: MemoryLink, config: LinkConfig) -> None:
        self.counts = LinkCounts()
        self.max_packet = UNTOLD_MAX_PACKET
        self.connected = self.deaf = False
        self._server = server
        self._filters = [re.compile(re.escape(one).replace(r"\+", "[^/]*")) for one in config.filters]
        self._inbox: asyncio.Queue[InboundMessage | None] = asyncio.Queue()
        self._callbacks: list[Callable[[bool], None]] = []

    def on_session(self, callback: Callable[[bool], None], lost: Callable[[], None] | None = None) -> None:
        """See `MqttLink`."""
        del lost
        self._callbacks.append(callback)

    async def open(self) -> bool:
        """See `MqttLink`."""
        if not self._server.connected or not self._server.readable:
            raise LinkUnreachableError("cut")
        self.connected = True
        for one in self._filters:
            for topic, payload in self._server.retained.items():
                if one.fullmatch(topic):
                    self._put(topic, payload, retain=True)
        for callback in self._callbacks:
            callback(False)
        return False

    async def messages(self) -> AsyncIterator[InboundMessage]:
        """See `MqttLink`."""
        while (message := await self._inbox.get()) is not None:
            yield message

    async def batches(self) -> AsyncIterator[Sequence[InboundMessage]]:
        """See `MqttLink`."""
        async for message in self.messages():
            yield [message]

    async def ack(self, messages: Sequence[InboundMessage]) -> None:
        """See `MqttLink`."""

    def ack_now(self, messages: Sequence[InboundMessage]) -> bool:
        """See `MqttLink`."""
        del messages
        return True

    def hold(self) -> None:
        """See `MqttLink`."""

    def flush(self) -> None:
        """See `MqttLink`."""

    def on_receipts(self, callback: Callable[[], None]) -> bool:
        """See `MqttLink`."""
        del callback
        return False

    def give(self, message: Outbound) -> None:
        """See `MqttLink`."""
        message.code = TAKEN
        if not self._server.mute:
            self._put(message.topic, message.payload, retain=False)

    async def close(self, *, will: bool = False) -> None:
        """See `MqttLink`."""
        del will
        self.connected = False
        self._callbacks.clear()
        self._inbox.put_nowait(None)

    def _put(self, topic: str, payload: bytes, *, retain: bool) -> None:
        self._inbox.put_nowait(
            InboundMessage(
                topic=topic, payload=payload, retain=retain, dup=False, content_type="", response_topic="",
                correlation=b"", expiry_s=None, handle=None,
            )
        )  # fmt: skip


def link_for(server: MemoryLink, config: LinkConfig) -> MqttLink:
    """The link of a service with these settings: the one of the requests, or one to read what is retained."""
    if config.retained and config.client_id.endswith("-read"):
        return MemoryReader(server, config)
    return server
