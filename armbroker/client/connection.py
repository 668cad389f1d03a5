"""One MQTT 5 connection that is kept up: it reconnects, subscribes again, and hands every message on."""

import asyncio
import contextlib
import logging
import math
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import NamedTuple

import aiomqtt
from paho.mqtt.reasoncodes import ReasonCode

from armbroker.client.address import Address, parse_address
from armbroker.client.errors import NoServerError
from armbroker.client.messages import Incoming, Outgoing, incoming
from broker.tls import TlsFiles
from schema.backoff import Backoff

LOG = logging.getLogger(__name__)
_MQTT_LOG = logging.getLogger(f"{__name__}.mqtt")
_MQTT_LOG.setLevel(logging.ERROR)

FIRST_DELAY_S, LONGEST_DELAY_S = 0.1, 5.0
STEADY_S = 10.0
"""A connection that lived for so long was a good one: the pauses begin anew."""
QUICK_S, QUICK_LOSSES = 2.0, 3
"""So many connections in a row that lived no longer than this: another client takes the session each time, it seems."""
CONNECT_TIMEOUT_S = 5.0
ALERT_S = 2.0
KEEPALIVE_S = 15
"""A dead connection is noticed after one and a half times this."""
CANCEL_AGAIN_S = 1.0
SESSION_TAKEN_OVER = 0x8E
FIRST_FAILURE = 0x80
"""Reason codes from here on are failures."""
_FOUGHT_OVER = (
    "another client uses the connection id %r, it seems: %d connections in a row were lost right after they were made; "
    "each program wants a connection id of its own"
)
INCOMING_LIMIT = 100_000
"""Messages that may wait to be handed on; what is lost beyond shows as a gap, or as a reply to ask for again."""


class Login(NamedTuple):
    """Where to connect, and as whom; `client_id` is the same at every connection."""

    url: str
    user: str
    password: str | None
    client_id: str
    tls: TlsFiles = TlsFiles()


def delays() -> Backoff:
    """The times between attempts to connect."""
    return Backoff(FIRST_DELAY_S, LONGEST_DELAY_S)


def tls_now(address: Address, files: TlsFiles) -> ssl.SSLContext | None:
    """TLS by the files as they are now; a file that cannot be used now raises aiomqtt.MqttError, as a lost server."""
    try:
        return address.tls_context(files)
    except (OSError, ValueError) as error:
        raise aiomqtt.MqttError(str(error)) from error


async def _tls_trouble(address: Address, files: TlsFiles) -> str:
    """What the server has against our certificate: it says so after the handshake, and the library does not tell."""
    with contextlib.suppress(TimeoutError, aiomqtt.MqttError):
        if (tls := tls_now(address, files)) is not None:
            async with asyncio.timeout(ALERT_S):
                return await _alert(address, tls)
    return ""


async def _alert(address: Address, tls: ssl.SSLContext) -> str:
    try:
        reader, writer = await asyncio.open_connection(address.host, address.port, ssl=tls)
        try:
            await reader.read(1)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
    except ssl.SSLError as error:
        return str(error)
    except OSError:
        pass
    return ""


class Connection:
    """Keeps one connection up until closed.

    Args:
        login: where and who.
        on_message: called with every message.
        on_lost: called whenever the connection, and the MQTT session with it, is gone.
    """

    def __init__(self, login: Login, on_message: Callable[[Incoming], None], on_lost: Callable[[], None]) -> None:
        self._login = login
        self._address = parse_address(login.url)
        self._address.tls_context(login.tls)  # what is wrong with the files is told before anything is reached
        self._on_message = on_message
        self._on_lost = on_lost
        self._filters: Counter[str] = Counter()
        self._client: asyncio.Future[aiomqtt.Client] = asyncio.get_running_loop().create_future()
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._keeper: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect once.

        Raises:
            NoServerError: unreachable, or it refused us.
        """
        try:
            client = await self._connect()
        except aiomqtt.MqttError as error:
            why = await _tls_trouble(self._address, self._login.tls) or error
            raise NoServerError(f"MQTT server {self._login.url}: {why}") from error
        self._client.set_result(client)
        self._keeper = asyncio.create_task(self._keep(client), name=f"mqtt {self._login.client_id}")

    async def close(self) -> None:
        """Disconnect; harmless when closed."""
        if self._keeper is None:
            return
        while not self._keeper.done():  # the library's asyncio.wait_for may lose a cancellation
            self._keeper.cancel()
            await asyncio.wait([self._keeper], timeout=CANCEL_AGAIN_S)
        client = self._client.result() if self.up else None
        self._end("the client is closed")
        if client is not None:
            await _leave(client)
        if not self._keeper.cancelled():
            self._keeper.result()

    @property
    def up(self) -> bool:
        """Whether it is there now."""
        return self._client.done() and self._client.exception() is None

    async def ready(self) -> None:
        """Wait until the connection is up.

        Raises:
            NoServerError: it ended for good.
        """
        await asyncio.shield(self._client)

    async def publish(self, message: Outgoing) -> None:
        """Hand a message to the MQTT server, once connected; returns at its PUBACK.

        Raises:
            NoServerError: the connection ended for good.
            aiomqtt.MqttError: the connection broke.
        """
        client = await asyncio.shield(self._client)
        await client.publish(
            message.topic, message.payload, 1, message.retain, properties=message.properties(), timeout=math.inf
        )

    async def subscribe(self, topic_filter: str) -> None:
        """Subscribe at QoS 1 now and at every new connection, until as many `unsubscribe`s.

        Raises:
            NoServerError: the connection ended for good, or the server refused the subscription.
        """
        self._filters[topic_filter] += 1
        if self._client.done():
            await self._unless_lost(_subscribe(self._client.result(), topic_filter))

    async def unsubscribe(self, topic_filter: str) -> None:
        """Take one `subscribe` back."""
        self._filters[topic_filter] -= 1
        if self._filters[topic_filter] > 0:
            return
        del self._filters[topic_filter]
        if self.up:
            await self._unless_lost(self._client.result().unsubscribe(topic_filter))

    async def _unless_lost(self, doing: Coroutine[None, None, None]) -> None:
        """Do it, or leave it when the connection is lost: the next one subscribes to what is wanted then."""
        task = asyncio.ensure_future(doing)
        try:
            await asyncio.wait([task, self._lost], return_when=asyncio.FIRST_COMPLETED)
        finally:
            task.cancel()
            await asyncio.wait([task])
        if not task.cancelled():
            with contextlib.suppress(aiomqtt.MqttError):
                task.result()

    async def _keep(self, client: aiomqtt.Client) -> None:
        """Receive, and connect again after each loss, until cancelled or another client takes our name."""
        loop, waits, quick = asyncio.get_running_loop(), delays(), 0
        try:
            while True:
                begun = loop.time()
                lost = await self._receive(client)
                lived_s = loop.time() - begun
                if lived_s > STEADY_S:
                    waits.reset()
                self._forget()
                await _leave(client)
                LOG.warning("connection to %s lost: %s", self._login.url, lost)
                quick = quick + 1 if lived_s <= QUICK_S else 0
                if quick == QUICK_LOSSES:
                    LOG.warning(_FOUGHT_OVER, self._login.client_id, QUICK_LOSSES)
                if isinstance(lost, aiomqtt.MqttCodeError) and _code(lost.rc) == SESSION_TAKEN_OVER:
                    self._end(f"another client connected as {self._login.client_id!r}")
                    return
                client = await self._connect_again(waits)
                self._client.set_result(client)
        except Exception as error:
            self._end(f"the client failed: {error!r}")
            raise

    def _end(self, why: str) -> None:
        """No connection any more: everybody who waits for one is told `why`."""
        waited_for = self._client
        self._forget()
        for each in (waited_for, self._client):
            if not each.done():
                each.set_exception(NoServerError(why))
                each.exception()  # marks it as seen: nobody need be waiting

    def _forget(self) -> None:
        """The connection is gone."""
        loop = asyncio.get_running_loop()
        self._lost.set_result(None)
        self._client, self._lost = loop.create_future(), loop.create_future()
        self._on_lost()

    async def _receive(self, client: aiomqtt.Client) -> BaseException:
        """Hand messages on until the connection is lost; returns why."""
        messages = client.messages
        try:
            while True:
                self._on_message(incoming(await anext(messages)))
        except aiomqtt.MqttError as error:
            return error.__cause__ or error

    async def _connect_again(self, waits: Backoff) -> aiomqtt.Client:
        while True:
            await asyncio.sleep(waits.next_s())
            try:
                return await self._connect()
            except (aiomqtt.MqttError, NoServerError) as error:
                LOG.warning("no connection to %s: %s", self._login.url, error)

    async def _connect(self) -> aiomqtt.Client:
        """A client that is connected and has every subscription."""
        client = self._new_client()
        entering = asyncio.ensure_future(client.__aenter__())
        try:
            await asyncio.shield(entering)
            subscribed: set[str] = set()
            while missing := [each for each in self._filters if each not in subscribed]:
                await _subscribe(client, missing[0])
                subscribed.add(missing[0])
        except BaseException:
            await asyncio.wait([entering])  # a thread of its own connects: it must end before we leave
            await _leave(client)
            raise
        return client

    def _new_client(self) -> aiomqtt.Client:
        client = aiomqtt.Client(
            self._address.host,
            self._address.port,
            username=self._login.user,
            password=self._login.password,
            identifier=self._login.client_id,
            protocol=aiomqtt.ProtocolVersion.V5,
            clean_start=True,
            keepalive=KEEPALIVE_S,
            max_queued_incoming_messages=INCOMING_LIMIT,
            logger=_MQTT_LOG,
            timeout=CONNECT_TIMEOUT_S,
            tls_context=tls_now(self._address, self._login.tls),
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        )
        client.pending_calls_threshold = INCOMING_LIMIT
        return client


async def _subscribe(client: aiomqtt.Client, topic_filter: str) -> None:
    for granted in await client.subscribe(topic_filter, 1):
        if _code(granted) >= FIRST_FAILURE:
            raise NoServerError(f"the MQTT server refused the subscription to {topic_filter}: {granted}")


async def _leave(client: aiomqtt.Client) -> None:
    """Disconnect as well as may be: the connection can be gone, or never have been."""
    with contextlib.suppress(aiomqtt.MqttError):
        await client.__aexit__(None, None, None)


def _code(reason: ReasonCode | int | None) -> int:
    return reason.value if isinstance(reason, ReasonCode) else reason or 0
