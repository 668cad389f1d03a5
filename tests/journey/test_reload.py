"""SIGHUP on a real Mosquitto: the fleet changes while other arms are under load, and they notice nothing."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from armbroker.cli.exits import Exit
from tests.journey.agents import AgentProcess
from tests.journey.client import Client
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto

SET = "SetTwistLinearSoftLimit"
BUSY = ("b1", "b2", "b3")
ROUNDS, MORE = 4, 5
"""Reloads under load, each after one of a file that cannot be used; how many changes each arm takes between them."""
QUIET = (("state", "/presence"), ("meta/factsheet", ""))
"""What is not published again of an arm that is not concerned."""
_numbers = count()


@pytest.fixture
def process(mosquitto: Mosquitto, tmp_path: Path) -> Iterator[ServiceProcess]:
    """A service of the arms under load and two more, not yet started."""
    one = ServiceProcess(mosquitto, tmp_path, f"reload{next(_numbers)}", (*BUSY, "gone", "changed"), latency_ms=2)
    yield one
    one.kill()


def params(number: int) -> dict[str, Any]:
    """Another value each time."""
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": (0.1, 0.2, 0.3)[number % 3]}


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    while not holds():  # noqa: ASYNC110 - neither a log nor an inbox announces what comes
        await asyncio.sleep(0.02)


class Load:
    """Changes arms again and again, each time waiting for the reply."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(BUSY, 0)
        self._stop = asyncio.Event()

    async def keep_busy(self, client: Client, arm: str) -> None:
        """Change one arm until the end."""
        while not self._stop.is_set():
            reply = await client.change(arm, SET, params(self.counts[arm]))
            self.counts[arm] += 1
            assert (reply["stage"], reply["seq"]) == ("applied", self.counts[arm])

    async def go_on(self) -> None:
        """Wait until every arm took some more changes."""
        wanted = {arm: count + MORE for arm, count in self.counts.items()}
        await until(lambda: all(self.counts[arm] >= count for arm, count in wanted.items()))

    def end(self) -> None:
        """Begin no more."""
        self._stop.set()


async def until_logged(process: ServiceProcess, event: str, count: int) -> None:
    """Wait until the service logged something so many times."""
    await until(lambda: process.log.count(f'"event": "{event}"') >= count)


async def reload_again_and_again(process: ServiceProcess, load: Load) -> None:
    """Let arms go, come and change; every second file cannot be used."""
    whole = process.config.read_text()
    for number in range(ROUNDS):
        process.config.write_text(whole + '[[arm]]\nid = "gone"\n')
        process.signal(signal.SIGHUP)
        await until_logged(process, "reload_refused", number + 1)
        text = whole.replace('id = "changed"\n', f'id = "changed"\noptions = {{ latency_ms = {number + 3} }}\n')
        if number % 2 == 0:
            text = text.replace('id = "gone"', f'id = "new{number}"')
        process.config.write_text(text)
        process.signal(signal.SIGHUP)
        await until_logged(process, "reloaded", number + 1)
        await load.go_on()


async def test_arms_under_load_notice_nothing_of_a_reload(process: ServiceProcess) -> None:
    process.start()
    async with AsyncExitStack() as stack:
        monitor = await stack.enter_async_context(Client(process.port, process.root, "mon", "mon"))
        await monitor.subscribe("svc/+", "evt/#", "state/+/presence", "meta/factsheet/+")
        await online(monitor, 1)
        for arm in (*BUSY, "gone", "changed"):
            await monitor.document(f"state/{arm}/presence", lambda document: document["state"] == "online")
            await monitor.document(f"meta/factsheet/{arm}", lambda document: "serial" in document)
        monitor.inbox.clear()
        load = Load()
        async with asyncio.TaskGroup() as tasks:
            for arm in BUSY:
                client = await stack.enter_async_context(Client(process.port, process.root, "load", f"load-{arm}"))
                await client.subscribe()
                tasks.create_task(load.keep_busy(client, arm))
            await load.go_on()
            await reload_again_and_again(process, load)
            load.end()
        for arm, count in load.counts.items():
            await until_came(monitor, arm, count)
            assert [event["seq"] for event in monitor.events(f"{arm}/")] == list(range(1, count + 1))
        told = {message.topic for message in monitor.inbox if not message.retained}
        assert told.isdisjoint(f"{topic}/{arm}{end}" for arm in BUSY for topic, end in QUIET)
        assert "state/new0/presence" in told
        assert "state/changed/presence" in told
    assert await process.stop() == Exit.OK
    assert f"{process.config}:" in process.log


async def until_came(monitor: Client, arm: str, count: int) -> None:
    """Wait until so many events of an arm came."""
    await until(lambda: len(monitor.events(f"{arm}/")) >= count)


AGENT = """
[[arm]]
id = "spoken"
adapter = "mqtt_agent"
authority = "control"
"""


async def test_an_arm_that_speaks_mqtt_comes_is_opened_anew_and_goes(
    process: ServiceProcess, mosquitto: Mosquitto, tmp_path: Path
) -> None:
    agent = AgentProcess(mosquitto.url, process.root.removesuffix("/v1"), tmp_path / "agent", "spoken").start()
    try:
        process.start()
        async with Client(process.port, process.root, "ann", "ann") as client:
            await client.subscribe("svc/+", "evt/spoken/#", "state/spoken/#", "meta/factsheet/spoken")
            await online(client, 1)
            whole = process.config.read_text()
            for number, more in enumerate((AGENT, f"{AGENT}site_caps.twist_linear = 0.45\n"), 1):
                process.config.write_text(whole + more)
                process.signal(signal.SIGHUP)
                await until_logged(process, "reloaded", number)
                await client.document("state/spoken/presence", lambda document: document["ready"])
                reply = await client.change("spoken", SET, params(number))
                assert (reply["stage"], reply["seq"]) == ("applied", number)
                client.inbox.clear()
            process.config.write_text(whole)
            process.signal(signal.SIGHUP)
            await until_logged(process, "reloaded", 3)
            cleared = {(await client.take(lambda message: not message.payload)).topic for _ in range(6)}
            assert len(cleared) == 6
            assert (await client.call("spoken", "GetControlMode"))["error"]["kind"] == "unknown_arm"
    finally:
        agent.kill()
