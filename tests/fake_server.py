"""An MQTT 5 server that says what it is told to, byte for byte; it answers just enough for a link to stay."""

import asyncio
from collections.abc import Callable
from typing import Self

from tests.raw_publish import frame, text, with_length

CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE, SUBACK, PINGREQ, PINGRESP, DISCONNECT = (
    0x10, 0x20, 0x30, 0x40, 0x82, 0x90, 0xC0, 0xD0, 0xE0,
)  # fmt: skip
QOS_1 = 0x02


def publish(topic: bytes, payload: bytes = b"", *, mid: int = 1, properties: bytes = b"", head: int = PUBLISH) -> bytes:
    """A PUBLISH with QoS 1; `properties` without their length."""
    body = text(topic) + mid.to_bytes(2) + with_length(properties) + payload
    return frame(head | QOS_1, body)


class Peer(asyncio.Protocol):
    """One connection: what it said (`packets`, head and body), and `send` for what it is told."""

    def __init__(self, server: "FakeServer") -> None:
        self.packets: list[tuple[int, bytes]] = []
        self.lost = asyncio.Event()
        self.stays = False
        """Whether it goes on after a DISCONNECT."""
        self._server = server
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
        self._server.peers.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        del exc
        self.lost.set()

    def data_received(self, data: bytes) -> None:
        """Answer each whole packet."""
        data = self._rest + data
        at = 0
        while len(data) - at >= 2:
            size, body = data[at + 1] & 0x7F, at + 2
            while data[body - 1] & 0x80 and body < len(data):
                size |= (data[body] & 0x7F) << 7 * (body - at - 1)
                body += 1
            if data[body - 1] & 0x80 or len(data) < body + size:
                break
            self._heard(data[at], data[body : body + size])
            at = body + size
        self._rest = data[at:]

    def send(self, data: bytes) -> None:
        """Send these bytes."""
        if self._transport is not None:
            self._transport.write(data)

    def cut(self) -> None:
        """End the connection."""
        if self._transport is not None and not self.lost.is_set():
            self._transport.abort()

    def said(self, kind: int) -> list[bytes]:
        """The bodies of its packets of one kind."""
        return [body for head, body in self.packets if head & 0xF0 == kind & 0xF0]

    @property
    def acked(self) -> list[int]:
        """The packet ids it acknowledged, in order."""
        return [int.from_bytes(body[:2]) for body in self.said(PUBACK)]

    def _heard(self, head: int, body: bytes) -> None:
        self.packets.append((head, body))
        if head == DISCONNECT and self._transport is not None and not self.stays:
            self._transport.close()
        answer = self._server.answer(head, body)
        if answer:
            self.send(answer)


class FakeServer:
    """Listens on 127.0.0.1; `answer` makes what is said to each packet and may be exchanged.

    Args:
        connack: properties of the CONNACK, without their length.
        present: whether each connection finds its session.
    """

    def __init__(self, connack: bytes = b"", *, present: bool = False) -> None:
        self.peers: list[Peer] = []
        self.answer: Callable[[int, bytes], bytes] = self.polite
        self.connack = frame(CONNACK, bytes([present, 0]) + with_length(connack))
        self.port = 0
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Where a link connects to."""
        return f"mqtt://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Peer(self), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for peer in self.peers:
            peer.cut()

    def polite(self, head: int, body: bytes) -> bytes:
        """What a server says to a packet."""
        kind = head & 0xF0
        if kind == CONNECT:
            return self.connack
        if kind == SUBSCRIBE & 0xF0:
            return frame(SUBACK, body[:2] + b"\x00" + bytes([1]) * _filters_of(body))
        if kind == PUBLISH:
            size = int.from_bytes(body[:2])
            return frame(PUBACK, body[2 + size : 4 + size]) if head & QOS_1 else b""
        return frame(PINGRESP, b"") if kind == PINGREQ else b""


def _filters_of(body: bytes) -> int:
    """How many filters a SUBSCRIBE without properties names."""
    count, at = 0, 3
    while at < len(body):
        at += 3 + int.from_bytes(body[at : at + 2])
        count += 1
    return count
