"""A whole service around the arm of a rig and a simulated one, on an MQTT link in memory and a store of its own."""

import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

from armbroker.conformance.memory_link import MemoryLink, MirrorLink, Published, link_for
from broker.arms.arm_session import ArmSession
from broker.clock import Clock
from broker.link.mqtt_link import LinkConfig, MqttLink
from broker.service import Service
from broker.settings import ANYBODY, RIGHTS, from_document
from broker.store.store import Store
from broker.topics import Topics
from devices.adapter import ArmAdapter, Command, Notice, Snapshot
from devices.conformance import FailedError, Rig
from devices.guard import guard
from handlers.rpc_table import SERVICE_METHODS
from schema.arms import Description, Slot
from schema.codecs.plain import to_plain
from schema.items import ITEMS
from schema.messages import Message

SUITE, OTHER = "suite", "other"
"""The names of the two arms."""
_USER, _CONN, _ROOT = "u", "c", "armbroker"
REPLY_WITHIN_S = 12.0
"""When a client would send its request again."""
SETTLED_WITHIN_S = 60.0

Opened = Callable[[Store], None]
"""Is told of the store as soon as it is open: a virtual clock must stand while it writes."""
Hook = Callable[[], Awaitable[None]]


class Tap:
    """An `ArmAdapter` around that of the rig; `before_read` is awaited once, before the first read after a write."""

    def __init__(self, arm: ArmAdapter) -> None:
        self.resolution_rad = arm.resolution_rad
        self.methods = arm.methods
        self.items = arm.items
        self.deadlines = arm.deadlines
        self.written: list[Command] = []
        self.before_read: Hook | None = None
        self._arm = arm
        self._hear: Callable[[Notice], None] = _nobody

    async def connect(self) -> Description:
        """See `ArmAdapter.connect`."""
        return await self._arm.connect()

    async def read_all(self) -> Snapshot:
        """See `ArmAdapter.read_all`."""
        return await self._arm.read_all()

    async def read(self, slot: Slot) -> Message:
        """See `ArmAdapter.read`."""
        if self.written and self.before_read is not None:
            hook, self.before_read = self.before_read, None
            await hook()
        return await self._arm.read(slot)

    async def write(self, command: Command) -> Message | None:
        """See `ArmAdapter.write`."""
        self.written.append(command)
        return await self._arm.write(command)

    def watch(self, sink: Callable[[Notice], None]) -> None:
        """See `ArmAdapter.watch`."""
        self._arm.watch(sink)

    async def close(self) -> None:
        """See `ArmAdapter.close`."""
        await self._arm.close()


def _nobody(notice: Notice) -> None:
    del notice


class Stage:
    """One run of a service; an async context manager.

    Its service calls the rig's arm, so nobody else may until it has ended; then the arm is closed.
    """

    def __init__(self, rig: Rig, opened: Opened) -> None:
        loop = asyncio.get_running_loop()
        self.rig = rig
        self.tap = Tap(rig.arm)
        self.link, self._mirror = MemoryLink(loop), MirrorLink(loop)
        self._topics = Topics(_ROOT)
        self._opened = opened
        begun_us = time.time_ns() // 1000
        self._clock = Clock(lambda: begun_us + int(loop.time() * 1e6), loop.time)
        self._directory = tempfile.TemporaryDirectory(prefix="armbroker-stage-")
        self._ids = 0
        self._stop, self._ready = asyncio.Event(), asyncio.Event()
        self._run: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Start it; returns when it takes requests and has met the arm."""
        model = (await self.rig.arm.connect()).model
        self._run = asyncio.create_task(self._serve(model))
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait({self._run, ready}, return_when=asyncio.FIRST_COMPLETED)
        if self._run.done():
            ready.cancel()
            self._run.result()
        await self.presence(online=True, ready=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        """End it like a SIGTERM does."""
        self._stop.set()
        if self._run is not None:
            await self._run
        self._directory.cleanup()

    async def _serve(self, model: str) -> None:
        arms = [{"id": arm, "adapter": "simulated", "model": "gen3_7dof"} for arm in (SUITE, OTHER)]
        settings = from_document(
            {
                "root": _ROOT,
                "store": {"dir": self._directory.name},
                "sim": {"latency_ms": 0},
                "clients": {ANYBODY: {"rights": list(RIGHTS)}},
                "arm": arms,
            }
        )
        store = Store.open(Path(settings.data_dir), self._clock.now_us)
        self._opened(store)
        try:
            async with asyncio.TaskGroup() as tasks:
                service = Service(settings, store, store.load(), self._clock, tasks, make_link=self._make_link)
                self._lend(service.sessions[SUITE], model)
                try:
                    await service.start()
                    self._ready.set()
                    await self._stop.wait()
                finally:
                    await service.close(drain=True)
                    await self.session.adapter.close()
        finally:
            store.close()

    def _lend(self, session: ArmSession, model: str) -> None:
        """Put the rig's arm in the place of a simulated one."""
        tap, state = self.tap, session.state
        session.adapter = guard(SUITE, tap)
        session.model = state.model = model
        state.methods = tap.methods | SERVICE_METHODS
        state.arm_items, state.resolution_rad = tap.items, tap.resolution_rad
        self.session = session

    def _make_link(self, config: LinkConfig) -> MqttLink:
        if config.filters == (self._topics.service("+"),):
            return self._mirror
        return link_for(self.link, config)

    # ------------------------------------------------------------------ what a client does

    def send(self, arm: str, method: str, params: dict[str, Any]) -> str:
        """Send a request; its id."""
        self._ids += 1
        request = {"id": f"r{self._ids}", "params": params}
        self.link.deliver(self._topics.request(_USER, _CONN, arm, method), json.dumps(request).encode())
        return f"r{self._ids}"

    def ask(self, slot: Slot, value: Message, arm: str = SUITE) -> str:
        """Ask for a value of a slot; the id of the request."""
        return self.send(arm, f"Set{ITEMS[slot[0]].noun}", to_plain(value))

    async def reply(self, request_id: str, within_s: float = REPLY_WITHIN_S) -> dict[str, Any]:
        """The reply to a request."""
        topic = self._topics.reply(_USER, _CONN, request_id)
        return await self._until(lambda one: one.topic == topic, within_s, f"reply to {request_id}")

    async def change(self, slot: Slot, value: Message, arm: str = SUITE) -> dict[str, Any]:
        """Ask for a value of a slot and return the reply."""
        return await self.reply(self.ask(slot, value, arm))

    async def end_of(self, request_id: str) -> dict[str, Any]:
        """The event with which a change ended, whatever came of it."""

        def is_end(published: Published) -> bool:
            wanted = f"{_USER}/{_CONN}/{request_id}"
            return self._is_event(published) and published.document.get("request_id") == wanted

        return await self._until(is_end, SETTLED_WITHIN_S, f"event of {request_id}")

    async def foreign(self, within_s: float) -> dict[str, Any]:
        """The first event of a foreign change."""

        def is_foreign(published: Published) -> bool:
            return self._is_event(published) and published.document["cause"] == "foreign"

        return await self._until(is_foreign, within_s, "an event with cause foreign")

    async def presence(self, *, online: bool, ready: bool, within_s: float = SETTLED_WITHIN_S) -> dict[str, Any]:
        """The presence document, when it is as wanted."""
        state = "online" if online else "offline"

        def wanted(document: dict[str, Any]) -> bool:
            return (document["state"], document["ready"]) == (state, ready)

        return await self.document("presence", wanted, within_s)

    async def document(
        self, name: str, wanted: Callable[[dict[str, Any]], bool], within_s: float = SETTLED_WITHIN_S
    ) -> dict[str, Any]:
        """A state document of the arm, when its latest is as wanted."""
        topic = self._topics.state(SUITE, name)

        def is_latest(published: Published) -> bool:
            latest = next(one for one in reversed(self.link.published) if one.topic == topic)
            return published is latest and wanted(published.document)

        return await self._until(lambda one: one.topic == topic and is_latest(one), within_s, f"{topic} as wanted")

    def events(self) -> list[dict[str, Any]]:
        """The events of the arm so far."""
        return [one.document for one in self.link.published if self._is_event(one)]

    def _is_event(self, published: Published) -> bool:
        public = self._topics.parse_public(published.topic)
        return public is not None and (public.family, public.arm) == ("evt", SUITE)

    async def _until(self, wanted: Callable[[Published], bool], within_s: float, what: str) -> dict[str, Any]:
        try:
            async with asyncio.timeout(within_s):
                document: dict[str, Any] = (await self.link.take(wanted)).document
        except TimeoutError:
            last = [one.topic for one in self.link.published[-5:]]
            raise FailedError(f"not within {within_s:g} s: {what}; last published: {', '.join(last)}") from None
        return document
