"""The shipped settings and systemd unit."""

import shutil
import subprocess
from pathlib import Path

import pytest

from broker.settings import load
from tests.mosquitto import SHIPPED

DEPLOY = SHIPPED.parent
UNIT = DEPLOY / "armbroker.service"


def test_the_settings_can_be_loaded() -> None:
    settings = load(DEPLOY / "fleet.toml", {})
    assert settings.mqtt.identity == "server-acl"
    assert settings.mqtt.password_file == "/etc/armbroker/mqtt-password"
    assert f"user {settings.mqtt.user}\n" in (SHIPPED / "armbroker.acl").read_text()
    assert settings.data_dir == Path("/var/lib/armbroker")


@pytest.mark.parametrize(
    "line",
    [
        "Type=notify",
        "WatchdogSec=30",
        "Restart=on-failure",
        "User=armbroker",
        "RestartPreventExitStatus=1 2",
        "ExecReload=/usr/bin/armbroker run --check --config /etc/armbroker/fleet.toml",
        "StateDirectory=armbroker",
        "TimeoutStopSec=20",
        "ExecReload=/bin/kill -HUP $MAINPID",
    ],
)
def test_the_unit_restarts_the_service_and_keeps_its_state(line: str) -> None:
    assert line in UNIT.read_text().splitlines()


def test_the_unit_is_rated_safe() -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is missing")
    subprocess.run([analyze, "security", "--offline=true", "--threshold=15", str(UNIT)], check=True)
