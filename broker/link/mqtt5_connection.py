"""One connection of our MQTT 5 client: nothing that comes inside an intact frame ends it."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import structlog

from broker.link import mqtt5_packets as wire
from broker.link.kept_link import SESSION_TAKEN_OVER, refusal
from broker.link.mqtt5_incoming import LARGEST_PACKET, Incoming, Pieces
from broker.link.mqtt5_keepalive import KeepAlive
from broker.link.mqtt5_outgoing import Outgoing
from broker.link.mqtt5_reader import (
    Connack,
    Delivery,
    FramingError,
    UnreadableError,
    frame_length,
    packet_id_of,
    read_connack,
    read_publish,
    read_suback,
)
from broker.link.mqtt_link import InboundMessage, LinkConfig, LinkRefusedError, LinkUnreachableError

_LOG = structlog.get_logger(__name__)

_CLOSE_S = 1.0
"""How long the MQTT server may take to end a connection that we ended."""
_UNREADABLE = (UnreadableError, IndexError, UnicodeDecodeError)
_ROOM = 256 * 1024
"""Bytes that one read of the socket takes at most."""
_SHORTEST = 2
"""Bytes of the shortest packet."""
_WHO = "the MQTT server"


class Owner(NamedTuple):
    """Who is told of news.

    That there is something to look at, that receipts are settled, why a message could not be read, what packet was out
    of place.
    """

    news: Callable[[], None]
    receipts: Callable[[], None]
    unreadable: Callable[[str], None]
    out_of_place: Callable[[str], None]


class Connection(asyncio.BufferedProtocol):
    """See the module; a `KeptConnection` once `begin` has returned.

    `read_s` is when the socket was read last (s of the loop's clock).
    """

    def __init__(self, config: LinkConfig, owner: Owner) -> None:
        self._config = config
        self._owner = owner
        self._loop = loop = asyncio.get_running_loop()
        self.outgoing = Outgoing(loop)
        self.incoming = Incoming(config.ahead_bytes)
        self.lost = asyncio.Event()
        self.began_s = self.read_s = loop.time()
        self.resumed = False
        self.taken_over = False
        self.up = False
        """Whether publishing is possible."""
        self.connack = Connack(code=0, present=False)
        self._connack: asyncio.Future[Connack] = loop.create_future()
        self._subacks: dict[int, asyncio.Future[bytes]] = {}
        self._transport: asyncio.Transport | None = None
        self._pieces = Pieces()
        self._room = memoryview(bytearray(_ROOM))
        self._paused = self._begun = self._deaf = self._settled = False
        self._why = ""
        self._keepalive = KeepAlive(loop, self.outgoing, lambda: self.abort(f"{_WHO} is silent"))

    # ------------------------------------------------------------------ its life

    async def begin(self, client_id: str) -> None:
        """Say CONNECT, and subscribe unless the session is there.

        Raises:
            LinkRefusedError: the MQTT server refuses, or cannot do what a link needs.
            LinkUnreachableError: it ends the connection, or is too busy.
        """
        config = self._config
        self.outgoing.send(wire.connect(config, client_id))
        self.connack = connack = await self._connack
        if connack.code:
            raise refusal(config, connack.code, connack.why)
        if connack.max_qos < 1:
            raise LinkRefusedError(f"{config.url} takes no messages of QoS 1", wire.QOS_NOT_SUPPORTED)
        if not connack.retain:
            _LOG.warning("mqtt_server_retains_nothing", url=config.url)
        self.resumed = connack.present
        self.outgoing.follow(connack)
        self._keepalive.start(config.keepalive_s if connack.keepalive_s is None else connack.keepalive_s)
        if not self.resumed:
            await self._subscribe()
        if self.lost.is_set():
            raise LinkUnreachableError(f"{config.url}: {self._why}")
        self.up = self._begun = True

    async def renew(self, timeout_s: float) -> None:
        """See `KeptConnection.renew`."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._subscribe()
        except TimeoutError:
            raise LinkUnreachableError(f"{self._config.url} did not answer a subscription") from None

    async def end(self, *, will: bool = False) -> None:
        """See `KeptConnection.end`."""
        transport, self.up = self._transport, False
        if transport is None:
            return
        if not transport.is_closing():
            code = bytes((1, wire.WITH_WILL)) if will else b"\x00"
            self.outgoing.send(bytes((wire.DISCONNECT,)), code)
            self.outgoing.flush()
            self._deaf = True  # bytes unread would make the end a reset, which may overtake our DISCONNECT
            if self._paused:
                transport.resume_reading()
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self.lost.wait()
        except TimeoutError:
            transport.abort()

    def abort(self, why: str) -> None:
        """End it at once."""
        self._why = self._why or why
        self.up = False
        if self._transport is not None:
            self._transport.abort()

    # ------------------------------------------------------------------ for the link

    @property
    def paused(self) -> bool:
        """Whether nothing is read until enough messages are acknowledged."""
        return self._paused

    def take(self) -> list[InboundMessage]:
        """The messages that are here, up to `BATCH_MOST`."""
        taken = self.incoming.take()
        self._relax()
        return taken

    def take_one(self) -> InboundMessage:
        """The first message that is here."""
        message = self.incoming.take_one()
        self._relax()
        return message

    def ack(self, deliveries: Iterable[Delivery]) -> None:
        """Acknowledge; PUBACKs leave in the order of arrival."""
        if parts := self.incoming.ack(deliveries):
            self.outgoing.send(*parts)
            self._relax()

    # ------------------------------------------------------------------ for asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BufferedProtocol`."""
        if isinstance(transport, asyncio.Transport):
            self._transport = self.outgoing.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BufferedProtocol`."""
        self._why = self._why or f"connection lost: {exc or 'closed by the MQTT server'}"
        if self._begun and not self._deaf:
            _LOG.warning("mqtt_connection_lost", cause=self._why)
        self.up = False
        self._keepalive.stop()
        error = LinkUnreachableError(f"{self._config.url}: {self._why}")
        _fail(self._connack, error)
        for waiting in self._subacks.values():
            _fail(waiting, error)
        self.outgoing.fail()
        self.incoming.clear()
        self.lost.set()
        self._owner.receipts()
        self._owner.news()

    def get_buffer(self, _sizehint: int) -> memoryview:
        """See `asyncio.BufferedProtocol`: always the same, for room made anew costs more than a read."""
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        """See `asyncio.BufferedProtocol`."""
        if self._deaf:
            return
        self.read_s = self._loop.time()
        data = self._pieces.join(bytes(self._room[:nbytes]))
        at, end, missing = 0, len(data), 1
        try:
            while end - at >= _SHORTEST:
                head, size, body = data[at], data[at + 1], at + 2
                if size >= wire.MORE:
                    size, body = frame_length(data, at, end)
                    if not body:
                        break
                stop = body + size
                if stop > end:
                    missing = min(stop, at + LARGEST_PACKET) - end
                    if missing > 0:
                        break
                    self._pieces.skip(stop - end)
                    stop = end
                self._packet(data, head, body, stop)
                at = stop
        except FramingError as error:
            self.outgoing.send(bytes((wire.DISCONNECT, 1, wire.MALFORMED)))
            self.outgoing.flush()
            self.abort(f"{_WHO} sent {error}")
            return
        self._pieces.keep(data[at:] if at else data, missing)
        self._tell_owner()

    def _tell_owner(self) -> None:
        """What a read brought; too much of it, and nothing more is read."""
        if self._settled:
            self._settled = False
            self._owner.receipts()
        if self.incoming:
            self._owner.news()
            if self.incoming.full and not self._paused and self._transport is not None:
                self._paused, self._keepalive.listening = True, False
                self._transport.pause_reading()

    # ------------------------------------------------------------------ what comes

    def _packet(self, data: bytes, head: int, at: int, stop: int) -> None:
        """One packet, its body between two positions."""
        if head == wire.PUBACK and stop - at >= wire.PACKET_ID_BYTES:
            code = data[at + 2] if stop - at > wire.PACKET_ID_BYTES else 0
            self.outgoing.settle(data[at] << 8 | data[at + 1], code)
            self._settled = True
            self._keepalive.answered_s = self.read_s
        elif head & 0xF0 == wire.PUBLISH:
            try:
                self.incoming.add(read_publish(data, head, at, stop, self))
            except _UNREADABLE as error:
                self._pass_over(data[at:stop], head, error)
        else:
            self._other(head, data[at:stop])

    def _pass_over(self, body: bytes, head: int, error: Exception) -> None:
        """Acknowledge a message that nobody can be given, so that it does not come again."""
        packet_id = packet_id_of(body, head)
        self._owner.unreadable(f"{type(error).__name__}: {error}")
        if packet_id:
            answer = wire.PUBREC if head & 0x04 else wire.PUBACK
            if parts := self.incoming.pass_over(Delivery(self, answer, packet_id, len(body))):
                self.outgoing.send(*parts)

    def _other(self, head: int, body: bytes) -> None:
        """Any other packet."""
        try:
            self._understand(head, body)
        except _UNREADABLE as error:
            if head == wire.CONNACK:
                self.abort(f"{_WHO} sent a CONNACK that cannot be read: {error}")
            self._owner.out_of_place(f"0x{head:02x}: {error}")

    def _understand(self, head: int, body: bytes) -> None:
        if head == wire.PINGRESP:
            self._keepalive.answered_s = self.read_s
        elif head == wire.CONNACK:
            if not self._connack.done():
                self._connack.set_result(read_connack(body))
        elif head == wire.SUBACK:
            packet_id, codes = read_suback(body)
            waiting = self._subacks.pop(packet_id, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(codes)
        elif head == wire.PUBREL and len(body) >= wire.PACKET_ID_BYTES:
            self.outgoing.complete(body[: wire.PACKET_ID_BYTES])
        elif head == wire.DISCONNECT:
            code = body[0] if body else 0
            self.taken_over = code == SESSION_TAKEN_OVER
            self.abort(f"{_WHO} disconnected (reason code 0x{code:02x})")
        else:
            raise UnreadableError(f"no packet of {_WHO}")

    # ------------------------------------------------------------------ parts

    async def _subscribe(self) -> None:
        """Subscribe to the filters of the settings.

        Raises:
            LinkRefusedError: to one of them at least.
            LinkUnreachableError: the connection is lost.
        """
        packet_id = self.outgoing.next_id()
        waiting = self._subacks[packet_id] = self._loop.create_future()
        self.outgoing.send(wire.subscribe(self._config, packet_id))
        codes = await waiting
        code = max(codes)
        if code >= wire.REFUSED:
            raise LinkRefusedError(f"{self._config.url} refused the subscription (reason code 0x{code:02x})", code)
        if not all(codes):
            _LOG.warning("mqtt_subscription_of_qos_0", url=self._config.url)

    def _relax(self) -> None:
        """Read on, if there is room again."""
        if self._paused and self.incoming.relaxed and self._transport is not None:
            self._paused, self._keepalive.listening = False, True
            self._keepalive.answered_s = self._loop.time()
            if not self._transport.is_closing():
                self._transport.resume_reading()


def _fail(future: asyncio.Future[Any], error: LinkUnreachableError) -> None:
    """Tell whoever waits; who waited may have given up."""
    if not future.done():
        future.set_exception(error)
        future.exception()
