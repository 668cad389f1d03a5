"""A container engine with storage of its own, that pulls nothing: its Debian is the bare system of the other tests."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

from tests.deploy.booted import make_base
from tests.mosquitto import ROOT

PROGRAMS = ("podman", "runc", "debootstrap")
DEBIAN = "docker.io/library/debian:bookworm-slim"
MOSQUITTO = "docker.io/library/eclipse-mosquitto:2.0.22"
_MOSQUITTO_FILE = """FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends mosquitto
"""
_ENGINE = """[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[network]
network_backend = "netavark"
"""
"""Its own limits may be above what this machine allows."""


def missing() -> str:
    """Why there are no containers here; empty where there are."""
    if os.geteuid():
        return "only root can run these containers"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else ""


class Podman:
    """Images and containers in a folder that goes with it. Use as `with`."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="armbroker-podman-", dir="/var/tmp"))
        (self._folder / "containers.conf").write_text(_ENGINE)
        self.environment = {**os.environ, "CONTAINERS_CONF": str(self._folder / "containers.conf")}

    def __enter__(self) -> Self:
        base = make_base()
        try:
            with subprocess.Popen(["tar", "-C", str(base), "-c", "."], stdout=subprocess.PIPE) as packed:
                self._run("import", "-", DEBIAN, stdin=packed.stdout)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:  # those that use another one's network first
            for container in self._run("ps", "--all", "--quiet").stdout.split():
                self._run("rm", "--force", "--time", "0", "--depend", container, check=False)
            if left := self._run("ps", "--all", "--quiet").stdout.split():
                raise AssertionError(f"containers go on: {left}")
            self._run("rmi", "--all", "--force")
            self._run("volume", "rm", "--all", "--force")
        finally:
            self._end_monitors()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _end_monitors(self) -> None:
        """End what waits five minutes beside each command that was run in a container, to tidy up behind it."""
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                program, *words = (process / "cmdline").read_bytes().split(b"\0")
                if program.endswith(b"conmon") and any(str(self._folder).encode() in word for word in words):
                    os.kill(int(process.name), signal.SIGKILL)

    def build(self, name: str, file: Path, context: Path) -> None:
        """Build an image by a Dockerfile."""
        settings: list[str] = []
        if bundle := os.environ.get("PIP_CERT"):
            settings += [f"--volume={bundle}:/run/authorities.crt:ro", "--build-arg=PIP_CERT=/run/authorities.crt"]
        if index := os.environ.get("PIP_INDEX_URL"):
            settings.append(f"--build-arg=PIP_INDEX_URL={index}")
        self._run(
            "build", "--pull=never", "--isolation=chroot", "--network=host", "--format=docker", *settings,
            f"--file={file}", f"--tag={name}", str(context),
        )  # fmt: skip

    def build_mosquitto(self) -> None:
        """Stand-in for the image of the compose file: Debian's Mosquitto under that name."""
        folder = self._folder / "mosquitto"
        folder.mkdir()
        (folder / "Dockerfile").write_text(_MOSQUITTO_FILE)
        self.build(MOSQUITTO, folder / "Dockerfile", folder)

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`podman` with arguments; its output."""
        return self._run(*arguments, check=check)

    def command(self, *arguments: str) -> list[str]:
        """The words of `podman` with arguments, for `environment`."""
        return [
            "podman", f"--root={self._folder}/root", f"--runroot={self._folder}/run", "--storage-driver=overlay",
            f"--network-config-dir={self._folder}/networks", "--cgroup-manager=cgroupfs", "--runtime=runc",
            "--events-backend=none", "--log-level=fatal", *arguments,
        ]  # fmt: skip

    def _run(self, *arguments: str, check: bool = True, stdin: Any = None) -> subprocess.CompletedProcess[str]:
        command = self.command(*arguments)
        done = subprocess.run(
            command,
            stdin=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            cwd=ROOT,
            env=self.environment,
        )
        if check and done.returncode:
            raise RuntimeError(
                f"podman {' '.join(arguments)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return done
