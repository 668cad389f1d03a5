"""`armbroker watch` over a Mosquitto that is killed and comes back: what was missed is fetched, without a trace."""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journey.client import Client
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto

SET = "SetTwistLinearSoftLimit"
MISSED = 7


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Mosquitto]:
    """A Mosquitto of its own, that keeps nothing over a kill."""
    (tmp_path / "server").mkdir()
    one = Mosquitto(tmp_path / "server").start()
    yield one
    one.stop(signal.SIGKILL)


async def change(client: Client, number: int) -> None:
    """One more change; it gives the event of this seq."""
    params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": (0.1, 0.2, 0.3)[number % 3]}
    assert (await client.change("r1", SET, params))["seq"] == number


async def read_until(process: Process, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """What a watch tells up to something that is wanted."""
    if process.stdout is None:
        raise RuntimeError("its output is not read")
    told: list[dict[str, Any]] = []
    while not told or not wanted(told[-1]):
        line = await process.stdout.readline()
        assert line, "the watch ended"
        told.append(json.loads(line))
    return told


def is_event(seq: int) -> Callable[[dict[str, Any]], bool]:
    """Whether something told is the event of a seq."""
    return lambda told: told["type"] == "event" and told["event"]["seq"] == seq


async def test_what_was_missed_while_the_server_was_gone_is_fetched(server: Mosquitto, tmp_path: Path) -> None:
    service = ServiceProcess(server, tmp_path, "watched", ("r1",)).start()
    command = (sys.executable, "-m", "armbroker", "watch", "r1", "--json", "--mqtt", server.url, "--root", "watched")
    watch = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, limit=1 << 24)
    try:
        async with Client(server.port, service.root, "ann", "ann") as client:
            await client.subscribe("svc/+")
            await online(client, 1)
            config = await read_until(watch, lambda told: told["type"] == "document" and told["name"] == "config")
            assert config[-1]["document"]["seq"] == 0
            await change(client, 1)
        told = await read_until(watch, is_event(1))
        watch.send_signal(signal.SIGSTOP)
        server.stop(signal.SIGKILL)
        server.start()
        async with Client(server.port, service.root, "ann", "again") as client:
            await client.subscribe("svc/+")
            await online(client, 1)
            for number in range(2, MISSED + 2):
                await change(client, number)
            watch.send_signal(signal.SIGCONT)
            told += await read_until(watch, is_event(MISSED + 1))
        seqs = [each["event"]["seq"] for each in told if each["type"] == "event"]
        assert seqs == list(range(1, MISSED + 2))
        assert "resynced" in {each["type"] for each in told}
    finally:
        watch.send_signal(signal.SIGCONT)
        watch.send_signal(signal.SIGINT)
        _, errors = await watch.communicate()
        service.kill()
    assert b"Traceback" not in errors
    assert b"lost" in errors
