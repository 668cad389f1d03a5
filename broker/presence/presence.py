"""Tells that this service is there, and sees to it that no other serves the same root.

A connection of its own carries the documents `svc/+` both ways: those of others are read at once, however many
requests wait on the first connection.
"""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable

import msgspec
import structlog

from broker.clock import Clock
from broker.histogram import Histogram
from broker.link.mqtt_link import LinkConfig, LinkError, MqttLink, Will, was_taken
from broker.link.outbound import Outbound
from broker.presence.document import HEARTBEAT_S, OFFLINE, ONLINE, STARTING, read_document
from broker.presence.identity import JSON, Identity
from broker.presence.pulse import LATE_S, Pulse
from broker.presence.rivals import Answer, Rival, Rivals, SecondServiceError
from broker.topics import Topics
from schema.codecs.times import parse_time

log = structlog.get_logger()

PATIENCE_S = 2.5 * HEARTBEAT_S
"""A service that says nothing for so long although it was asked is not there."""
DOUBT_S = 10.0
"""After standing still for so long the service makes sure that no other took its place; less than PATIENCE_S."""
ROUND_TRIP_S = 10.0
"""How long our own document may take to come back."""
OVERHEAD = 64
"""Bytes of a packet beside topic and payload, at most."""
GOODBYE_S = 1.0
RETRY_MAX_S = 1.0


class Presence:
    """One start of the service, as the MQTT server shows it.

    Args:
        identity: who we are.
        topics: of the root.
        clock: of the service.
        known: earlier starts on the same store.
    """

    def __init__(self, identity: Identity, topics: Topics, clock: Clock, known: frozenset[str] = frozenset()) -> None:
        self.identity = identity
        loop = asyncio.get_running_loop()
        self.pulse, self.beat_s, self._time = Pulse(loop), HEARTBEAT_S, loop.time
        self._topics, self._topic = topics, topics.service(identity.instance)
        self._clock = clock
        self.pulse.on_still.append(self._on_still)
        self._rivals = Rivals(identity, known)
        self.before_beat: Callable[[], Awaitable[None]] = _nothing
        """What is done before our document is told anew; set by the composition root."""
        self._state = STARTING
        self._told_us, self._told_s = 0, 0.0
        self.round_trips, self.heard_s = Histogram(), clock.monotonic()
        """How long our documents took to the MQTT server and back, and when one was back last (monotonic)."""
        self._link: MqttLink | None = None
        self._main: MqttLink | None = None
        self._heard_us = 0
        """The `seen_at` of our own document that came back last."""
        self._news, self._sure, self._doubt = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.sure_until_s = -math.inf
        """Until when `sure` holds by itself, in seconds of the loop's clock; later it has to be asked."""
        self._own: list[asyncio.Task[None]] = []
        self._closing = self._lost = False

    # ------------------------------------------------------------------ what it says

    @property
    def highest_epoch(self) -> int:
        """The highest epoch of another start in any document seen: ours has to be higher."""
        return self._rivals.highest_epoch

    @property
    def link(self) -> MqttLink | None:
        """Our own connection, while there is one."""
        return self._link

    def will(self) -> Will:
        """What the MQTT server says when the connection of the requests is gone."""
        return Will(self._topic, self.identity.payload(OFFLINE))

    def config(self, config: LinkConfig) -> LinkConfig:
        """Our own connection, given that of the requests."""
        return msgspec.structs.replace(
            config,
            client_id=f"{config.client_id}-{self.identity.start[:8]}",
            filters=(self._topics.service("+"),),
            will=None,
            session_expiry_s=0,
            retry_max_s=RETRY_MAX_S,
            retained=True,
        )

    # ------------------------------------------------------------------ life

    async def claim(self, link: MqttLink, tasks: asyncio.TaskGroup) -> None:
        """Connect by `link`, and make sure that nobody else serves the root; to be called before anything is served.

        Another service that lives ends the tasks with SecondServiceError, now or later.

        Raises:
            LinkError: the MQTT server cannot be reached, or refuses.
        """
        self._link = link
        link.on_session(self._on_session)
        await link.open()
        for work in (self._read(link), self._beat()):
            self._own.append(tasks.create_task(work, name="presence"))
        if await self._round_trip():
            await self._alone()
        else:
            self._blind()
        for instance in sorted(self._rivals.nameless):
            log.warning(
                "earlier_version_online", instance=instance, why="it says no start: whether it lives is unknown"
            )
        if self._lost:
            await asyncio.Event().wait()  # until that ends the tasks
        self.identity.passed = True
        log.info("root_claimed", start=self.identity.start)

    async def leave_behind(
        self, make_link: Callable[[LinkConfig], MqttLink], config: LinkConfig, client_id: str
    ) -> None:
        """End the session of an earlier client id: nobody reads it any more, and it would gather requests for ever.

        Raises:
            LinkError: the MQTT server cannot be reached, or refuses.
        """
        link = make_link(msgspec.structs.replace(self.config(config), client_id=client_id))
        present = await link.open()
        await link.close()
        log.warning(
            "session_left_behind", client_id=client_id, present=present,
            what="requests that waited in it were not read; whoever got no reply sends them again",
        )  # fmt: skip

    def serve(self, main: MqttLink, tasks: asyncio.TaskGroup) -> None:
        """Say that we are here from now on, while `main`, the connection of the requests, is up; call it before that.

        Until `close`; with each new connection of `main` others may have come meanwhile.
        """
        self._main = main
        self._sure.set()
        main.on_session(self._on_main_session)
        self.pulse.start()
        self._own.append(tasks.create_task(self._make_sure(), name="presence"))

    @property
    def sure(self) -> bool:
        """Whether no other service can have taken our place."""
        pulse = self.pulse
        if self._time() - pulse.last_s > pulse.every_s + LATE_S:
            pulse.look()
        if self._sure.is_set():
            self.sure_until_s = pulse.last_s + pulse.every_s + LATE_S
        return self._sure.is_set()

    async def made_sure(self) -> None:
        """Wait until no other service can have taken our place; for ever if one has, until that ends the tasks."""
        await self._sure.wait()

    def fall_silent(self) -> None:
        """Say no more that we are here, whatever is heard: from now on others say that we are gone."""
        self._closing = True

    async def close(self) -> None:
        """Say that we are gone, and disconnect; harmless when that was done."""
        self.fall_silent()
        self.pulse.close()
        for task in self._own:
            task.cancel()
        if self._own:
            await asyncio.wait(self._own)
        link, self._link = self._link, None
        if link is not None:
            if link.connected and (receipt := self._publish(link, OFFLINE)) is not None:
                await was_taken(receipt, GOODBYE_S)
            await link.close()

    # ------------------------------------------------------------------ inside

    def _on_session(self, present: bool) -> None:
        del present
        self._rivals.listen_anew()
        self.tell()

    def _on_main_session(self, present: bool) -> None:
        del present
        first, self._state = self._state == STARTING, ONLINE
        if not first:
            self._begin_to_doubt()

    def _on_still(self, since_s: float) -> None:
        if self._sure.is_set() and asyncio.get_running_loop().time() - since_s >= DOUBT_S:
            self._begin_to_doubt()

    def _begin_to_doubt(self) -> None:
        self._stop()
        self._doubt.set()

    def _stop(self) -> None:
        """Nothing may be done until it is sure again."""
        self._sure.clear()
        self.sure_until_s = -math.inf

    def tell(self) -> int:
        """Publish our document, if it is true and can be; its `seen_at` in µs, else 0."""
        link = self._link
        true = self._state == STARTING or (self._main is not None and self._main.connected)
        if self._closing or link is None or not link.connected or not true:
            return 0
        if self._publish(link, self._state) is None:
            return 0
        self._told_us, self._told_s = self.identity.seen_us, self._clock.monotonic()
        return self._told_us

    def _publish(self, link: MqttLink, state: str) -> Outbound | None:
        payload = self.identity.payload(state, link.max_packet - OVERHEAD - len(self._topic))
        with contextlib.suppress(LinkError):
            return link.publish(self._topic, payload, retain=True, content_type=JSON.content_type)
        return None

    async def _read(self, link: MqttLink) -> None:
        async for message in link.messages():
            await link.ack([message])
            topic = self._topics.parse_public(message.topic)
            if topic is not None and not topic.below:
                self._hear(topic.arm, message.payload, retained=message.retain)

    def _hear(self, instance: str, payload: bytes, *, retained: bool) -> None:
        document = read_document(payload)
        if document is not None and document.start == self.identity.start and not retained:
            with contextlib.suppress(ValueError):
                self._heard_us = parse_time(document.seen_at)
                self._came_back()
        answer = self._rivals.hear(instance, document, self._clock.monotonic(), retained=retained)
        self._news.set()
        if answer is Answer.TELL:
            self.tell()
        elif answer is Answer.END:
            self._lost = True
            self._stop()
            text = f"another service serves the same root ({self._rivals.stronger}), so this one ends"
            hint = "stop one of the two for good; a start with --take-over ends the other"
            raise SecondServiceError(f"{text} (start {self.identity.start}); {hint}")

    def _came_back(self) -> None:
        """Our own document is back: count how long the last one took."""
        if self._heard_us == self._told_us:
            self.heard_s = self._clock.monotonic()
            self.round_trips.add(self.heard_s - self._told_s)

    async def _round_trip(self) -> bool:
        """Tell, and wait until that comes back: then everything that was told before was heard."""
        told_us = self.tell()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ROUND_TRIP_S):
                while not told_us or self._heard_us < told_us:
                    self._news.clear()
                    if not told_us:
                        await asyncio.sleep(RETRY_MAX_S / 10)
                        told_us = self.tell()
                    else:
                        await self._news.wait()
                return True
        return False

    async def _alone(self) -> None:
        """Wait until nobody is left who may serve the root; whoever is there lets us end meanwhile."""
        awaited: set[str] = set()
        while (rival := self._rivals.first()) is not None:
            left_s = rival.at_s + PATIENCE_S - self._clock.monotonic()
            if left_s <= 0:
                self._declare_gone(rival)
                continue
            if rival.document.start not in awaited:
                awaited.add(rival.document.start)
                log.warning("waiting_for_another_service", rival=str(rival), seconds=round(left_s, 1))
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._news.wait()

    def _declare_gone(self, rival: Rival) -> None:
        """Nobody stands behind its document: say so in its place, that no later start waits for it again."""
        log.warning("service_gone", rival=str(rival), why=f"silent for {PATIENCE_S:g} s although it was asked")
        self._rivals.forget(rival)
        if rival.instance != self.identity.instance and self._link is not None:
            gone = JSON.encode_document(msgspec.to_builtins(msgspec.structs.replace(rival.document, state=OFFLINE)))
            with contextlib.suppress(LinkError):
                self._link.publish(
                    self._topics.service(rival.instance), gone, retain=True, content_type=JSON.content_type
                )

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.beat_s)
            await self.before_beat()
            self.tell()

    async def _make_sure(self) -> None:
        """Whenever others may have come: see whether they have."""
        while True:
            await self._doubt.wait()
            self._doubt.clear()
            if await self._round_trip():
                await self._alone()
            else:
                self._blind()
            if not self._doubt.is_set() and not self._lost:
                self._sure.set()

    def _blind(self) -> None:
        topic = self._topics.service("+")
        log.error("other_services_not_seen", why=f"our own document did not come back: may our user read {topic}?")


async def _nothing() -> None:
    """Do nothing."""
