"""Waiting for an MQTT server that is not there yet."""

import asyncio
import os
import signal
from pathlib import Path

import pytest
import structlog

from broker.app import EXIT_OK, serve
from broker.server_wait import Server
from broker.supervisor import Supervisor
from tests.journey.running import settings_of
from tests.links import PATIENCE_S
from tests.mosquitto import Mosquitto, free_port


async def test_it_says_at_once_what_is_waited_for_and_goes_on_when_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.server_wait.AGAIN_S", 0.01)
    port = free_port()
    url = f"mqtt://127.0.0.1:{port}"
    with structlog.testing.capture_logs() as logs:
        waiting = asyncio.create_task(Server(url, Supervisor()).there(asyncio.Event()))
        async with asyncio.timeout(PATIENCE_S):
            while not logs:  # noqa: ASYNC110 - a log announces nothing
                await asyncio.sleep(0)
        assert not waiting.done()
        listener = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", port)
        async with listener, asyncio.timeout(PATIENCE_S):
            await waiting
    assert [(log["event"], log["url"]) for log in logs] == [("waiting_for_mqtt_server", url)]


async def test_a_stop_ends_the_waiting() -> None:
    stop = asyncio.Event()
    waiting = asyncio.create_task(Server(f"mqtt://127.0.0.1:{free_port()}", Supervisor()).there(stop))
    await asyncio.sleep(0)
    stop.set()
    await asyncio.wait_for(waiting, PATIENCE_S)


async def test_a_service_starts_when_its_server_comes_and_makes_nothing_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.server_wait.AGAIN_S", 0.05)
    (tmp_path / "server").mkdir()
    server = Mosquitto(tmp_path / "server")
    settings = settings_of(server.url, "later", tmp_path / "data", ["r1"])
    with structlog.testing.capture_logs() as logs:
        serving = asyncio.create_task(serve(settings))
        try:
            async with asyncio.timeout(60):
                while not any(log["event"] == "waiting_for_mqtt_server" for log in logs):  # noqa: ASYNC110 - likewise
                    await asyncio.sleep(0.01)
                assert not (tmp_path / "data").exists()
                await asyncio.to_thread(server.start)
                while not any(log["event"] == "started" for log in logs):  # noqa: ASYNC110 - likewise
                    await asyncio.sleep(0.05)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            assert await serving == EXIT_OK
            server.stop()
