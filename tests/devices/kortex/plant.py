"""What tests of the Kinova adapter need: an environment with the fake client, fake arms, adapters of them."""

import atexit
import json
import os
import shutil
import socket
import subprocess
import sys
import venv
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self

import google.protobuf
import msgspec

from schema.messages import Message
from tests.mosquitto import ROOT

FAKE = Path(__file__).with_name("fake")
SITE = Path(google.protobuf.__file__).parents[2]


@cache
def environment() -> Path:
    """The Python of an environment where `kortex_api` is the fake one; made once a process."""
    place = Path(mkdtemp(prefix="kortex-env-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    venv.create(place, symlinks=True)
    (site,) = place.glob("lib/python*/site-packages")
    (site / "fake.pth").write_text(f"{FAKE}\n{SITE}\n{ROOT}\n")
    return place / "bin" / "python"


class ArmProcess:
    """A fake arm in a process of its own; it keeps its port and its values over `kill` and `start`."""

    def __init__(self, directory: Path, model: str = "gen3_7dof") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self.model = directory, model
        self.port = self.control_port = 0
        self._process: subprocess.Popen[str] | None = None
        self._control: socket.socket | None = None

    def start(self) -> Self:
        command = [sys.executable, "-m", "tests.devices.kortex.fake_arm", str(self.directory), self.model]
        with (self.directory / "stderr").open("a") as errors:
            self._process = subprocess.Popen(
                [*command, str(self.port), str(self.control_port)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
                start_new_session=True,
            )
        if self._process.stdout is None:
            raise RuntimeError("no standard output")
        with self._process.stdout as output:
            self.port, self.control_port = map(int, output.readline().split())
        self._control = socket.create_connection(("127.0.0.1", self.control_port))
        return self

    def tell(self, order: str, **more: Any) -> dict[str, Any]:
        """Let the arm do something; returns what it says to that, once it is done."""
        if self._control is None:
            raise RuntimeError("not started")
        self._control.sendall(json.dumps({"do": order, **more}).encode() + b"\n")
        with self._control.makefile("rb") as lines:
            answer: dict[str, Any] = json.loads(lines.readline())
        return answer

    def change(self, item: str, value: Message, mode: int = 0) -> dict[str, Any]:
        """Let another writer set a slot."""
        return self.tell("foreign_change", slot=[item, mode], value=msgspec.to_builtins(value))

    def taken(self) -> list[dict[str, Any]]:
        """What the arm took, in order."""
        log = self.directory / "log.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def kill(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def options(self, password_file: Path, **more: Any) -> dict[str, Any]:
        """The options of an adapter of this arm."""
        password_file.write_text("secret\n")
        return {
            "host": "127.0.0.1",
            "port": self.port,
            "user": "broker",
            "password_file": str(password_file),
            "python": str(environment()),
            **more,
        }


def exists(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def workers_of(pid: int, program: str = "kortex/worker.py") -> list[int]:
    """The numbers of the worker processes, of Kinova arms unless another program is named, that a process started."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and program.encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return sorted(found)
