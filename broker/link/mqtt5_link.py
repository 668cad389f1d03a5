"""The MQTT link on a small MQTT 5 client of our own, which nothing that a client can publish may end."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import structlog

from broker.counters import Counters
from broker.link.kept_link import KeptLink
from broker.link.mqtt5_connection import Connection, Owner
from broker.link.mqtt5_packets import correlation_property, publish_properties, trace_property
from broker.link.mqtt5_reader import Connack, Delivery
from broker.link.mqtt_link import (
    InboundMessage,
    LinkConfig,
    LinkDownError,
    LinkUnreachableError,
)
from broker.link.outbound import Outbound

_CACHED_PROPERTIES = 256
_NEXT_ADDRESS_S = 0.25
"""After which time without an answer the next address of a host is tried, too."""
_LOG = structlog.get_logger(__name__)


class Mqtt5Link(KeptLink[Connection]):
    """The `MqttLink` on our own client; belongs to the event loop that opens it."""

    def __init__(self, config: LinkConfig, counters: Counters | None = None) -> None:
        super().__init__(config)
        self._counters = counters
        self._receipts: list[Callable[[], None]] = []
        self._owner = Owner(self._news.set, self._on_receipts, self._on_unreadable, self._on_odd)
        self._properties: dict[tuple[str, int], bytes] = {}
        self._client_id = config.client_id

    @property
    def connected(self) -> bool:
        """See `MqttLink.connected`."""
        return self._connection is not None and self._connection.up

    @property
    def deaf(self) -> bool:
        """See `MqttLink.deaf`."""
        return self._connection is not None and self._connection.paused

    @property
    def connack(self) -> Connack | None:
        """What the MQTT server said of itself when the connection that is up now was made."""
        return self._connection.connack if self.connected and self._connection is not None else None

    @property
    def held_bytes(self) -> int:
        """Bytes of packets that came and are not acknowledged."""
        return 0 if self._connection is None else self._connection.incoming.held_bytes

    async def batches(self) -> AsyncIterator[Sequence[InboundMessage]]:
        """See `MqttLink.batches`."""
        while not self._closed:
            self._raise_if_ended()
            connection = self._connection
            if connection is not None and connection.incoming:
                yield connection.take()
                if connection.incoming:
                    await asyncio.sleep(0)
            else:
                self._news.clear()
                await self._news.wait()

    async def messages(self) -> AsyncIterator[InboundMessage]:
        """See `MqttLink.messages`."""
        while not self._closed:
            self._raise_if_ended()
            connection = self._connection
            if connection is not None and connection.incoming:
                yield connection.take_one()
            else:
                self._news.clear()
                await self._news.wait()

    async def ack(self, messages: Sequence[InboundMessage]) -> None:
        """See `MqttLink.ack`."""
        self.ack_now(messages)

    def ack_now(self, messages: Sequence[InboundMessage]) -> bool:
        """See `MqttLink.ack_now`."""
        connection, current = self._connection, list[Delivery]()
        if connection is not None and connection.up:
            deliveries: list[Any] = [message.handle for message in messages]
            current = [delivery for delivery in deliveries if delivery.connection is connection]
            connection.ack(current)
        self.counts.stale_acks += len(messages) - len(current)
        return True

    def hold(self) -> None:
        """See `MqttLink.hold`."""
        if self._connection is not None:
            self._connection.outgoing.hold()

    def flush(self) -> None:
        """See `MqttLink.flush`."""
        if self._connection is not None:
            self._connection.outgoing.flush()

    def on_receipts(self, callback: Callable[[], None]) -> bool:
        """See `MqttLink.on_receipts`."""
        self._receipts.append(callback)
        return True

    def give(self, message: Outbound) -> None:
        """See `MqttLink.give`."""
        connection = self._connection
        if connection is None or not connection.up:
            raise LinkDownError("not connected to the MQTT server")
        key = message.content_type, message.expiry_s
        properties = self._properties.get(key)
        if properties is None:
            properties = publish_properties(*key)
            if len(self._properties) < _CACHED_PROPERTIES:
                self._properties[key] = properties
        if message.correlation:
            properties += correlation_property(message.correlation)
        if message.trace:
            properties += trace_property(message.trace)
        connection.outgoing.publish(message, properties)

    async def _attempt(self, config: LinkConfig, tls: ssl.SSLContext | None, timeout_s: float) -> Connection:
        """See `KeptLink`."""
        address = self._address
        connection = Connection(config, self._owner)
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.get_running_loop().create_connection(
                    lambda: connection, address.host, address.port, ssl=tls, happy_eyeballs_delay=_NEXT_ADDRESS_S
                )
                await connection.begin(self._client_id)
        except OSError as error:
            connection.abort("given up")
            untrusted = isinstance(error, ssl.SSLCertVerificationError)
            why = "no answer in time" if isinstance(error, TimeoutError) else error
            raise LinkUnreachableError(f"no MQTT server at {config.url}: {why}", lasting=untrusted) from error
        except BaseException:
            connection.abort("given up")
            raise
        self._client_id = self._client_id or connection.connack.client_id
        return connection

    def _max_packet_of(self, connection: Connection) -> int:
        """See `KeptLink`."""
        return connection.connack.max_packet

    def _on_receipts(self) -> None:
        for callback in self._receipts:
            callback()

    def _on_unreadable(self, why: str) -> None:
        _LOG.debug("mqtt_message_unreadable", why=why)
        self.counts.unreadable += 1
        if self._counters is not None:
            self._counters.add("message_unreadable")

    def _on_odd(self, why: str) -> None:
        _LOG.debug("mqtt_packet_out_of_place", why=why)
        self.counts.out_of_place += 1
        if self._counters is not None:
            self._counters.add("packet_out_of_place")
