"""The flow in a real Node-RED, on a Mosquitto with the shipped configuration."""

import http.client
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker.settings import RIGHTS
from tests.journey.running import RunningService, settings_of
from tests.mosquitto import ROOT, Mosquitto, free_port, make_plant

FLOW = ROOT / "examples" / "node_red" / "flow.json"
SETTINGS = """
module.exports = {
    uiHost: "127.0.0.1", uiPort: %d, credentialSecret: false, flowFile: "flow.json",
    contextStorage: {
        default: { module: "memory" }, kept: { module: "localfilesystem", config: { flushInterval: 1 } },
    },
    telemetry: { enabled: false },
};
"""
PATIENCE_S = 60.0

pytestmark = pytest.mark.long


class NodeRed:
    """A Node-RED with the flow, in a folder of its own."""

    def __init__(self, program: Path, folder: Path, server: Mosquitto) -> None:
        self._program = program
        self._folder = folder
        self._port = free_port()
        self._environment = {
            **os.environ,
            "ARMBROKER_HOST": "127.0.0.1",
            "ARMBROKER_PORT": str(server.port),
            "ARMBROKER_USER": "alice",
        }
        shutil.copy(FLOW, folder / "flow.json")
        (folder / "settings.js").write_text(SETTINGS % self._port)
        login = {"broker": {"user": "alice", "password": server.passwords["alice"]}}
        (folder / "flow_cred.json").write_text(json.dumps(login))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        return (self._folder / "log").read_text()

    def start(self) -> None:
        command = ["node", str(self._program), "--userDir", str(self._folder)]
        before = self.log.count("Connected to broker") if (self._folder / "log").exists() else 0
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=self._environment)
        self.wait_for("Connected to broker", before + 1)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10.0)
            self._process = None

    def press(self, button: str) -> None:
        editor = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10.0)
        editor.request("POST", f"/inject/{button}")
        assert editor.getresponse().status == http.client.OK
        editor.close()

    def wait_for(self, text: str, times: int = 1) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while self.log.count(text) < times:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{text!r} is not in:\n{self.log}")
            time.sleep(0.05)


@pytest.fixture(scope="module")
def program(node_modules: Callable[[str], Path]) -> Path:
    return node_modules("node-red@4") / "node-red" / "red.js"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Mosquitto]:
    server = make_plant(tmp_path).start()
    yield server
    server.stop()


@pytest.fixture
def service(server: Mosquitto, tmp_path: Path) -> Iterator[RunningService]:
    secret = tmp_path / "secret"
    secret.write_text(server.passwords["svc"])
    mqtt = {"user": "svc", "password_file": str(secret), "identity": "server-acl", "client_id": "armbroker-main"}
    clients = {"alice": {"rights": list(RIGHTS)}}
    service = RunningService(
        settings_of(server.url, "armbroker", tmp_path / "data", ["r12"], mqtt=mqtt, clients=clients)
    )
    yield service.start()
    service.stop()


@pytest.fixture
def node_red(program: Path, tmp_path: Path, server: Mosquitto) -> Iterator[NodeRed]:
    folder = tmp_path / "flows"
    folder.mkdir()
    node_red = NodeRed(program, folder, server)
    yield node_red
    node_red.kill()


def test_it_sends_tells_and_repeats_over_a_kill(node_red: NodeRed, service: RunningService) -> None:
    node_red.start()
    node_red.press("slow")
    node_red.wait_for("r12 SetTwistLinearSoftLimit: applied as revision 2")
    node_red.wait_for("r12 TWIST_LINEAR_SOFT_LIMIT_CHANGED: 0.5 -> 0.2 by alice")
    node_red.press("fast")
    node_red.wait_for("r12 SetTwistLinearSoftLimit: refused: out_of_limits: twist_linear_soft_limit: 0.9 m/s > 0.5 m/s")
    service.stop()
    node_red.press("slow")
    kept = node_red._folder / "context" / "armbroker" / "flow.json"
    deadline = time.monotonic() + PATIENCE_S
    while not (kept.exists() and json.loads(kept.read_text()).get("open")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(json.loads(kept.read_text())["open"]) == ["1-000003"]
    node_red.kill()
    service.start()
    node_red.start()
    node_red.wait_for("r12 SetTwistLinearSoftLimit: applied as revision", times=2)
