"""A compose file brought up by Docker's own `docker-compose`, on a podman that has a network of its own."""

import contextlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from tests.deploy.podman import Podman
from tests.mosquitto import ROOT

PROGRAMS = ("docker-compose", "unshare", "nsenter", "ip")
PARTS = (Path("/usr/lib/podman/netavark"), Path("/usr/lib/podman/aardvark-dns"))
"""What gives containers networks, and each other's names."""
PROJECT = "plant"
PATIENCE_S = 60.0
_ALONE = "ip link set lo up; mkdir -p /run/containers; mount -t tmpfs none /run/containers"
"""What another engine left there, a server of names that a kill let live, is none of this one's."""
_FETCH = """
import sys, time, urllib.request
url, until = sys.argv[1:]
while True:
    try:
        with urllib.request.urlopen(url, timeout=10) as page:
            for line in page:
                print(line.decode(), end="")
                if until in line.decode():
                    sys.exit()
    except OSError:
        time.sleep(0.2)
"""


def missing() -> str:
    """Why nothing can be composed here; empty where it can."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None] + [
        str(part) for part in PARTS if not part.exists()
    ]
    return f"not installed: {', '.join(absent)}" if absent else ""


class Composed:
    """The folder `deploy/` copied, and what its compose file describes. Use as `with`; its network ends with it."""

    def __init__(self, podman: Podman, folder: Path) -> None:
        self._podman, self._folder = podman, folder
        self.place = folder / "deploy/compose"
        self._socket = folder / "podman.sock"
        self._engine: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        shutil.copytree(ROOT / "deploy", self._folder / "deploy")
        serve = shlex.join(self._podman.command("system", "service", "--time=0", f"unix://{self._socket}"))
        with (self._folder / "engine.log").open("wb") as log:
            self._engine = subprocess.Popen(
                ["unshare", "--net", "--mount", "bash", "-c", f"{_ALONE}; exec {serve}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._podman.environment, start_new_session=True,
            )  # fmt: skip
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._engine is not None:
            with contextlib.suppress(RuntimeError):
                self.compose("down --volumes --timeout 0")
            self._engine.terminate()
            self._engine.wait(30)

    def _wait(self) -> None:
        """Until the engine answers; RuntimeError with what it said where it does not."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and self._engine is not None and self._engine.poll() is None:
            with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
                probe.connect(str(self._socket))
                return
            time.sleep(0.05)
        raise RuntimeError((self._folder / "engine.log").read_text(errors="replace"))

    def compose(self, words: str) -> str:
        """`docker compose` with these words of a shell, in the folder of the compose file; what it printed."""
        command = ["docker-compose", f"--project-name={PROJECT}", *shlex.split(words)]
        environment = {**os.environ, "DOCKER_HOST": f"unix://{self._socket}"}
        return _done(command, cwd=self.place, env=environment)

    def names(self) -> set[str]:
        """The services that run."""
        return set(self.compose("ps --services --filter status=running").split())

    def inspected(self, service: str) -> dict[str, Any]:
        """What the engine knows of the container of a service."""
        found: list[dict[str, Any]] = json.loads(self._podman.run("inspect", f"{PROJECT}_{service}_1").stdout)
        return found[0]

    def fetch(self, url: str, until: str) -> str:
        """Read an address of the host of the containers until it has told a text; what it told so far.

        A service that begins is asked again. RuntimeError where the text did not come within a minute, with the logs.
        """
        if self._engine is None:
            raise RuntimeError("it does not run")
        command = ["nsenter", "-t", str(self._engine.pid), "-n", sys.executable, "-c", _FETCH, url, until]
        try:
            return _done(["timeout", "60", *command])
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{self.compose('logs --tail 40')}") from error


def _done(command: list[str], **options: Any) -> str:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300, **options
    )
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    said: str = done.stdout
    return said
