"""The example clients, each built as its first lines say, on a Mosquitto with the shipped configuration."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from broker.settings import RIGHTS
from tests.journey.running import RunningService, settings_of
from tests.mosquitto import ROOT, Mosquitto, make_plant

SOURCES = ROOT / "examples" / "clients"
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror")
CLIENTS = ("python", "c", "plc", "javascript")
CURT = "plc"
"""It has short replies, without words."""

pytestmark = pytest.mark.long


class Plant(NamedTuple):
    """A server with a service of one arm for each client and situation."""

    server: Mosquitto
    service: RunningService


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    folder = tmp_path_factory.mktemp("plant")
    server = make_plant(folder).start()
    secret = folder / "secret"
    secret.write_text(server.passwords["svc"])
    mqtt = {"user": "svc", "password_file": str(secret), "identity": "server-acl", "client_id": "armbroker-main"}
    arms = [f"{client}-{number}" for client in CLIENTS for number in range(2)]
    clients = {"bob": {"rights": list(RIGHTS), "replies": "short"}}
    service = RunningService(
        settings_of(server.url, "armbroker", folder / "data", arms, mqtt=mqtt, clients=clients)
    ).start()
    yield Plant(server, service)
    service.stop()
    server.stop()


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory, node_modules: Callable[[str], Path]) -> dict[str, list[str]]:
    """How each client is started, once built."""
    folder = tmp_path_factory.mktemp("clients")
    for source, libraries in (("set_limit", ["-lmosquitto"]), ("plc_cycle", [])):
        command = ["cc", *FLAGS, "-o", str(folder / source), str(SOURCES / f"{source}.c"), *libraries]
        subprocess.run(command, check=True)
    (folder / "set_limit.mjs").write_text((SOURCES / "set_limit.mjs").read_text())
    (folder / "node_modules").symlink_to(node_modules("mqtt@5"))
    return {
        "python": [sys.executable, str(SOURCES / "set_limit.py")],
        "c": [str(folder / "set_limit")],
        "plc": [str(folder / "plc_cycle")],
        "javascript": ["node", str(folder / "set_limit.mjs")],
    }


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the clients keep what they know over a power cut."""
    return tmp_path_factory.mktemp("kept")


class Runs(NamedTuple):
    """Runs clients, each with its own memory."""

    plant: Plant
    commands: dict[str, list[str]]
    kept: Path

    def run(self, client: str, arm: str, value: str, answer_s: int = 12) -> tuple[int, str]:
        """The exit code of a client, and what it prints."""
        user = "bob" if client == CURT else "alice"
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "ARMBROKER_USER": user,
            "ARMBROKER_PASSWORD": self.plant.server.passwords[user],
            "ARMBROKER_ANSWER_S": str(answer_s),
        }
        place = ["127.0.0.1", str(self.plant.server.port), arm, value, str(self.kept / client)]
        done = subprocess.run(
            [*self.commands[client], *place], env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, (done.stdout + done.stderr).strip()


@pytest.fixture
def runs(plant: Plant, commands: dict[str, list[str]], kept: Path) -> Runs:
    return Runs(plant, commands, kept)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_change_is_applied_and_a_refusal_told(client: str, runs: Runs) -> None:
    arm = f"{client}-0"
    assert runs.run(client, arm, "0.2") == (0, "applied as revision 2")
    code, printed = runs.run(client, arm, "0.9")
    assert code == 1
    assert printed.startswith("refused: out_of_limits")
    assert ("Nearest legal: 0.5" in printed) is (client != CURT)
    assert runs.run(client, arm, "0.3") == (0, "applied as revision 3")


@pytest.mark.parametrize("client", CLIENTS)
def test_another_request_waits_for_the_end_of_the_first(client: str, runs: Runs) -> None:
    arm = f"{client}-1"
    runs.plant.service.stop()
    try:
        assert runs.run(client, arm, "0.2", answer_s=1) == (3, "no answer: run it again")
        code, printed = runs.run(client, arm, "0.1")
        assert (code, printed) == (2, f"{runs.kept / client} holds another request whose end is not known")
    finally:
        runs.plant.service.start()
    code, printed = runs.run(client, arm, "0.2")
    assert (code, printed.removesuffix(" (sent before)")) == (0, "applied as revision 2")


@pytest.mark.parametrize("client", CLIENTS)
def test_wrong_use_says_how(client: str, commands: dict[str, list[str]]) -> None:
    done = subprocess.run(commands[client], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ARMBROKER_USER=")
