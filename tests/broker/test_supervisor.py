"""What systemd is told, on a real socket; the whole service on a real Mosquitto."""

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest
import structlog

from broker.app import EXIT_FAILED, EXIT_OK, Start, serve
from broker.arms.fleet_check import CheckedFleet
from broker.arms.limit_files import LimitFiles
from broker.settings import Settings, SettingsError
from broker.supervisor import Supervisor
from tests.journey.running import settings_of
from tests.mosquitto import Mosquitto
from tests.notify_socket import NotifySocket


def test_ready_is_told_once_and_the_watchdog_is_fed_after_that(tmp_path: Path) -> None:
    with NotifySocket(tmp_path) as systemd:
        supervisor = Supervisor(systemd.address, 30.0)
        supervisor.waits("waiting for\nan MQTT server", 30.0)
        supervisor.served("serving 2 arms")
        supervisor.served()
        assert systemd.take() == [
            {"STATUS": "waiting for an MQTT server", "EXTEND_TIMEOUT_USEC": "30000000"},
            {"WATCHDOG": "1", "STATUS": "serving 2 arms", "READY": "1"},
            {"WATCHDOG": "1"},
        ]


def test_a_wait_of_a_ready_service_widens_the_watchdog_until_it_serves_again(tmp_path: Path) -> None:
    with NotifySocket(tmp_path) as systemd:
        supervisor = Supervisor(systemd.address, 30.0)
        supervisor.served()
        systemd.take()
        supervisor.waits("opening the store", 3600.0)
        supervisor.served()
        assert systemd.take() == [
            {"STATUS": "opening the store", "EXTEND_TIMEOUT_USEC": "3600000000"},
            {"WATCHDOG_USEC": "3600000000", "WATCHDOG": "1"},
            {"WATCHDOG": "1", "READY": "1", "WATCHDOG_USEC": "30000000"},
        ]


def test_a_reload_lasts_until_it_is_over_however_well_the_service_serves(tmp_path: Path) -> None:
    with NotifySocket(tmp_path) as systemd:
        supervisor = Supervisor(systemd.address, monotonic_ns=lambda: 7_000_999)
        supervisor.served()
        systemd.take()
        supervisor.reloads()
        supervisor.served()
        supervisor.reloaded("read")
        assert systemd.take() == [
            {"RELOADING": "1", "MONOTONIC_USEC": "7000", "STATUS": "reading the settings again"},
            {"WATCHDOG": "1"},
            {"WATCHDOG": "1", "STATUS": "read", "READY": "1"},
        ]


def test_an_abstract_socket_is_told_too(tmp_path: Path) -> None:
    name = f"armbroker-{os.getpid()}-{tmp_path.name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{name}")
        Supervisor(f"@{name}").stops("ending")
        assert systemd.recv(4096) == b"STOPPING=1\nSTATUS=ending"


def test_a_supervisor_that_is_gone_is_logged_and_ready_is_told_when_it_is_back(tmp_path: Path) -> None:
    supervisor = Supervisor(str(tmp_path / "notify"))
    with structlog.testing.capture_logs() as logs:
        supervisor.served()
    assert [entry["event"] for entry in logs] == ["supervisor_not_told"]
    with NotifySocket(tmp_path) as systemd:
        supervisor.served()
        assert systemd.take() == [{"WATCHDOG": "1", "READY": "1"}]


def test_without_a_supervisor_nothing_is_told() -> None:
    supervisor = Supervisor()
    with structlog.testing.capture_logs() as logs:
        supervisor.waits("x", 1.0)
        supervisor.served("x")
        supervisor.stops("x")
    assert (supervisor.there, logs) == (False, [])


@pytest.fixture
def settings(mosquitto: Mosquitto, tmp_path: Path) -> Settings:
    """Settings of a service with one arm."""
    return settings_of(mosquitto.url, tmp_path.name.replace("_", "-")[:40], tmp_path / "data", ["r1"])


async def test_the_life_of_a_service_is_told(settings: Settings, tmp_path: Path) -> None:
    given = [settings]

    def reread(now_us: int) -> CheckedFleet:
        if not given:
            raise SettingsError("fleet.toml:3: arm: unknown")
        return CheckedFleet(given.pop(), LimitFiles(now_us))

    with NotifySocket(tmp_path) as systemd:
        serving = asyncio.create_task(
            serve(settings, reread=reread, how=Start(supervisor=Supervisor(systemd.address, 0.2)))
        )
        ready = await systemd.wait_for("READY")
        assert ready["STATUS"].startswith("serving 1 arms")
        told = [message.get("STATUS", "") for message in systemd.messages[:2]]
        assert [text.partition(" ")[0] for text in told] == ["opening", "starting"]
        for _ in range(3):
            assert await systemd.wait_for("WATCHDOG")
        for outcome in ("the settings were read again", "settings of before, for the new ones cannot be used: fleet"):
            os.kill(os.getpid(), signal.SIGHUP)
            reloading = await systemd.wait_for("RELOADING")
            assert int(reloading["MONOTONIC_USEC"]) > 0
            assert (await systemd.wait_for("READY"))["STATUS"].startswith(outcome)
        os.kill(os.getpid(), signal.SIGTERM)
        assert await serving == EXIT_OK
        await systemd.wait_for("STOPPING")
        assert "WATCHDOG" not in systemd.messages[-1]


async def test_a_service_that_cannot_start_is_never_ready_and_says_why(settings: Settings, tmp_path: Path) -> None:
    wrong = settings_of(settings.mqtt.url, settings.root, tmp_path / "data", [], arm=[{"id": "r1"}])
    with NotifySocket(tmp_path) as systemd:
        assert await serve(wrong, how=Start(supervisor=Supervisor(systemd.address, 0.2))) == EXIT_FAILED
        stopping = await systemd.wait_for("STOPPING")
        assert "r1" in stopping["STATUS"]
        assert not any("READY" in message or "WATCHDOG" in message for message in systemd.messages)
