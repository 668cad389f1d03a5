"""An MQTT server in memory for the documents `svc/+`, with services that are nothing but their presence."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any, Self

from broker.clock import Clock
from broker.counters import Counters
from broker.link.outbound import Outbound
from broker.presence.identity import Identity
from broker.presence.presence import Presence
from broker.presence.rivals import SecondServiceError
from broker.topics import Topics
from tests.memory_link import MemoryLink
from tests.virtual_plant import START_US, run

TOPICS = Topics("armbroker")


class Hub:
    """What is retained, and who listens; while `deaf` nobody gets anything."""

    def __init__(self) -> None:
        self.retained: dict[str, bytes] = {}
        self.links: list[HubLink] = []
        self.deaf = False

    def publish(self, topic: str, payload: bytes) -> None:
        """Retain and hand on."""
        self.retained[topic] = payload
        for link in self.links:
            if link.connected and not self.deaf:
                link.deliver(topic, payload)

    def document(self, instance: str = "main") -> dict[str, Any]:
        """What is retained of an instance."""
        document: dict[str, Any] = json.loads(self.retained[f"svc/{instance}"])
        return document


class HubLink(MemoryLink):
    """A link to the hub; reading it from the beginning again at each connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop, hub: Hub) -> None:
        super().__init__(loop)
        self._hub = hub
        hub.links.append(self)

    def restore(self, *, present: bool) -> None:
        """Connect; what is retained comes first."""
        for topic, payload in self._hub.retained.items():
            if not self._hub.deaf:
                self.deliver(topic, payload, retain=True)
        super().restore(present=present)

    def give(self, message: Outbound) -> None:
        """See `MqttLink`."""
        super().give(message)
        self._hub.publish(message.topic.removeprefix(self.prefix), message.payload)


class Starter:
    """One start on the hub: claims the root, then serves until it is ended; `ended` is why it ended by itself."""

    def __init__(
        self,
        hub: Hub,
        instance: str = "main",
        *,
        epoch: int = 1,
        known: frozenset[str] = frozenset(),
        take_over: bool = False,
    ) -> None:
        loop = asyncio.get_running_loop()
        clock = Clock(lambda: START_US + int(loop.time() * 1e6), loop.time)
        self.hub = hub
        identity = Identity(instance, clock, Counters(loop.time), epoch, take_over=take_over)
        self.presence = Presence(identity, TOPICS, clock, known)
        self.watch, self.main = HubLink(loop, hub), MemoryLink(loop)
        self.serving = asyncio.Event()
        self.ended: BaseException | None = None
        self._stop = asyncio.Event()
        self._run = asyncio.create_task(self._serve())

    async def _serve(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                try:
                    await self.presence.claim(self.watch, tasks)
                    self.presence.serve(self.main, tasks)
                    self.main.restore(present=True)
                    self.presence.tell()
                    self.serving.set()
                    await self._stop.wait()
                finally:
                    await self.presence.close()
        except* SecondServiceError as group:
            self.ended = group.exceptions[0]

    def freeze(self) -> None:
        """Neither say nor hear anything, without anybody being told."""
        self.watch.connected = False

    async def stop(self) -> None:
        """End it."""
        self._stop.set()
        if not self.serving.is_set():
            self._run.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._run

    async def until_decided(self) -> Self:
        """Wait until it serves, or has ended."""
        served = asyncio.create_task(self.serving.wait())
        await asyncio.wait({served, self._run}, return_when=asyncio.FIRST_COMPLETED)
        served.cancel()
        return self


def on_a_hub(scenario: Callable[[Hub], Awaitable[None]]) -> None:
    """Run a scenario in virtual time."""

    async def whole() -> None:
        await scenario(Hub())

    run(whole)
