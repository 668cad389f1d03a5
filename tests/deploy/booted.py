"""A Debian of its own, booted with systemd in a container without a network: where the installation is tried."""

import contextlib
import os
import shutil
import subprocess
import time
import zlib
from pathlib import Path
from typing import Self

from tests.mosquitto import ROOT

RELEASE = "bookworm"
PACKAGES = "systemd,systemd-sysv,dbus,ca-certificates,procps"
"""What every Debian has that a person installed; the smallest one has not."""
_MADE_OF = zlib.crc32(f"{RELEASE} {PACKAGES}".encode())
BASE = Path("/var/tmp") / f"armbroker-debian-{_MADE_OF:08x}"  # noqa: S108 - only root may write there what root then runs
"""The bare system, made once a machine; what is done to it while it runs is forgotten."""
PROGRAMS = ("debootstrap", "systemd-nspawn", "nsenter")
PLACE = "/root/armbroker"
"""Where the checkout lies inside."""
PAGE = (
    "/usr/lib/armbroker/bin/python3 -c 'import sys, urllib.request as u; "
    '[print(x.decode(), end="", flush=True) for x in u.urlopen("http://127.0.0.1:8080" + sys.argv[1])]\''
)
"""Prints a page of `armbroker web`, line by line."""
_BUNDLE = "/root/authorities.crt"
_BOOT_S = 120.0


def missing() -> str:
    """Why it cannot be booted here; empty where it can."""
    if os.geteuid():
        return "only root can boot a system"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else ""


def _mirror() -> str:
    """The archive that this machine installs from."""
    found = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=True
    )
    return next((line for line in found.stdout.splitlines() if line.rstrip("/").endswith("/debian")), "")


def make_base() -> Path:
    """The bare system, made if need be; raises CalledProcessError with what went wrong."""
    if not (BASE / "etc" / "debian_version").exists():
        fresh = BASE.with_name(f"{BASE.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", RELEASE, str(fresh), _mirror()]
        subprocess.run(command, check=True, timeout=900, capture_output=True, text=True)
        fresh.rename(BASE)
    return BASE


class BootedDebian:
    """The bare system, running; `names` are hosts that its own address stands for. Use as `with`."""

    def __init__(self, folder: Path, names: tuple[str, ...] = ()) -> None:
        self._folder, self._names = folder, names
        self._process: subprocess.Popen[bytes] | None = None
        self._leader = 0

    def __enter__(self) -> Self:
        base = make_base()
        command = [
            "systemd-nspawn", "--quiet", "--boot", f"--directory={base}", "--volatile=overlay", "--private-network",
            "--register=no", "--keep-unit", "--resolv-conf=copy-host", f"--machine=armbroker-{os.getpid()}",
        ]  # fmt: skip
        with (self._folder / "boot.log").open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        try:
            self._wait()
            self._furnish()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            if self._leader:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._leader, 9)  # its first process: everything inside ends with it
            else:
                self._process.terminate()
            self._process.wait(60)

    def _wait(self) -> None:
        """Until it has booted; RuntimeError with what it said if it does not."""
        deadline = time.monotonic() + _BOOT_S
        while time.monotonic() < deadline and self._process is not None and self._process.poll() is None:
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
            with contextlib.suppress(OSError):
                self._leader = int((children.read_text().split() or ["0"])[0])
            if self._leader and self.run("systemctl is-system-running", check=False).strip() in ("running", "degraded"):
                return
            time.sleep(0.2)
        raise RuntimeError((self._folder / "boot.log").read_text(errors="replace"))

    def _furnish(self) -> None:
        """The checkout, the names, and what this machine needs to reach package registries."""
        files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
        packed = subprocess.run(
            ["tar", "-c", "--null", "-T", "-"], cwd=ROOT, input=files, check=True, capture_output=True
        )
        self.run(f"mkdir -p {PLACE} && tar -x --no-same-owner -C {PLACE}", given=packed.stdout)
        for name in self._names:
            self.run(f"echo 127.0.0.1 {name} >> /etc/hosts")
        if bundle := os.environ.get("PIP_CERT"):
            self.run(f"cat > {_BUNDLE}", given=Path(bundle).read_bytes())

    def run(self, script: str, *, given: bytes = b"", online: bool = False, check: bool = True) -> str:
        """Run a script of bash as root, from the folder `deploy/` of the checkout; what it printed.

        With `online` it has this machine's network. RuntimeError when it fails, unless `check` is off.
        """
        spaces = ["-m", "-u", "-i", "-p", *([] if online else ["-n"])]
        settings = {name: value for name, value in os.environ.items() if name.startswith("PIP_INDEX")}
        if "PIP_CERT" in os.environ:
            settings["PIP_CERT"] = _BUNDLE
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
            "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **settings,
        }  # fmt: skip
        inside = f"cd {PLACE}/deploy 2>/dev/null || cd /\n{script}"
        command = ["nsenter", "-t", str(self._leader), *spaces, "bash", "-euo", "pipefail", "-c", inside]
        done = subprocess.run(command, input=given, capture_output=True, env=environment, check=False, timeout=600)
        said = (done.stdout + done.stderr).decode(errors="replace")
        if check and done.returncode:
            raise RuntimeError(f"{script}\nended with {done.returncode}:\n{said}")
        return done.stdout.decode(errors="replace")
