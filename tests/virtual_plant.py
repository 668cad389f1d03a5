"""A service with a real store and simulated arms, on a link in memory and in virtual time."""

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from armbroker.conformance.memory_link import link_for
from broker.arms.arm_session import ArmSession
from broker.clock import Clock
from broker.link.mqtt_link import LinkConfig, MqttLink
from broker.service import Service
from broker.settings import ANYBODY, RIGHTS, Settings, from_document
from broker.store.store import Store
from tests.devices.virtual_loop import VirtualLoop
from tests.memory_link import BASE, MemoryLink, MirrorLink

RARELY_S = 3600.0
"""How often a plant says that it is there, where nobody looks: virtual days are short then."""
START_US = 1_800_000_000_000_000
"""Service time at virtual time 0."""


class PatientLoop(VirtualLoop):
    """Time stands while a store writes."""

    def __init__(self) -> None:
        self.stores: list[Store] = []
        super().__init__()
        self.hold_while(lambda: any(store.committing for store in self.stores))


class Plant:
    """One run of a service of `arms` in the directory `data`; an async context manager on a `PatientLoop`.

    `prepare` may change the service before it starts, `start_us` is its time at virtual time 0, `silent` that of the
    link, `retained` what its server holds by topic; `accept_lost` lets it serve what knows less than it did; `more` are
    further tables of the settings.
    """

    def __init__(
        self,
        data: Path,
        arms: Sequence[str] = ("r1", "r2"),
        *,
        prepare: Callable[[Service], None] = lambda _: None,
        start_us: int = START_US,
        silent: bool = False,
        retained: Mapping[str, bytes] = MappingProxyType({}),
        accept_lost: bool = False,
        **more: Any,
    ) -> None:
        loop = asyncio.get_running_loop()
        if not isinstance(loop, PatientLoop):
            raise TypeError("a PatientLoop is needed: use run()")
        document: dict[str, Any] = {
            "store": {"dir": str(data), "reserve_mib": 1},
            "sim": {"faults": True, "latency_ms": 0},
            "arm": [{"id": arm, "adapter": "simulated", "model": "gen3_7dof"} for arm in arms],
            **more,
            "clients": {ANYBODY: {"rights": list(RIGHTS)}, **more.get("clients", {})},
        }
        self.settings: Settings = from_document(document)
        self.loop = loop
        self.link = MemoryLink(loop, silent=silent)
        self.mirror = MirrorLink(loop)
        self.link.retained.update(retained)
        self.clock = Clock(lambda: start_us + int(loop.time() * 1e6), loop.time)
        self._prepare = prepare
        self._accept_lost = accept_lost
        self._ids = 0
        self._stop = asyncio.Event()
        self._ready = asyncio.Event()
        self.ended = asyncio.Event()
        self._run: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Start it; returns when it takes requests."""
        self._run = asyncio.create_task(self._serve())
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait({self._run, ready}, return_when=asyncio.FIRST_COMPLETED)
        if self._run.done():
            ready.cancel()
            self._run.result()
        return self

    async def __aexit__(self, *_: object) -> None:
        """End it; the last changes are not waited for."""
        self._stop.set()
        if self._run is not None:
            await self._run

    async def _serve(self) -> None:
        self.store = store = Store.open(
            self.settings.data_dir, self.clock.now_us, accept_lost=self._accept_lost, renames=self.settings.renames
        )
        self.loop.stores.append(store)
        try:
            self.loaded = loaded = store.load()
            self.clock.not_before(loaded.last_time_us)
            async with asyncio.TaskGroup() as tasks:
                self.service = Service(
                    self.settings, store, loaded, self.clock, tasks, self._make_link, accept_lost=self._accept_lost
                )
                self.service._presence.beat_s = self.service._presence.pulse.every_s = RARELY_S
                try:
                    self._prepare(self.service)
                    await self.service.start()
                    self._ready.set()
                    await self._until_the_end(store.failed)
                finally:
                    await self.service.close(drain=False)
        finally:
            store.close()
            self.loop.stores.remove(store)

    async def _until_the_end(self, failed: "asyncio.Future[None]") -> None:
        failed.add_done_callback(lambda _: self._stop.set())
        await self._stop.wait()
        if failed.done():
            failed.exception()
        self.ended.set()

    def _make_link(self, config: LinkConfig) -> MqttLink:
        if config.filters == (f"{BASE}/svc/+",):
            return self.mirror
        return link_for(self.link, config)

    def session(self, arm: str = "r1") -> ArmSession:
        """The inside of an arm."""
        return self.service.sessions[arm]

    def send(
        self,
        arm: str,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        dup: bool = False,
        user: str = "u",
        **fields: Any,
    ) -> str:
        """Let a user send a request; its id."""
        if "id" not in fields:
            self._ids += 1
            fields["id"] = f"{self.loaded.epoch}-{self._ids}"
        request = fields if params is None else {**fields, "params": params}
        self.link.deliver(f"req/{user}/c/{arm}/{method}", json.dumps(request).encode(), dup=dup)
        return str(fields["id"])

    async def reply(self, request_id: str, after: int = 0, user: str = "u") -> dict[str, Any]:
        """The first reply to an id, from publication number `after` on."""
        taken = await self.link.take(lambda published: published.topic == f"res/{user}/c/{request_id}", after)
        document: dict[str, Any] = taken.document
        return document

    async def call(
        self, arm: str, method: str, params: dict[str, Any] | None = None, *, user: str = "u", **fields: Any
    ) -> dict[str, Any]:
        """Send a request and return its next reply."""
        after = len(self.link.published)
        return await self.reply(self.send(arm, method, params, user=user, **fields), after, user)

    async def fault(self, arm: str, fault: str, **params: Any) -> None:
        """Let a fault begin."""
        reply = await self.call(arm, "SimFault", {"fault": fault, **params})
        if not reply["ok"]:
            raise AssertionError(reply)

    async def document(self, topic: str, wanted: Callable[[Any], bool], after: int = 0) -> Any:
        """The first document or event on a topic, from publication number `after` on, that is wanted."""
        taken = await self.link.take(lambda each: each.topic == topic and wanted(each.document), after)
        return taken.document

    def events(self, arm: str = "r1") -> list[dict[str, Any]]:
        """The events published so far."""
        return [each.document for each in self.link.published if each.topic.startswith(f"evt/{arm}/")]

    def fill_disk(self) -> None:
        """Let the store's file grow no further."""
        connection = self.store._writer._connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()

    async def turn(self, seconds: float = 0.0) -> None:
        """Let the service work on for a moment."""
        await asyncio.sleep(seconds)

    async def committed(self) -> None:
        """Wait until nothing is being written or waits for it."""
        while not self.store.settled:  # noqa: ASYNC110 - in virtual time, and nobody announces it
            await asyncio.sleep(0.1)

    def copy(self, target: Path) -> Path:
        """What a kill at this moment would leave of store and arms; a directory for another plant.

        Call it while nothing is being written.
        """
        if self.store.committing:
            raise AssertionError("the store is writing")
        shutil.copytree(self.settings.data_dir, target)
        return target


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    """Run a scenario in virtual time."""
    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        runner.run(_awaited(scenario))


def play(data: Path, scenario: Callable[[Plant], Awaitable[None]], **options: Any) -> None:
    """Run a scenario on a plant of its own; `options` are the plant's."""

    async def whole() -> None:
        async with Plant(data, **options) as plant:
            await scenario(plant)

    run(whole)


async def _awaited(scenario: Callable[[], Awaitable[None]]) -> None:
    await scenario()
