"""The MQTT link on mqttium.

Each connection is an mqttium client of its own, so that nothing of an earlier one can be acked: with mqttium's own
reconnection, a message which the MQTT server does not deliver again (it expired meanwhile) would hold back every
later PUBACK.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from typing import cast

import structlog
from mqttium import BrokerDisconnectError, FlowControlError, MQTTError, ProtocolError, SubscribeError
from mqttium.api import AsyncClient, Message, Properties

from broker.link.mqtt_link import (
    UNTOLD_MAX_PACKET,
    Backoff,
    InboundMessage,
    LinkConfig,
    LinkCounts,
    LinkDownError,
    LinkError,
    LinkFullError,
    LinkRejectedError,
    LinkTakenOverError,
    LinkUnreachableError,
    Receipt,
    parse_url,
    with_password_of_now,
)
from broker.link.mqttium_client import (
    QOS_1,
    SUBSCRIBE,
    SUBSCRIBE_RETAINED,
    WITH_WILL,
    MqttiumReceipt,
    build_client,
    build_properties,
    build_tls,
    inbound,
    translated,
)

_LOG = structlog.get_logger(__name__)

_ATTEMPT_S = 10.0
_RENEWAL_S = 60.0
_STABLE_S = 1.0
"""A connection that lasted this long was a good one: the next loss is retried fast."""
_CACHED_PROPERTIES = 256
_CANCEL_AGAIN_S = 0.1
_SESSION_TAKEN_OVER = 0x8E


class _Connection:
    """One client of mqttium, when it began (s of the loop's clock), whether it resumed a session, its loss and why."""

    def __init__(self, client: AsyncClient, began_s: float) -> None:
        self.client = client
        self.began_s = began_s
        self.lost = asyncio.Event()
        self.resumed = False
        self.taken_over = False
        client.on_disconnect = self._on_disconnect

    def _on_disconnect(self, error: BaseException | None) -> None:
        self.taken_over = isinstance(error, BrokerDisconnectError) and error.reason_code == _SESSION_TAKEN_OVER
        if error is not None:
            _LOG.warning("mqtt_connection_lost", cause=str(error))
        self.lost.set()


class MqttiumLink:
    """The `MqttLink` on mqttium; belongs to the event loop that opens it."""

    def __init__(self, config: LinkConfig) -> None:
        self.counts = LinkCounts()
        self._config = config
        self._address = parse_url(config.url)
        options = SUBSCRIBE_RETAINED if config.retained else SUBSCRIBE
        self._subscription = [(one, options) for one in config.filters]
        self._connection: _Connection | None = None
        self._changed = asyncio.Event()
        self._callbacks: list[Callable[[bool], None]] = []
        self._lost_callbacks: list[Callable[[], None]] = []
        self._properties: dict[tuple[str, int], Properties] = {}
        self._backoff = Backoff(config.retry_first_s, config.retry_max_s)
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False
        self.max_packet = UNTOLD_MAX_PACKET

    @property
    def connected(self) -> bool:
        """Whether publishing is possible: connected and subscribed."""
        return self._connection is not None and self._connection.client.is_connected

    def on_session(self, callback: Callable[[bool], None], lost: Callable[[], None] | None = None) -> None:
        """Call `callback(session_present)` after each connection, and `lost()` after each loss of one."""
        self._callbacks.append(callback)
        if lost is not None:
            self._lost_callbacks.append(lost)

    async def open(self) -> bool:
        """Connect and subscribe; return whether the MQTT server still had the session."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self._config.first_connection_s
        tls = build_tls(self._config) if self._address.tls else None
        while True:
            try:
                present = await self._connect(tls, max(0.1, deadline_s - loop.time()))
                break
            except LinkUnreachableError as error:
                delay_s = self._backoff.next_s()
                if error.lasting or loop.time() + delay_s >= deadline_s:
                    raise
            await asyncio.sleep(delay_s)
        self._keeper = asyncio.create_task(self._keep_connected(tls), name="mqtt-link")
        self._keeper.add_done_callback(lambda _: self._changed.set())
        return present

    async def messages(self) -> AsyncIterator[InboundMessage]:
        """The messages, over all connections, until `close`."""
        loop = asyncio.get_running_loop()
        while not self._closed:
            self._raise_if_ended()
            connection = self._connection
            if connection is None or connection.lost.is_set():
                self._changed.clear()
                await self._changed.wait()
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

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool = False,
        expiry_s: int = 0,
        content_type: str = "",
        correlation: bytes = b"",
    ) -> Receipt:
        """Publish with QoS 1, without waiting."""
        connection = self._connection
        if connection is None:
            raise LinkDownError("not connected to the MQTT server")
        properties = (
            build_properties(content_type, expiry_s, correlation)
            if correlation
            else self._cached_properties(content_type, expiry_s)
        )
        try:
            receipt = connection.client.publish_nowait(topic, payload, qos=QOS_1, retain=retain, properties=properties)
        except FlowControlError as error:
            raise LinkFullError(str(error)) from None
        except ProtocolError as error:
            raise LinkRejectedError(f"{topic}: {error}") from None
        except (MQTTError, OSError) as error:
            raise LinkDownError(f"not connected to the MQTT server: {error}") from None
        return MqttiumReceipt(receipt)

    async def close(self, *, will: bool = False) -> None:
        """End the connection for good, without the will or (`will`) leaving it to be published."""
        self._closed = True
        if self._keeper is not None:
            await _end(self._keeper)
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.client.disconnect(WITH_WILL if will else 0)
            connection.lost.set()
        self._changed.set()

    def _raise_if_ended(self) -> None:
        """Raise what ended the keeper, if anything but `close` did."""
        if self._keeper is not None and self._keeper.done() and not self._keeper.cancelled():
            self._keeper.result()

    def _cached_properties(self, content_type: str, expiry_s: int) -> Properties:
        key = (content_type, expiry_s)
        properties = self._properties.get(key)
        if properties is None:
            properties = build_properties(content_type, expiry_s, b"")
            if len(self._properties) < _CACHED_PROPERTIES:
                self._properties[key] = properties
        return properties

    async def _keep_connected(self, tls: ssl.SSLContext | None) -> None:
        """Replace each lost connection, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            connection = self._connection
            if connection is not None:
                if connection.resumed:
                    await self._renew_subscription(connection.client)
                await connection.lost.wait()
                self._connection = None
                for callback in self._lost_callbacks:
                    callback()
                if connection.taken_over:
                    raise LinkTakenOverError(f"another client took over the session of {self._config.client_id!r}")
                if loop.time() - connection.began_s >= _STABLE_S:
                    self._backoff.reset()
                await connection.client.disconnect()
            await asyncio.sleep(self._backoff.next_s())
            try:
                await self._connect(tls, _ATTEMPT_S)
            except LinkError as error:
                _LOG.warning("mqtt_connection_failed", cause=str(error))

    async def _connect(self, tls: ssl.SSLContext | None, timeout_s: float) -> bool:
        """Make one connection, subscribed; return whether the session was present."""
        config = with_password_of_now(self._config)
        client = build_client(config)
        connection = _Connection(client, asyncio.get_running_loop().time())
        address = self._address
        try:
            connack = await client.connect(address.host, address.port, ssl=tls, timeout=min(timeout_s, _ATTEMPT_S))
            connection.resumed = connack.session_present
            if not connection.resumed:
                await client.subscribe(self._subscription, timeout=_ATTEMPT_S)
        except BaseException as error:
            await client.disconnect()
            if isinstance(error, (MQTTError, OSError)):
                raise translated(error, self._config) from error
            raise
        self._connection = connection
        self.max_packet = client.negotiated.maximum_packet_size or UNTOLD_MAX_PACKET
        self.counts.connections += 1
        self._report_session(present=connection.resumed)
        return connection.resumed

    async def _renew_subscription(self, client: AsyncClient) -> None:
        """Subscribe again in a resumed session, whose filters may be those of other settings.

        Only once the messages can be read: the SUBACK comes behind those that waited in the session.
        """
        try:
            await client.subscribe(self._subscription, timeout=_RENEWAL_S)
        except SubscribeError as error:
            raise translated(error, self._config) from error
        except (MQTTError, OSError) as error:
            _LOG.warning("mqtt_subscription_not_renewed", cause=str(error))

    def _report_session(self, *, present: bool) -> None:
        if not present and self.counts.connections > 1 and self._config.session_expiry_s:
            self.counts.sessions_lost += 1
            _LOG.warning("mqtt_session_lost")
        _LOG.info("mqtt_connected", url=self._config.url, session_present=present)
        self._changed.set()
        for callback in self._callbacks:
            callback(present)


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel `task` until it is done; what it raised earlier is for `messages` to tell."""
    while not task.done():
        # asyncio.wait_for of Python 3.11 loses a cancellation that meets its result, so one may not be enough.
        task.cancel()
        await asyncio.wait([task], timeout=_CANCEL_AGAIN_S)
    if not task.cancelled():
        task.exception()
