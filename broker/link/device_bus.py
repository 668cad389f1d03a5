"""The topics of arms that speak MQTT, over a connection of their own to the MQTT server."""

import asyncio
from collections import deque
from collections.abc import Callable

import msgspec
import structlog

from broker.counters import Counters
from broker.link.mqtt_link import (
    InboundMessage,
    LinkConfig,
    LinkError,
    LinkRejectedError,
    LinkUnreachableError,
    MqttLink,
    reason_text,
)
from broker.link.outbound import Outbound
from broker.topics import DeviceTopic, Topics
from devices.adapter import ArmAwayError, BusListener

log = structlog.get_logger()

KEPT_LEAVES = ("birth", "death")
STRANGERS_BYTES = 16 * 1024 * 1024
"""What may be kept of arms that nobody listens to yet."""
TURN = 64
"""Messages handed on before others get their turn."""
RECEIPTS_MOST = 1_000
RETRY_S = 2.0


def bus_config(config: LinkConfig, topics: Topics) -> LinkConfig:
    """The connection of the bus, given that of the requests; what is said while it is down is lost, and read later."""
    return msgspec.structs.replace(
        config,
        client_id=f"{config.client_id}-dev",
        filters=topics.device_filters,
        will=None,
        session_expiry_s=0,
        retained=True,
    )


class MqttDeviceBus:
    """A `DeviceBus`; the connection is opened only if somebody listens, or begins to.

    Messages are acknowledged at once: what is lost is read from the arm. What arms nobody listens to say of their
    presence is kept for whoever listens later.
    """

    def __init__(
        self,
        make_link: Callable[[], MqttLink],
        topics: Topics,
        tasks: asyncio.TaskGroup,
        counters: Counters | None = None,
    ) -> None:
        self._make_link = make_link
        self._counters = counters
        self._topics = topics
        self._tasks = tasks
        self._link: MqttLink | None = None
        self._listeners: dict[str, BusListener] = {}
        self._presence: dict[DeviceTopic, bytes] = {}
        """The last birth and death of arms somebody listens to: for who listens next, after new settings."""
        self._strangers: dict[DeviceTopic, bytes] = {}
        self._strangers_bytes = 0
        self._receipts: deque[tuple[str, Outbound]] = deque(maxlen=RECEIPTS_MOST)
        self._started = False
        self._work: asyncio.Task[None] | None = None

    # ------------------------------------------------------------------ for adapters

    def listen(self, arm: str, listener: BusListener) -> None:
        """See `DeviceBus.listen`."""
        self._listeners[arm] = listener
        if self._link is not None and self._link.connected:
            listener.bus_changed(up=True)
        for leaf in KEPT_LEAVES:
            if (payload := self._strangers.pop(DeviceTopic(arm, leaf), None)) is not None:
                self._strangers_bytes -= len(payload)
                self._presence[DeviceTopic(arm, leaf)] = payload
                listener.heard(leaf, payload, retained=True)
        if self._started and self._work is None:
            self._work = self._tasks.create_task(self._open_and_read(), name="devices")

    def forget(self, arm: str) -> None:
        """See `DeviceBus.forget`."""
        self._listeners.pop(arm, None)
        for leaf in KEPT_LEAVES:
            if (payload := self._presence.pop(DeviceTopic(arm, leaf), None)) is not None:
                self._keep(DeviceTopic(arm, leaf), payload)

    def publish(self, arm: str, leaf: str, payload: bytes, *, expiry_s: int = 0) -> None:
        """See `DeviceBus.publish`."""
        if self._link is None:
            raise ArmAwayError(f"arm {arm}: the connection to the MQTT server is not open")
        self._tell_refused()
        try:
            receipt = self._link.publish(
                self._topics.device(arm, leaf), payload, expiry_s=expiry_s, content_type="application/json"
            )
        except LinkRejectedError as error:
            raise ArmAwayError(f"arm {arm}: the MQTT server takes no such message: {error}") from error
        except LinkError as error:
            raise ArmAwayError(f"arm {arm}: {error}") from error
        self._receipts.append((arm, receipt))

    # ------------------------------------------------------------------ for the service

    @property
    def link(self) -> MqttLink | None:
        """Its connection, where one was needed."""
        return self._link

    async def open(self) -> None:
        """Connect, if anybody listens; from now on a first listener connects.

        Raises:
            LinkError: the MQTT server cannot be reached, or refuses.
        """
        self._started = True
        if self._listeners:
            link = await self._connect()
            self._work = self._tasks.create_task(self._read(link), name="devices")

    async def close(self) -> None:
        """Disconnect; harmless when closed."""
        self._started = False
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def _open_and_read(self) -> None:
        """For a service that runs: an MQTT server that is away just now will come back."""
        while True:
            try:
                link = await self._connect()
                break
            except LinkUnreachableError as error:
                log.warning("devices_not_reached", why=str(error))
            await asyncio.sleep(RETRY_S)
        await self._read(link)

    async def _connect(self) -> MqttLink:
        self._link = link = self._make_link()
        link.on_session(self._on_session, self._on_lost)
        await link.open()
        return link

    def _on_session(self, present: bool) -> None:
        del present
        self._presence.clear()
        self._strangers.clear()
        self._strangers_bytes = 0
        for listener in list(self._listeners.values()):
            listener.bus_changed(up=True)

    def _on_lost(self) -> None:
        for listener in list(self._listeners.values()):
            listener.bus_changed(up=False)

    async def _read(self, link: MqttLink) -> None:
        """Hand on what arms say, until the link ends."""
        async for batch in link.batches():
            await link.ack(batch)
            for number, message in enumerate(batch, 1):
                self._hand_on(message)
                if number % TURN == 0:
                    await asyncio.sleep(0)

    def _hand_on(self, message: InboundMessage) -> None:
        topic = self._topics.parse_device(message.topic)
        if topic is None:
            return
        listener = self._listeners.get(topic.arm)
        if listener is not None:
            if topic.leaf in KEPT_LEAVES:
                self._presence[topic] = message.payload
            listener.heard(topic.leaf, message.payload, retained=message.retain)
        elif topic.leaf in KEPT_LEAVES:
            self._keep(topic, message.payload)

    def _keep(self, topic: DeviceTopic, payload: bytes) -> None:
        """Keep the last word on the presence of an arm nobody listens to, while there is room."""
        size = self._strangers_bytes + len(payload) - len(self._strangers.get(topic, b""))
        if size <= STRANGERS_BYTES:
            self._strangers[topic] = payload
            self._strangers_bytes = size

    def _tell_refused(self) -> None:
        """Count which commands the MQTT server refused: its access rules may be wrong."""
        while self._receipts and self._receipts[0][1].done():
            arm, receipt = self._receipts.popleft()
            if code := receipt.reason_code():
                log.debug("command_refused_by_server", arm=arm, why=reason_text(code))
                if self._counters is not None:
                    self._counters.add("command_refused", arm)
