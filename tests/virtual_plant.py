"""A service with a real store and simulated arms, on a link in memory and in virtual time."""

import asyncio
import json
import shutil
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from broker.arm_session import ArmSession
from broker.clock import Clock
from broker.mqtt_link import InboundMessage, LinkConfig, LinkCounts, LinkDownError
from broker.service import Service
from broker.settings import Settings, from_document
from broker.store.store import Store
from tests.devices.virtual_loop import VirtualLoop

START_US = 1_800_000_000_000_000
"""Service time at virtual time 0."""
PATIENCE_S = 3600.0
BASE = "armbroker/v1"


class Published(NamedTuple):
    """One publication, in the order of sending; `topic` below the root, `document` its JSON."""

    topic: str
    document: Any
    retained: bool
    at_s: float


class MemoryReceipt:
    """The receipt of one publication."""

    def __init__(self) -> None:
        self.state = "open"
        self.code = 0

    def done(self) -> bool:
        """Whether it is settled."""
        return self.state != "open"

    def failed(self) -> bool:
        """Whether it is settled without success."""
        return self.state == "failed"

    def reason_code(self) -> int:
        """The code it was refused with."""
        return self.code


class MemoryLink:
    """An `MqttLink` without a network: `deliver` a message, look at `published` and `acked`.

    While `silent` nothing that is published is acknowledged; `lose` and `restore` cut and renew the connection.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, silent: bool = False) -> None:
        self.counts = LinkCounts()
        self.published: list[Published] = []
        self.acked: list[InboundMessage] = []
        self.silent = silent
        self.connected = False
        self._loop = loop
        self._open: deque[MemoryReceipt] = deque()
        self._inbox: asyncio.Queue[InboundMessage | None] = asyncio.Queue()
        self._callbacks: list[Callable[[bool], None]] = []
        self._news = asyncio.Event()

    def on_session(self, callback: Callable[[bool], None]) -> None:
        """See `MqttLink`."""
        self._callbacks.append(callback)

    async def open(self) -> bool:
        """See `MqttLink`."""
        self.restore(present=True)
        return True

    async def messages(self) -> AsyncIterator[InboundMessage]:
        """See `MqttLink`."""
        while (message := await self._inbox.get()) is not None:
            yield message

    async def ack(self, messages: Sequence[InboundMessage]) -> None:
        """See `MqttLink`."""
        self.acked += messages

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool = False,
        expiry_s: int = 0,
        content_type: str = "",
        correlation: bytes = b"",
    ) -> MemoryReceipt:
        """See `MqttLink`."""
        del expiry_s, content_type, correlation
        if not self.connected:
            raise LinkDownError("cut")
        receipt = MemoryReceipt()
        if self.silent:
            self._open.append(receipt)
        else:
            receipt.state = "taken"
        document = json.loads(payload) if payload else None
        self.published.append(Published(topic.removeprefix(f"{BASE}/"), document, retain, self._loop.time()))
        self._news.set()
        return receipt

    async def close(self, *, will: bool = False) -> None:
        """See `MqttLink`."""
        del will
        self.lose()
        self._inbox.put_nowait(None)

    def answer(self, number: int | None = None, *, skip: int = 0, code: int = 0) -> None:
        """Acknowledge so many of the oldest publications (all, from now on), or refuse them with `code`."""
        self.silent = self.silent and number is not None
        chosen = list(self._open)[skip:][:number]
        for receipt in chosen:
            receipt.state, receipt.code = "failed" if code else "taken", code
            self._open.remove(receipt)

    def lose(self) -> None:
        """Cut the connection."""
        self.connected = False
        for receipt in self._open:
            receipt.state = "failed"
        self._open.clear()

    def restore(self, *, present: bool) -> None:
        """Connect."""
        self.connected = True
        for callback in self._callbacks:
            callback(present)

    def deliver(self, topic: str, payload: bytes, *, dup: bool = False) -> None:
        """Let a message come."""
        message = InboundMessage(
            topic=f"{BASE}/{topic}",
            payload=payload,
            retain=False,
            dup=dup,
            content_type="",
            response_topic="",
            correlation=b"",
            expiry_s=None,
            handle=None,
        )
        self._inbox.put_nowait(message)

    async def take(self, wanted: Callable[[Published], bool], after: int = 0) -> Published:
        """The first publication from number `after` on that is wanted; waits for it."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for published in self.published[after:]:
                    if wanted(published):
                        return published
                self._news.clear()
                await self._news.wait()


class PatientLoop(VirtualLoop):
    """Time stands while a store writes."""

    def __init__(self) -> None:
        self.stores: list[Store] = []
        super().__init__()
        self.hold_while(lambda: any(store.committing for store in self.stores))


class Plant:
    """One run of a service of `arms` in the directory `data`; an async context manager on a `PatientLoop`.

    `prepare` may change the service before it starts, `start_us` is its time at virtual time 0, `silent` that of the
    link, `more` are further tables of the settings.
    """

    def __init__(
        self,
        data: Path,
        arms: Sequence[str] = ("r1", "r2"),
        *,
        prepare: Callable[[Service], None] = lambda _: None,
        start_us: int = START_US,
        silent: bool = False,
        **more: Any,
    ) -> None:
        loop = asyncio.get_running_loop()
        if not isinstance(loop, PatientLoop):
            raise TypeError("a PatientLoop is needed: use run()")
        document: dict[str, Any] = {
            "store": {"dir": str(data)},
            "sim": {"faults": True, "latency_ms": 0},
            "arm": [{"id": arm, "adapter": "simulated", "model": "gen3_7dof"} for arm in arms],
            **more,
        }
        self.settings: Settings = from_document(document)
        self.loop = loop
        self.link = MemoryLink(loop, silent=silent)
        self.clock = Clock(lambda: start_us + int(loop.time() * 1e6), loop.time)
        self._prepare = prepare
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
        self.store = store = Store.open(self.settings.data_dir, self.clock.now_us)
        self.loop.stores.append(store)
        try:
            self.loaded = loaded = store.load()
            self.clock.not_before(loaded.last_time_us)
            async with asyncio.TaskGroup() as tasks:
                self.service = Service(self.settings, store, loaded, self.clock, tasks, make_link=self._make_link)
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

    def _make_link(self, config: LinkConfig) -> MemoryLink:
        del config
        return self.link

    def session(self, arm: str = "r1") -> ArmSession:
        """The inside of an arm."""
        return self.service.sessions[arm]

    def send(
        self, arm: str, method: str, params: dict[str, Any] | None = None, *, dup: bool = False, **fields: Any
    ) -> str:
        """Let user u send a request; its id."""
        if "id" not in fields:
            self._ids += 1
            fields["id"] = f"{self.loaded.epoch}-{self._ids}"
        request = fields if params is None else {**fields, "params": params}
        self.link.deliver(f"req/u/c/{arm}/{method}", json.dumps(request).encode(), dup=dup)
        return str(fields["id"])

    async def reply(self, request_id: str, after: int = 0) -> dict[str, Any]:
        """The first reply to an id, from publication number `after` on."""
        taken = await self.link.take(lambda published: published.topic == f"res/u/c/{request_id}", after)
        document: dict[str, Any] = taken.document
        return document

    async def call(self, arm: str, method: str, params: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
        """Send a request and return its next reply."""
        after = len(self.link.published)
        return await self.reply(self.send(arm, method, params, **fields), after)

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
