"""A whole service on a thread of its own, so that tests and their clients live in another event loop."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from broker.app import run_once
from broker.clock import Clock
from broker.settings import ANYBODY, RIGHTS, Settings, from_document
from tests.links import peer

START_S = 120.0


def settings_of(url: str, root: str, data: Path, arms: list[str], **more: Any) -> Settings:
    """Settings for simulated arms of gen3_7dof without latency; `more` are further tables of `fleet.toml`."""
    document: dict[str, Any] = {
        "root": root,
        "mqtt": {"url": url, "client_id": f"service-{root}"},
        "store": {"dir": str(data), "reserve_mib": 1},
        "sim": {"faults": True, "latency_ms": 0},
        "clients": {ANYBODY: {"rights": list(RIGHTS)}},
        "arm": [{"id": arm, "adapter": "simulated", "model": "gen3_7dof"} for arm in arms],
    }
    for table, value in more.items():
        document[table] = {**document[table], **value} if isinstance(document.get(table), dict) else value
    return from_document(document)


class RunningService:
    """One service; `start` returns once it is online, `stop` once it has ended.

    What ended it unasked is raised by `stop`. It may be started again on the same store.
    """

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self.settings = settings
        self.clock = clock
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._online = threading.Event()
        self._failure: BaseException | None = None

    @property
    def root(self) -> str:
        """The first levels of its topics, with the version."""
        return f"{self.settings.root}/v1"

    @property
    def port(self) -> int:
        """The port of its MQTT server."""
        return int(self.settings.mqtt.url.rpartition(":")[2])

    def start(self) -> Self:
        """Run it; raises RuntimeError if it ends before it is online."""
        self._online.clear()
        self._failure = None
        self._thread = threading.Thread(target=self._run, name=f"service {self.settings.root}")
        self._thread.start()
        if not self._online.wait(START_S) or self._failure is not None:
            raise RuntimeError("the service did not start") from self._failure
        return self

    def stop(self) -> None:
        """End it as SIGTERM does; idempotent."""
        if self._thread is None:
            return
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(START_S)
        self._thread = None
        if self._failure is not None:
            raise self._failure

    def restart(self) -> None:
        """End it and run it again on the same store."""
        self.stop()
        self.start()

    def call(self, function: Callable[[], Any]) -> Any:
        """What a function returns that is called on the loop of the service."""
        if self._loop is None:
            raise RuntimeError("the service was never started")

        async def run() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(START_S)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._thread is not None and self._thread.is_alive() and self._failure is None

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - told by `stop`, which runs on the thread of the test
            self._failure = error
        finally:
            self._online.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        mqtt = self.settings.mqtt
        watcher = peer(
            self.port,
            f"watch-{mqtt.client_id}",
            user=mqtt.user or None,
            password=self.settings.password() or None,
        )
        async with watcher, asyncio.TaskGroup() as tasks:
            await watcher.subscribe(f"{self.root}/svc/{self.settings.instance}", qos=1)
            watching = tasks.create_task(self._watch(aiter(watcher.messages)))
            try:
                await run_once(self.settings, self.clock or Clock(), self._stop)
            finally:
                watching.cancel()

    async def _watch(self, messages: Any) -> None:
        async for message in messages:
            if not message.retain and json.loads(message.payload)["state"] == "online":
                self._online.set()
