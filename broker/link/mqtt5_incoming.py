"""What comes in on one connection of our MQTT 5 client: whole packets, messages not taken, those not acknowledged."""

from collections import deque
from collections.abc import Iterable
from typing import cast

from broker.link.mqtt5_packets import PACKET_ID_BYTES, PUBACK, PUBREC
from broker.link.mqtt5_reader import Delivery
from broker.link.mqtt_link import InboundMessage

MESSAGES_MOST = 10_000
"""What may have come and not be acknowledged; then nothing more is read until half of it is."""
BATCH_MOST = 1_000
"""Messages taken together; a read of the socket seldom brings more, a pause of the reader does."""
LARGEST_PACKET = 8 * 2**20
"""Bytes of a packet that are kept; a larger payload is cut there, and whoever reads it finds it too large."""

_ANSWERS = {answer: bytes((answer, PACKET_ID_BYTES)) for answer in (PUBACK, PUBREC)}
"""What the packets begin with that acknowledge a message."""


class Pieces:
    """Makes whole packets of what the socket brings; linear in time and bounded in memory, however long a packet is."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._missing = 0
        self._skip = 0

    def join(self, data: bytes) -> bytes:
        """What was kept and `data`, once it is enough to go on with; empty before."""
        if self._skip:
            skipped = min(self._skip, len(data))
            self._skip -= skipped
            data = data[skipped:]
        if not self._kept:
            return data
        self._kept.append(data)
        self._missing -= len(data)
        if self._missing > 0:
            return b""
        whole = b"".join(self._kept)
        self._kept.clear()
        return whole

    def keep(self, rest: bytes, missing: int) -> None:
        """Keep the beginning of a packet until so many bytes more are here."""
        if rest:
            self._kept.append(rest)
            self._missing = missing

    def skip(self, count: int) -> None:
        """Pass over the next bytes: the end of a packet that is cut."""
        self._skip = count


class Incoming:
    """Messages in the order of arrival, and their acknowledgement in that order; for bytes see `ahead_bytes`."""

    def __init__(self, bytes_most: int) -> None:
        self._bytes_most = bytes_most
        self._inbox: deque[InboundMessage] = deque()
        self._unacked: deque[Delivery] = deque()
        self._bytes = 0
        """Of what is not acknowledged."""
        self._loose_bytes = 0
        """Of what is not taken and wants no acknowledgement."""

    def __bool__(self) -> bool:
        """Whether there is something to take."""
        return bool(self._inbox)

    @property
    def held_bytes(self) -> int:
        """Bytes of what is not acknowledged, or not taken."""
        return self._bytes + self._loose_bytes

    @property
    def full(self) -> bool:
        """Whether no more should be read."""
        count = max(len(self._inbox), len(self._unacked))
        return count >= MESSAGES_MOST or self.held_bytes >= self._bytes_most

    @property
    def relaxed(self) -> bool:
        """Whether reading may go on after it was full."""
        count = max(len(self._inbox), len(self._unacked))
        return count <= MESSAGES_MOST // 2 and self.held_bytes <= self._bytes_most // 2

    def add(self, message: InboundMessage) -> None:
        """One more message."""
        delivery = cast("Delivery", message.handle)
        if delivery.answer:
            self._unacked.append(delivery)
            self._bytes += delivery.size
        else:
            self._loose_bytes += delivery.size
        self._inbox.append(message)

    def pass_over(self, delivery: Delivery) -> list[bytes]:
        """One that nobody is given; what to send for it."""
        self._unacked.append(delivery)
        self._bytes += delivery.size
        return self.ack((delivery,))

    def take(self) -> list[InboundMessage]:
        """All messages, up to `BATCH_MOST`."""
        inbox = self._inbox
        if len(inbox) > BATCH_MOST:
            return [inbox.popleft() for _ in range(BATCH_MOST)]
        taken = list(inbox)
        inbox.clear()
        self._loose_bytes = 0
        return taken

    def take_one(self) -> InboundMessage:
        """The first message."""
        message = self._inbox.popleft()
        if not self._inbox:
            self._loose_bytes = 0
        return message

    def ack(self, deliveries: Iterable[Delivery]) -> list[bytes]:
        """Mark as acknowledged; what to send for all at the front of the order that are."""
        unacked = self._unacked
        parts: list[bytes] = []
        for delivery in deliveries:
            delivery.acked = True
        while unacked and unacked[0].acked:
            delivery = unacked.popleft()
            self._bytes -= delivery.size
            parts.append(_ANSWERS[delivery.answer] + delivery.packet_id.to_bytes(PACKET_ID_BYTES))
        return parts

    def clear(self) -> None:
        """The connection is lost: what was not acknowledged comes again."""
        self._inbox.clear()
        self._unacked.clear()
        self._bytes = self._loose_bytes = 0
