"""Reads back what the MQTT server retains of the arms: a session that is still there proves nothing about it."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

import msgspec
import structlog

from broker.arms.arm_session import ArmSession
from broker.link.mqtt_link import InboundMessage, LinkConfig, LinkError, MqttLink
from broker.publish.comparison import FACTSHEET, Comparison, Key
from broker.publish.contents import NAMES
from broker.publish.documents import PAUSE_MOST, SLICE_S, Documents
from broker.publish.outbox import Outbox
from broker.publish.strangers import Strangers
from broker.publish.summaries import Summaries
from broker.topics import SUMMARY, ReadTopics, RetainedTopic, Topics, is_group

log = structlog.get_logger()

HOLD_S = 10.0
"""How long a start keeps its documents back until it knows what is retained."""
SILENCE_S = 5.0
"""After so long without a message the end of the reading is asked for again."""
SILENT_MOST = 3
"""So many silences end a reading: what came is all there is."""
AHEAD_BYTES = 2 * 2**20
"""What of it may be here and not compared: the MQTT server may send everything at once."""
TRIES = 3
RETRY_S = 2.0


class Owner(Protocol):
    """Who publishes what is retained beside the documents."""

    def forget(self, arm: str) -> None:
        """Clear the retained topics of an arm."""

    def mend(self, retained: Mapping[str, bytes]) -> None:
        """Publish what is not retained as it is: payload by name below `meta/`."""


def reading_link(
    make_link: Callable[[LinkConfig], MqttLink], config: LinkConfig, topics: Topics, marker: str
) -> MqttLink:
    """The short connection that a reading takes, beside the one of the requests; the marker ends it."""
    return make_link(
        msgspec.structs.replace(
            config,
            client_id=f"{config.client_id}-read",
            filters=(*ReadTopics(topics).filters((*NAMES, FACTSHEET, SUMMARY)), marker),
            will=None,
            session_expiry_s=0,
            retained=True,
            ahead_bytes=AHEAD_BYTES,
        )
    )


class ReadBack:
    """Compares the documents with what is retained whenever asked to, on a connection of its own.

    Messages are taken one by one and acknowledged then, so that the MQTT server sends no faster than they are
    compared, and in the documents' share of time. What cannot be read is published again, all of it.
    """

    def __init__(
        self,
        make_link: Callable[[str], MqttLink],
        topics: Topics,
        documents: Documents,
        outbox: Outbox,
        sessions: Mapping[str, ArmSession],
        strangers: Strangers,
        summaries: Summaries,
        owner: Owner,
        quiet: Callable[[], Awaitable[None]],
    ) -> None:
        self._make_link = make_link
        self._topics = ReadTopics(topics)
        self._documents = documents
        self._outbox = outbox
        self._sessions = sessions
        self._strangers, self._summaries = strangers, summaries
        self._owner, self._quiet = owner, quiet
        self._meta: dict[str, bytes] = {}
        self._groups: dict[str, bytes] = {}
        self._asked = asyncio.Event()
        self._count = 0
        self.readings = 0
        """How often everything was read, or could not be."""

    def ask(self) -> None:
        """What is retained may not be what was published: compare it, and begin anew if that is under way."""
        self._asked.set()

    async def run(self) -> None:
        """Compare whenever asked to, for ever."""
        hold = asyncio.get_running_loop().call_later(HOLD_S, self._documents.release)
        reading: asyncio.Task[None] | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    await self._asked.wait()
                    self._asked.clear()
                    if reading is not None:
                        await _end(reading)
                    reading = tasks.create_task(self._compare(), name="read back")
        finally:
            hold.cancel()

    async def _compare(self) -> None:
        """Read what is retained, then let the documents be mended."""
        for left in reversed(range(TRIES)):
            try:
                comparison = await self._read()
                break
            except LinkError as error:
                log.warning("documents_not_read_back", why=str(error), tries_left=left)
            await asyncio.sleep(RETRY_S)
        else:
            comparison = self._documents.begin()
            self._meta.clear()
            self._groups.clear()
        self.readings += 1
        log.info("documents_read_back", messages=self._count, arms=comparison.arms)
        self._owner.mend(self._meta)
        self._summaries.compare(self._groups)
        self._strangers.tell(self._sessions, self._owner.forget)
        self._documents.compare(self._sessions.values())

    async def _read(self) -> Comparison:
        """Everything that is retained, as far as it is ours.

        Raises:
            LinkError: the MQTT server cannot be reached, or refuses.
        """
        marker = self._topics.marker(secrets.token_hex(8))
        comparison = self._documents.begin()
        link = self._make_link(marker)
        link.on_session(lambda _: _ask_for_the_end(link, marker))
        self._count = 0
        self._meta.clear()
        self._groups.clear()
        self._strangers.clear()
        watch = asyncio.create_task(self._watch(link, marker))
        try:
            await link.open()
            await self._take_all(link, marker, comparison)
        finally:
            await _end(watch)
            await link.close()
        return comparison

    async def _take_all(self, link: MqttLink, marker: str, comparison: Comparison) -> None:
        """Take message after message until the marker comes, or the link is closed because nothing comes."""
        loop = asyncio.get_running_loop()
        spent_s, live = 0.0, self._outbox.live
        async for message in link.messages():
            began = loop.time()
            self._count += 1
            await link.ack([message])
            if message.topic == marker:
                return
            if message.retain:
                self._take(message, comparison)
            spent_s += loop.time() - began
            if spent_s > SLICE_S:
                pause = min(max(1, self._outbox.live - live), PAUSE_MOST)
                await asyncio.sleep(spent_s * pause)
                await self._quiet()
                spent_s, live = 0.0, self._outbox.live

    def _take(self, message: InboundMessage, comparison: Comparison) -> None:
        topic = self._topics.parse(message.topic)
        match topic:
            case None:
                return
            case RetainedTopic("svc", instance, _):
                self._strangers.instance(instance, message.payload)
            case RetainedTopic("meta", "", name):
                self._meta[name] = message.payload
            case RetainedTopic("state", arm, name) if name == SUMMARY and is_group(arm):
                self._groups[arm[1:]] = message.payload
            case RetainedTopic(_, arm, name) if arm in self._sessions:
                comparison.take(Key(arm, name), message.payload)
            case RetainedTopic(_, arm, name):
                self._strangers.take(arm, name, message.payload)

    async def _watch(self, link: MqttLink, marker: str) -> None:
        """Ask for the end again when nothing comes; give the reading up when nothing comes at all."""
        seen, silent = -1, 0
        while silent < SILENT_MOST:
            await asyncio.sleep(SILENCE_S)
            if self._count != seen or not link.connected:
                seen, silent = self._count, 0
                continue
            silent += 1
            _ask_for_the_end(link, marker)
        log.warning("readback_without_end", marker=marker, messages=self._count)
        await link.close()


def _ask_for_the_end(link: MqttLink, marker: str) -> None:
    """Publish the marker: it comes behind everything that is retained."""
    try:
        link.publish(marker, b"end")
    except LinkError as error:
        log.info("marker_not_published", why=str(error))


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for it."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=0.1)
