"""The MQTT link on mqttium.

Each connection is an mqttium client of its own, so that nothing of an earlier one can be acked: with mqttium's own
reconnection, a message which the MQTT server does not deliver again (it expired meanwhile) would hold back every
later PUBACK.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import cast

import structlog
from mqttium import BrokerDisconnectError, FlowControlError, MQTTError, ProtocolError
from mqttium.api import AsyncClient, Message, Properties

from broker.link.kept_link import ATTEMPT_S, SESSION_TAKEN_OVER, KeptLink
from broker.link.mqtt_link import (
    InboundMessage,
    LinkConfig,
    LinkDownError,
    LinkFullError,
    LinkRejectedError,
    ServerAddress,
)
from broker.link.mqttium_client import (
    QOS_1,
    SUBSCRIBE,
    SUBSCRIBE_RETAINED,
    WITH_WILL,
    build_client,
    build_properties,
    inbound,
    settle,
    translated,
)
from broker.link.outbound import OPEN, Outbound

_LOG = structlog.get_logger(__name__)

_CACHED_PROPERTIES = 256


class MqttiumConnection:
    """One client of mqttium, a `KeptConnection`."""

    def __init__(self, config: LinkConfig) -> None:
        self.client = client = build_client(config)
        self.began_s = asyncio.get_running_loop().time()
        self.lost = asyncio.Event()
        self.resumed = False
        self.taken_over = False
        options = SUBSCRIBE_RETAINED if config.retained else SUBSCRIBE
        self._config = config
        self._subscription = [(one, options) for one in config.filters]
        client.on_disconnect = self._on_disconnect

    async def begin(self, address: ServerAddress, tls: ssl.SSLContext | None, timeout_s: float) -> None:
        """Connect, and subscribe unless the session is there; raises LinkError."""
        client = self.client
        try:
            connack = await client.connect(address.host, address.port, ssl=tls, timeout=timeout_s)
            self.resumed = connack.session_present
            if not self.resumed:
                await client.subscribe(self._subscription, timeout=ATTEMPT_S)
        except BaseException as error:
            await client.disconnect()
            if isinstance(error, (MQTTError, OSError)):
                raise translated(error, self._config) from error
            raise

    async def renew(self, timeout_s: float) -> None:
        """See `KeptConnection.renew`."""
        try:
            await self.client.subscribe(self._subscription, timeout=timeout_s)
        except (MQTTError, OSError) as error:
            raise translated(error, self._config) from error

    async def end(self, *, will: bool = False) -> None:
        """See `KeptConnection.end`."""
        await self.client.disconnect(WITH_WILL if will else 0)
        self.lost.set()

    def _on_disconnect(self, error: BaseException | None) -> None:
        self.taken_over = isinstance(error, BrokerDisconnectError) and error.reason_code == SESSION_TAKEN_OVER
        if error is not None:
            _LOG.warning("mqtt_connection_lost", cause=str(error))
        self.lost.set()


class MqttiumLink(KeptLink[MqttiumConnection]):
    """The `MqttLink` on mqttium; belongs to the event loop that opens it."""

    def __init__(self, config: LinkConfig) -> None:
        super().__init__(config)
        self._properties: dict[tuple[str, int], Properties] = {}

    @property
    def deaf(self) -> bool:
        """See `MqttLink.deaf`."""
        return False

    @property
    def connected(self) -> bool:
        """See `MqttLink.connected`."""
        return self._connection is not None and self._connection.client.is_connected

    async def batches(self) -> AsyncIterator[Sequence[InboundMessage]]:
        """See `MqttLink.batches`; mqttium hands over one by one."""
        async for message in self.messages():
            yield (message,)

    async def messages(self) -> AsyncIterator[InboundMessage]:
        """The messages, over all connections, until `close`."""
        loop = asyncio.get_running_loop()
        while not self._closed:
            self._raise_if_ended()
            connection = self._connection
            if connection is None or connection.lost.is_set():
                self._news.clear()
                await self._news.wait()
                continue
            client = connection.client
            async for message in client.messages():
                if client.is_connected:
                    yield inbound(client, message, loop.time())
            await connection.lost.wait()

    async def ack(self, messages: Sequence[InboundMessage]) -> None:
        """Acknowledge `messages`, given in arrival order; one of an earlier connection is dropped and counted."""
        connection = self._connection
        for message in messages:
            client, inner = cast("tuple[AsyncClient, Message]", message.handle)
            if connection is None or client is not connection.client:
                self.counts.stale_acks += 1
                continue
            try:
                await client.ack(inner)
            except (MQTTError, OSError):
                self.counts.stale_acks += 1

    def give(self, message: Outbound) -> None:
        """See `MqttLink.give`."""
        connection = self._connection
        if connection is None:
            raise LinkDownError("not connected to the MQTT server")
        content_type, expiry_s, topic = message.content_type, message.expiry_s, message.topic
        properties = (
            build_properties(content_type, expiry_s, message.correlation, message.trace)
            if message.correlation or message.trace
            else self._cached_properties(content_type, expiry_s)
        )
        try:
            receipt = connection.client.publish_nowait(
                topic, message.payload, qos=QOS_1, retain=message.retain, properties=properties
            )
        except FlowControlError as error:
            raise LinkFullError(str(error)) from None
        except ProtocolError as error:
            raise LinkRejectedError(f"{topic}: {error}") from None
        except (MQTTError, OSError) as error:
            raise LinkDownError(f"not connected to the MQTT server: {error}") from None
        message.code = OPEN
        receipt.add_done_callback(partial(settle, message))

    def _cached_properties(self, content_type: str, expiry_s: int) -> Properties:
        key = (content_type, expiry_s)
        properties = self._properties.get(key)
        if properties is None:
            properties = build_properties(content_type, expiry_s, b"")
            if len(self._properties) < _CACHED_PROPERTIES:
                self._properties[key] = properties
        return properties

    async def _attempt(self, config: LinkConfig, tls: ssl.SSLContext | None, timeout_s: float) -> MqttiumConnection:
        """See `KeptLink`."""
        connection = MqttiumConnection(config)
        await connection.begin(self._address, tls, timeout_s)
        return connection

    def _max_packet_of(self, connection: MqttiumConnection) -> int:
        """See `KeptLink`."""
        return connection.client.negotiated.maximum_packet_size or 0
