"""What a shell offers, asked as a shell asks."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from handlers.rpc_table import RPC_TABLE
from tests.links import peer
from tests.mosquitto import ROOT, Mosquitto, free_port

PATIENCE_S = 60.0


def offered(words: str, folder: Path, **environment: str) -> list[str]:
    """What is offered for the last of these words."""
    asked = {"_ARMBROKER_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    code = "from armbroker.__main__ import main; import sys; sys.argv = ['armbroker']; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False,
        env={**os.environ, "HOME": str(folder), **asked, **environment},
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split()


def offered_in_time(words: str, folder: Path, **environment: str) -> list[str]:
    """What is offered once the MQTT server was reached in the short time that there is; the machine may be busy."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := offered(words, folder, **environment)) and time.monotonic() < deadline:
        pass
    return found


def test_commands_methods_and_items_are_offered(tmp_path: Path) -> None:
    assert offered("armbroker wat", tmp_path) == ["watch"]
    expected = [method for method in RPC_TABLE if method.startswith("SetT")]
    assert offered("armbroker call r12 SetT", tmp_path) == expected
    assert offered("armbroker watch r12 --item payl", tmp_path) == ["payload_information"]


async def test_arms_are_those_that_the_service_tells_of(mosquitto: Mosquitto, tmp_path: Path) -> None:
    async with peer(mosquitto.port) as teller:
        for arm in ("r12", "r13", "s1"):
            await teller.publish(f"completed/v1/state/{arm}/presence", "{}", qos=1, retain=True)
        login = {"ARMBROKER_MQTT_URL": mosquitto.url, "ARMBROKER_ROOT": "completed"}
        assert offered_in_time("armbroker call r", tmp_path, **login) == ["r12", "r13"]
        assert offered_in_time("armbroker watch ", tmp_path, **login) == ["r12", "r13", "s1"]
        given = f"armbroker watch --mqtt {mosquitto.url} --root completed s"
        assert offered_in_time(given, tmp_path) == ["s1"]
        assert offered("armbroker call r", tmp_path, **login, ARMBROKER_CONN="hmi-1") == []
        for arm in ("r12", "r13", "s1"):
            await teller.publish(f"completed/v1/state/{arm}/presence", "", qos=1, retain=True)


@pytest.mark.parametrize("url", ["mqtt://127.0.0.1:{port}", "nonsense"])
def test_where_nobody_answers_nothing_is_offered_and_nothing_is_said(tmp_path: Path, url: str) -> None:
    began = time.monotonic()
    assert offered("armbroker call r", tmp_path, ARMBROKER_MQTT_URL=url.format(port=free_port())) == []
    assert time.monotonic() - began < PATIENCE_S


def test_profiles_are_offered(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "armbroker"
    folder.mkdir(parents=True)
    (folder / "profiles.toml").write_text('[hall-1]\n[hall-2]\nuser = "a"\n')
    environment = {"XDG_CONFIG_HOME": ""}
    assert offered("armbroker watch --profile hall", tmp_path, **environment) == ["hall-1", "hall-2"]
    (folder / "profiles.toml").write_text("[hall-1\n")
    assert offered("armbroker watch --profile hall", tmp_path, **environment) == []
