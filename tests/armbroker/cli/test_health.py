"""Whether a service is there, asked on a real Mosquitto."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from armbroker.cli.exits import Exit
from armbroker.cli.health_work import ask
from broker.settings import Settings, from_document
from tests.links import peer
from tests.mosquitto import Mosquitto, free_port


@pytest.fixture
def settings(mosquitto: Mosquitto, tmp_path: Path) -> Settings:
    """Settings with a root of their own."""
    return from_document({"root": tmp_path.name.replace("_", "-")[:40], "mqtt": {"url": mosquitto.url}})


async def tell(mosquitto: Mosquitto, settings: Settings, document: object) -> None:
    """Retain a document of the service."""
    async with peer(mosquitto.port, f"svc-{settings.root}") as service:
        await service.publish(f"{settings.root}/v1/svc/main", json.dumps(document), qos=1, retain=True)


def seen(ago_s: float) -> str:
    """A time of before, RFC 3339."""
    return (datetime.now(UTC) - timedelta(seconds=ago_s)).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("state", "ago_s", "code", "text"),
    [
        ("online", 3.0, Exit.OK, "service main is online"),
        ("online", 60.0, Exit.REFUSED, "was not seen for "),
        ("starting", 1.0, Exit.REFUSED, "service main is starting"),
        ("offline", 1.0, Exit.REFUSED, "service main is offline"),
    ],
)
async def test_it_tells_by_the_retained_document(
    mosquitto: Mosquitto, settings: Settings, tmp_path: Path, state: str, ago_s: float, code: Exit, text: str
) -> None:
    await tell(mosquitto, settings, {"state": state, "seen_at": seen(ago_s)})
    path = tmp_path / "fleet.toml"
    path.write_text(f'root = "{settings.root}"\n[mqtt]\nurl = "{settings.mqtt.url}"\n')
    command = [sys.executable, "-m", "armbroker", "health", "--config", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert text in (done.stdout if code is Exit.OK else done.stderr)


def test_nothing_retained_and_no_server_have_codes_of_their_own(settings: Settings) -> None:
    code, text = ask(settings, 1.0)
    assert (code, "no service main was ever here" in text) == (Exit.REFUSED, True)
    away = from_document({"mqtt": {"url": f"mqtt://127.0.0.1:{free_port()}"}})
    code, text = ask(away, 1.0)
    assert (code, "no MQTT server" in text) == (Exit.NO_SERVER, True)


def test_settings_that_cannot_be_used_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text("[mqtt]\nuri = 7\n")
    command = [sys.executable, "-m", "armbroker", "health", "--config", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.USAGE
    assert f"{path}:2" in done.stderr
