"""What is published, and what became of it: one record, which the MQTT server's answer is written into."""

from typing import Protocol

import msgspec

OPEN, TAKEN, LOST = -1, 0, -2
"""What became of it: nothing yet; the MQTT server took it; the connection was lost. From 0x80 on a
reason code of a failure."""


class Outbound(msgspec.Struct, eq=False):
    """One publication with QoS 1, and its receipt.

    `expiry_s` 0 means never; empty properties are left out. `trace` is the `traceparent` of what it belongs to.
    """

    topic: str
    payload: bytes
    content_type: str = ""
    correlation: bytes = b""
    expiry_s: int = 0
    retain: bool = False
    trace: str = ""
    code: int = OPEN
    """`OPEN`, `TAKEN`, `LOST`, or the reason code that the MQTT server refused it with."""
    size: int = 0
    """Bytes of its packet without the header, once it is sent."""

    def done(self) -> bool:
        """Whether it is settled: acknowledged (PUBACK) or failed."""
        return self.code != OPEN

    def failed(self) -> bool:
        """Whether it is settled without success: the connection was lost, or the MQTT server refused it."""
        return self.code not in (OPEN, TAKEN)

    def reason_code(self) -> int:
        """The reason code (0x80 or above) the MQTT server refused it with; 0 in every other case."""
        return max(0, self.code)


class Giver(Protocol):
    """A link as far as it publishes."""

    def give(self, message: Outbound) -> None:
        """Publish with QoS 1, without waiting; its `code` is `OPEN` until it is settled.

        Raises LinkDownError, LinkFullError or LinkRejectedError; then nothing was published.
        """

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool = False,
        expiry_s: int = 0,
        content_type: str = "",
        correlation: bytes = b"",
        trace: str = "",
    ) -> Outbound:
        """As `give`, of what is made of these; what was published."""
        message = Outbound(topic, payload, content_type, correlation, expiry_s, retain, trace)
        self.give(message)
        return message
