"""How a run ends, and what the next one is told of it."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import structlog

from armbroker.cli.exits import Exit
from broker.app import EXIT_CRASHED, EXIT_FAILED, EXIT_OK, EXIT_UNREACHABLE, Start, run_once, serve
from broker.arms.fleet_check import CheckedFleet
from broker.arms.limit_files import LimitFiles
from broker.clock import Clock
from broker.link.mqtt_link import LinkUnreachableError
from broker.service import Service
from broker.settings import Settings
from broker.store.errors import StoreBrokenError
from broker.store.store import Store
from broker.supervisor import Supervisor
from tests.devices.virtual_loop import VirtualLoop
from tests.journey.client import Client
from tests.journey.processes import online
from tests.journey.running import settings_of
from tests.mosquitto import Mosquitto, free_port
from tests.notify_socket import NotifySocket


@pytest.fixture
def settings(mosquitto: Mosquitto, tmp_path: Path) -> Settings:
    """Settings of a service with one arm."""
    return settings_of(mosquitto.url, tmp_path.name.replace("_", "-")[:40], tmp_path, ["r1"])


def is_clean(settings: Settings) -> bool:
    """Whether the store says that the last end was clean."""
    rows = sqlite3.connect(settings.data_dir / "store.sqlite3")
    (clean,) = rows.execute("SELECT clean FROM service").fetchone()
    rows.close()
    return bool(clean)


async def run_until_online(settings: Settings, then: Callable[[asyncio.Event], object]) -> None:
    """Run a service once; when it is online, do something to it."""
    port = int(settings.mqtt.url.rpartition(":")[2])
    stop = asyncio.Event()
    async with Client(port, f"{settings.root}/v1", "eye", f"eye-{settings.root}") as client:
        await client.subscribe("svc/main", "state/r1/config")
        running = asyncio.create_task(run_once(settings, Clock(), stop))
        await online(client, 1)
        await client.document("state/r1/config", lambda _: True)
        then(stop)
        await running


def fail() -> None:
    """What nobody foresaw."""
    raise ZeroDivisionError("a timer failed")


async def test_a_told_end_is_clean(settings: Settings) -> None:
    await run_until_online(settings, lambda stop: stop.set())
    assert is_clean(settings)


async def test_before_another_run_begins_everything_is_looked_at_that_the_first_one_left(
    settings: Settings, tmp_path: Path
) -> None:
    arms = [{"id": "r2", "was": "r1", "adapter": "simulated", "model": "gen3_7dof"}]
    renamed = settings_of(settings.mqtt.url, settings.root, settings.data_dir, [], arm=arms)

    def reread(now_us: int) -> CheckedFleet:
        return CheckedFleet(renamed, LimitFiles(now_us))

    with NotifySocket(tmp_path) as systemd, structlog.testing.capture_logs() as logs:
        serving = asyncio.create_task(serve(settings, None, reread, Start(supervisor=Supervisor(systemd.address))))
        await systemd.wait_for("READY")
        os.kill(os.getpid(), signal.SIGHUP)
        while [entry["event"] for entry in logs].count("started") < 2:
            assert not serving.done()
            await asyncio.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)
        assert await serving == EXIT_OK
    told = [entry["event"] for entry in logs if entry["event"] in ("started", "ended", "memory_looked_through")]
    assert told == ["started", "ended", "memory_looked_through", "started", "ended"]


async def test_a_failing_timer_ends_the_run_uncleanly(settings: Settings) -> None:
    loop = asyncio.get_running_loop()
    with pytest.raises(ExceptionGroup) as caught:
        await run_until_online(settings, lambda _: loop.call_soon(fail))
    assert isinstance(caught.value.exceptions[0], ZeroDivisionError)
    assert not is_clean(settings)


def test_a_server_that_is_away_at_the_start_makes_no_unclean_end(settings: Settings) -> None:
    away = settings_of(f"mqtt://127.0.0.1:{free_port()}", settings.root, settings.data_dir, ["r1"])
    with asyncio.Runner(loop_factory=VirtualLoop) as runner, pytest.raises(ExceptionGroup) as caught:
        runner.run(run_once(away, Clock(), asyncio.Event()))
    assert isinstance(caught.value.exceptions[0], LinkUnreachableError)
    assert is_clean(settings)


def test_a_stop_while_the_server_is_away_ends_at_once(settings: Settings) -> None:
    away = settings_of(f"mqtt://127.0.0.1:{free_port()}", settings.root, settings.data_dir, ["r1"])

    async def stopped_soon() -> float:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        loop.call_later(1.0, stop.set)
        await run_once(away, Clock(), stop)
        return loop.time()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(stopped_soon()) == pytest.approx(1.0, abs=0.5)
    assert is_clean(settings)


async def test_a_locked_store_and_a_wrong_arm_have_their_exit_codes(settings: Settings) -> None:
    store = Store.open(settings.data_dir, lambda: 0)
    assert await serve(settings) == EXIT_UNREACHABLE
    store.close()
    wrong = settings_of(settings.mqtt.url, settings.root, settings.data_dir, [], arm=[{"id": "r1"}])
    assert await serve(wrong) == EXIT_FAILED


async def test_a_store_that_fails_while_it_serves_is_a_crash(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Service.start

    async def start(service: Service, supervisor: Supervisor) -> None:
        await honest(service, supervisor)
        service._store._fail(StoreBrokenError("an I/O error"))

    monkeypatch.setattr(Service, "start", start)
    assert await serve(settings) == EXIT_CRASHED


def test_what_nobody_foresaw_ends_the_process_with_a_code_of_its_own(tmp_path: Path) -> None:
    code = (
        "import sys, broker.app\n"
        "async def fail(*_, **__): raise ZeroDivisionError\n"
        "broker.app.serve = fail\n"
        "from armbroker.cli.run import run\n"
        f"sys.exit(run(['--mqtt', 'mqtt://127.0.0.1:1', '--data', {str(tmp_path)!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == Exit.CRASHED
    assert "ZeroDivisionError" in done.stderr
