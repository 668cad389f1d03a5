"""What one connection of our MQTT 5 client sends: in one write a turn of the event loop, bounded until acknowledged."""

import asyncio

from broker.link.mqtt5_packets import PACKET_ID_BYTES, QOS_1_PUBLISH, REFUSED, RETAINED, SMALL, topic_name, varint
from broker.link.mqtt5_reader import Connack
from broker.link.mqtt_link import LinkFullError, LinkRejectedError
from broker.link.outbound import LOST, OPEN, TAKEN, Outbound

MESSAGES_MOST, BYTES_MOST = 2_000, 32 * 2**20
"""What may be published and not acknowledged by the MQTT server, at most."""
PUBCOMP = 0x70
_LARGEST_ID = 65_535
_HEADER = 5
"""Bytes before the body of a packet, at most."""
_SMALL_MOST = len(SMALL)
_HEADS = tuple(bytes((QOS_1_PUBLISH,)) + length for length in SMALL)
"""What a packet begins with, by its length, that is not retained."""


class Outgoing:
    """The sending half; `wrote_s` is when it wrote last (s of the loop's clock)."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.transport: asyncio.Transport | None = None
        self.wrote_s = loop.time()
        self._loop = loop
        self._parts: list[bytes] = []
        self._flushing = False
        self._under_way: dict[int, Outbound] = {}
        self._bytes = 0
        self._most = MESSAGES_MOST
        self._largest = 0
        self._retained = RETAINED
        self._packet_id = 0

    def follow(self, connack: Connack) -> None:
        """Keep to what the MQTT server takes."""
        self._most = min(MESSAGES_MOST, connack.receive_maximum)
        self._largest = connack.max_packet
        self._retained = RETAINED if connack.retain else 0

    def send(self, *parts: bytes) -> None:
        """Send with everything else of this turn of the event loop."""
        self._parts += parts
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self.flush)

    def hold(self) -> None:
        """Send nothing until `flush`, which has to follow in the same turn."""
        self._flushing = True

    def flush(self) -> None:
        """Send now."""
        self._flushing = False
        parts, self._parts = self._parts, []
        if parts and self.transport is not None and not self.transport.is_closing():
            self.transport.write(b"".join(parts))
            self.wrote_s = self._loop.time()

    def next_id(self) -> int:
        """A packet id that is free."""
        number = self._packet_id % _LARGEST_ID + 1
        while number in self._under_way:
            number = number % _LARGEST_ID + 1
        self._packet_id = number
        return number

    def publish(self, message: Outbound, properties: bytes) -> None:
        """Publish with QoS 1; `properties` without their length.

        Raises:
            LinkRejectedError: it is larger than the MQTT server takes, or has no legal topic.
            LinkFullError: too much is under way.
        """
        name, count, payload, under_way = topic_name(message.topic), len(properties), message.payload, self._under_way
        length = SMALL[count] if count < _SMALL_MOST else varint(count)
        size = len(name) + PACKET_ID_BYTES + len(length) + count + len(payload)
        if self._largest and size + _HEADER > self._largest:
            raise LinkRejectedError(f"{message.topic}: {size + _HEADER} bytes, the MQTT server takes {self._largest}")
        if len(under_way) >= self._most or self._bytes + size > BYTES_MOST:
            raise LinkFullError(f"{len(under_way)} publications of {self._bytes} bytes are under way")
        number = self._packet_id % _LARGEST_ID + 1
        if number in under_way:
            number = self.next_id()
        self._packet_id, message.size, message.code = number, size, OPEN
        under_way[number] = message
        self._bytes += size
        if message.retain or size >= _SMALL_MOST:
            head = bytes((QOS_1_PUBLISH | (self._retained if message.retain else 0),)) + varint(size)
        else:
            head = _HEADS[size]
        self._parts += (head, name, number.to_bytes(PACKET_ID_BYTES), length, properties, payload)
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self.flush)

    def settle(self, packet_id: int, code: int) -> bool:
        """What the MQTT server said to a publish; whether it was under way."""
        message = self._under_way.pop(packet_id, None)
        if message is None:
            return False
        self._bytes -= message.size
        message.code = code if code >= REFUSED else TAKEN
        return True

    def complete(self, packet_id: bytes) -> None:
        """Answer a PUBREL."""
        self.send(bytes((PUBCOMP, 2)), packet_id)

    def fail(self) -> None:
        """The connection is lost, and everything under way with it."""
        under_way, self._under_way, self._bytes = self._under_way, {}, 0
        for message in under_way.values():
            message.code = LOST
