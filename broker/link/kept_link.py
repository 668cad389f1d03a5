"""What every link does alike: the first connection, a new one for each that is lost, and the end."""

import asyncio
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import structlog

from broker.link.mqtt_link import (
    UNTOLD_MAX_PACKET,
    InboundMessage,
    LinkConfig,
    LinkConfigError,
    LinkCounts,
    LinkError,
    LinkRefusedError,
    LinkTakenOverError,
    LinkUnreachableError,
    parse_url,
    with_password_of_now,
)
from broker.link.outbound import Giver
from broker.tls import Tls, TlsFileError
from schema.backoff import Backoff

_LOG = structlog.get_logger(__name__)

ATTEMPT_S = 10.0
"""How long one connection may take to be made, and its subscription."""
RENEWAL_S = 60.0
"""How long a subscription in a resumed session may take: its answer comes behind what waited there."""
SESSION_TAKEN_OVER = 0x8E
"""The reason code of a DISCONNECT to a client whose session another one has now."""
_BUSY_CODES = frozenset({0x03, 0x88, 0x89, 0x97, 0x9F})
"""Codes below 0x80 are those of MQTT 3.1.1, with which a server of that version answers."""
_OTHER_VERSION = frozenset({0x01, 0x84})
_STABLE_S = 1.0
"""A connection that lasted this long was a good one: the next loss is retried fast."""
_CANCEL_AGAIN_S = 0.1
REMIND_S = 60.0
"""How often it is said again that no connection can be made, for the same cause."""


class KeptConnection(Protocol):
    """One connection, subscribed; `began_s` is of the loop's clock, `resumed` whether the session was present."""

    lost: asyncio.Event
    began_s: float
    resumed: bool
    taken_over: bool
    """Whether it was lost to another client with the same client id."""

    async def renew(self, timeout_s: float) -> None:
        """Subscribe again in a resumed session; raises LinkRefusedError, or LinkUnreachableError without an answer."""

    async def end(self, *, will: bool = False) -> None:
        """Disconnect, without the will or (`will`) leaving it to be published; harmless when lost."""


ConnectionT = TypeVar("ConnectionT", bound=KeptConnection)


class KeptLink(Giver, ABC, Generic[ConnectionT]):
    """The life of a link; belongs to the event loop that opens it. See `MqttLink`."""

    def __init__(self, config: LinkConfig) -> None:
        self.counts = LinkCounts()
        self.max_packet = UNTOLD_MAX_PACKET
        self._config = config
        self._address = parse_url(config.url)
        self._tls = Tls(config.tls)
        self._told, self._told_s = "", 0.0
        """Why the last attempt failed, and when that was said."""
        self._connection: ConnectionT | None = None
        self._news = asyncio.Event()
        """Set when a reader has something to look at: a connection, its loss, the end."""
        self._callbacks: list[Callable[[bool], None]] = []
        self._lost_callbacks: list[Callable[[], None]] = []
        self._backoff = Backoff(config.retry_first_s, config.retry_max_s)
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False

    def ack_now(self, messages: Sequence[InboundMessage]) -> bool:
        """See `MqttLink.ack_now`."""
        del messages
        return False

    def hold(self) -> None:
        """See `MqttLink.hold`; nothing, where a link sends by itself."""

    def flush(self) -> None:
        """See `MqttLink.flush`; nothing, where a link sends by itself."""

    def on_receipts(self, callback: Callable[[], None]) -> bool:
        """See `MqttLink.on_receipts`."""
        del callback
        return False

    def on_session(self, callback: Callable[[bool], None], lost: Callable[[], None] | None = None) -> None:
        """See `MqttLink.on_session`."""
        self._callbacks.append(callback)
        if lost is not None:
            self._lost_callbacks.append(lost)

    async def open(self) -> bool:
        """See `MqttLink.open`."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self._config.first_connection_s
        while True:
            try:
                present = await self._connect(max(0.1, deadline_s - loop.time()))
                break
            except LinkUnreachableError as error:
                delay_s = self._backoff.next_s()
                if error.lasting or loop.time() + delay_s >= deadline_s:
                    raise
            await asyncio.sleep(delay_s)
        self._keeper = asyncio.create_task(self._keep_connected(), name="mqtt-link")
        self._keeper.add_done_callback(lambda _: self._news.set())
        return present

    async def close(self, *, will: bool = False) -> None:
        """See `MqttLink.close`."""
        self._closed = True
        if self._keeper is not None:
            await _end(self._keeper)
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.end(will=will)
        self._callbacks.clear()
        self._lost_callbacks.clear()
        self._news.set()

    @abstractmethod
    async def _attempt(self, config: LinkConfig, tls: ssl.SSLContext | None, timeout_s: float) -> ConnectionT:
        """Make one connection by `config`, subscribed unless the session was present; or raise LinkError, none left."""

    @abstractmethod
    def _max_packet_of(self, connection: ConnectionT) -> int:
        """The Maximum Packet Size of its CONNACK in bytes, 0 where none was told."""

    def _raise_if_ended(self) -> None:
        """Raise what ended the keeper, if anything but `close` did."""
        if self._keeper is not None and self._keeper.done() and not self._keeper.cancelled():
            self._keeper.result()

    async def _keep_connected(self) -> None:
        """Replace each lost connection, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            connection = self._connection
            if connection is not None:
                if connection.resumed:
                    await self._renew(connection)
                await connection.lost.wait()
                self._connection = None
                for callback in self._lost_callbacks:
                    callback()
                if connection.taken_over:
                    raise LinkTakenOverError(f"another client took over the session of {self._config.client_id!r}")
                if loop.time() - connection.began_s >= _STABLE_S:
                    self._backoff.reset()
                await connection.end()
            await asyncio.sleep(self._backoff.next_s())
            try:
                await self._connect(ATTEMPT_S)
            except LinkError as error:
                self._tell(str(error), loop.time())

    def _tell(self, cause: str, now_s: float) -> None:
        """Log why an attempt failed: there is one a second, for hours where the MQTT server is gone."""
        if cause != self._told or now_s - self._told_s >= REMIND_S:
            self._told, self._told_s = cause, now_s
            _LOG.warning("mqtt_connection_failed", cause=cause)

    async def _connect(self, timeout_s: float) -> bool:
        """Make one connection, by the files as they are now, and tell of it; return whether the session was present."""
        tls = tls_now(self._tls) if self._address.tls else None
        connection = await self._attempt(with_password_of_now(self._config), tls, min(timeout_s, ATTEMPT_S))
        self._connection, self._told = connection, ""
        self.max_packet = self._max_packet_of(connection) or UNTOLD_MAX_PACKET
        self.counts.connections += 1
        if not connection.resumed and self.counts.connections > 1 and self._config.session_expiry_s:
            self.counts.sessions_lost += 1
            _LOG.warning("mqtt_session_lost")
        _LOG.info("mqtt_connected", url=self._config.url, session_present=connection.resumed)
        self._news.set()
        for callback in self._callbacks:
            callback(connection.resumed)
        return connection.resumed

    async def _renew(self, connection: ConnectionT) -> None:
        """Subscribe again in a resumed session, whose filters may be those of other settings.

        Only once the messages can be read: the SUBACK comes behind those that waited in the session.
        """
        try:
            await connection.renew(RENEWAL_S)
        except LinkUnreachableError as error:
            if not connection.lost.is_set():
                _LOG.warning("mqtt_subscription_not_renewed", cause=str(error))


def refusal(config: LinkConfig, code: int, why: str = "") -> LinkError:
    """The error for a CONNACK with a reason code other than 0, and what the MQTT server said to it."""
    if code in _OTHER_VERSION:
        return LinkRefusedError(f"{config.url} does not speak MQTT 5 (reason code 0x{code:02x})", code)
    text = f"{config.url} refused user {config.user!r} (reason code 0x{code:02x}) {why}".rstrip()
    return LinkUnreachableError(text) if code in _BUSY_CODES else LinkRefusedError(text, code)


def tls_now(tls: Tls) -> ssl.SSLContext:
    """TLS with certificate and host name checked; raises LinkConfigError for a file that cannot be used."""
    try:
        return tls.now()
    except TlsFileError as error:
        raise LinkConfigError(f"mqtt.{error.which}_file: {error}") from None


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel `task` until it is done; what it raised earlier is for `messages` to tell."""
    while not task.done():
        # A library's asyncio.wait_for loses a cancellation that meets its result, so one may not be enough.
        task.cancel()
        await asyncio.wait([task], timeout=_CANCEL_AGAIN_S)
    if not task.cancelled():
        task.exception()
