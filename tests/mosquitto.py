"""A real Mosquitto for tests: started with a generated configuration, stopped, killed, restarted."""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from armbroker.cli.acl_rules import text as acl_text
from broker.settings import from_document

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ROOT / "deploy" / "mosquitto"
SITE = "/etc/mosquitto/site"
_START_S = 60.0
PLANT: Mapping[str, Any] = {
    "mqtt": {"user": "svc"},
    "clients": {"alice": {}},
    "arm": [{"id": "r12", "adapter": "mqtt_agent"}],
}
"""What the access rules of a plant are written for."""
_SAVING = "Saving in-memory database"
OPEN_CONFIG = """
listener {port} 127.0.0.1
allow_anonymous true
user root
set_tcp_nodelay true
max_inflight_messages 1000
max_queued_messages 100000
"""


_PLANT_LISTENER = """
listener {port} 127.0.0.1
max_connections 12000
password_file {folder}/passwords
acl_file {folder}/armbroker.acl
persistence_location {folder}/
user root
"""


def find_program(name: str) -> str:
    """The path of one of Mosquitto's programs; raises RuntimeError where it is not installed."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + os.pathsep + "/usr/sbin")
    if found is None:
        raise RuntimeError(f"{name} is missing: apt install mosquitto mosquitto-clients")
    return found


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def write_passwords(path: Path, passwords: dict[str, str]) -> None:
    """Write `passwords` (by user) as Mosquitto's password file."""
    path.write_text("".join(f"{user}:{password}\n" for user, password in passwords.items()))
    subprocess.run([find_program("mosquitto_passwd"), "-U", str(path)], check=True)


class Mosquitto:
    """One Mosquitto on `port` of 127.0.0.1, not started yet.

    `config` is the text of its configuration, by default one that lets everybody do everything; `{port}` and
    `{folder}` in it are filled in. `passwords` by user, for those who ask.
    """

    def __init__(self, folder: Path, config: str = OPEN_CONFIG, passwords: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.port = free_port()
        self.passwords = passwords or {}
        self._config = folder / "mosquitto.conf"
        self._config.write_text(self.filled(config))
        self._process: subprocess.Popen[bytes] | None = None

    def filled(self, text: str) -> str:
        """The text of a configuration with this server's port and folder."""
        return text.replace("{port}", str(self.port)).replace("{folder}", str(self.folder))

    @property
    def url(self) -> str:
        """Where a link connects to."""
        return f"mqtt://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What Mosquitto has written."""
        return (self.folder / "mosquitto.log").read_text()

    def start(self) -> Self:
        """Start it and wait until it takes connections; raises RuntimeError with its log if it ends instead."""
        with (self.folder / "mosquitto.log").open("ab") as log:
            command = [find_program("mosquitto"), "-v", "-c", str(self._config)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0):
                return self
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.02)
        self.stop()
        raise RuntimeError(f"mosquitto did not start with {self._config}:\n{self.log}")

    def save(self) -> bytes:
        """Let it save what it holds (persistence has to be on), and return that."""
        before = self.log.count(_SAVING)
        if self._process is None:
            raise RuntimeError("it does not run")
        self._process.send_signal(signal.SIGUSR1)
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            if self.log.count(_SAVING) > before:
                time.sleep(0.1)
                return (self.folder / "mosquitto.db").read_bytes()
            time.sleep(0.02)
        raise RuntimeError(f"mosquitto did not save:\n{self.log[-2000:]}")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it, with SIGTERM (it saves its store) or another signal; idempotent."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(_START_S)
            self._process = None


def write_acl(path: Path, settings: Mapping[str, Any]) -> None:
    """Write the access rules for settings."""
    path.write_text(acl_text(from_document(settings), "a test"))


def make_plant(folder: Path) -> Mosquitto:
    """A Mosquitto with the shipped configuration, users alice, bob, sam, the arm r12, and svc, the service.

    What differs from an installation is the file that belongs to the site (port, paths, no TLS), and that the access
    rules are those of `PLANT`, written as the shipped ones are.
    """
    write_acl(folder / "armbroker.acl", PLANT)
    passwords = {user: secrets.token_hex(8) for user in ("alice", "bob", "sam", "svc", "r12")}
    write_passwords(folder / "passwords", passwords)
    shipped = (SHIPPED / "armbroker.conf").read_text()
    if SITE not in shipped:
        raise RuntimeError(f"the shipped configuration does not include {SITE}")
    plant = Mosquitto(folder, shipped.replace(SITE, f"{folder}/site"), passwords)
    (folder / "site").mkdir()
    (folder / "site" / "listener.conf").write_text(plant.filled(_PLANT_LISTENER))
    return plant
