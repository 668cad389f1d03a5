"""Builds the environment in which the workers of Kinova arms run, from the maker's wheel."""

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from email.parser import Parser
from pathlib import Path
from typing import NamedTuple

from devices.adapter import ArmError

WORKER = Path(__file__).with_name("worker.py")
PROTOBUF, DEPRECATED = "3.20.3", "1.2.7"
"""What the maker advises where the wheel pins something older: its pinned protobuf 3.5.1 needs help to load."""
OLDEST_PYTHON = (3, 8)
NEWEST_PYTHON = (3, 11)
"""For wheels before ANY_PYTHON; a newer Python with a newer wheel is for the check at the end to judge."""
ANY_PYTHON = (2, 8)
_NAME = re.compile(r"kortex[-_]api", re.IGNORECASE)
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.\w+)*")


class InstallError(ArmError):
    """The environment was not built, and what was there before is still there; the text says why."""


class Wheel(NamedTuple):
    """What a wheel of the maker says of itself."""

    version: str
    pins: dict[str, str]
    """Versions that it asks for, by name."""

    @property
    def release(self) -> tuple[int, int]:
        """The first two numbers of the version."""
        found = _VERSION.match(self.version)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def requirements(self) -> tuple[str, str]:
        """What is installed beside it: its own pins where they can work, else what the maker advises."""
        protobuf = self.pins.get("protobuf", "")
        return (
            f"protobuf=={protobuf if protobuf.startswith('3.20.') else PROTOBUF}",
            f"deprecated=={self.pins.get('deprecated') or DEPRECATED}",
        )


class Installed(NamedTuple):
    """The environment that was built: its Python, and the version of the wheel."""

    python: Path
    version: str


def read_wheel(path: Path) -> Wheel:
    """What a wheel says of itself.

    Raises:
        InstallError: it is no wheel of kortex_api.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            metadata = Parser().parsestr(archive.read(name).decode())
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InstallError(f"{path} is no wheel: {error}") from None
    if not _NAME.fullmatch(metadata.get("Name", "")) or not _VERSION.match(metadata.get("Version", "")):
        raise InstallError(f"{path} holds {metadata.get('Name')} {metadata.get('Version')}, not kortex_api")
    pins = {}
    for line in metadata.get_all("Requires-Dist") or ():
        if found := re.match(r"([\w.-]+)\s*\(?==\s*([\w.]+)", line):
            pins[found[1].lower()] = found[2]
    return Wheel(metadata["Version"], pins)


def install(wheel: Path, target: Path, *, python: str = sys.executable, pip_options: Sequence[str] = ()) -> Installed:
    """Build the environment `target` (replaced if it is there) from the maker's wheel, with the Python `python`.

    `pip_options` go to pip, `--no-index` for instance. Waits for pip; takes seconds to minutes.

    Raises:
        InstallError: it cannot be built, or the client cannot be loaded in it.
    """
    told = read_wheel(wheel)
    _refuse_unfit(told, python)
    fresh, old = target.with_name(target.name + ".new"), target.with_name(target.name + ".old")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        fresh.parent.mkdir(parents=True, exist_ok=True)
        _run([python, "-m", "venv", str(fresh)], "the environment cannot be made")
        pip = [str(fresh / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
        _run([*pip, *pip_options, *told.requirements()], "what the client needs cannot be installed")
        _run([*pip, *pip_options, "--no-deps", str(wheel)], "the client cannot be installed")
        check([str(fresh / "bin" / "python")])
        shutil.rmtree(old, ignore_errors=True)
        if target.exists():
            target.replace(old)
        fresh.replace(target)
    except OSError as error:
        raise InstallError(f"{target} cannot be written: {error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    return Installed(target / "bin" / "python", told.version)


def check(python: Sequence[str]) -> str:
    """Load all that the worker uses of the client with a Python; what it says.

    Raises:
        InstallError: something cannot be loaded.
    """
    return _run([*python, "-I", str(WORKER), "check"], "the client cannot be loaded")


def _refuse_unfit(wheel: Wheel, python: str) -> None:
    """Refuse a Python that a wheel cannot work with."""
    said = _run([python, "-c", "import sys; print(*sys.version_info[:2])"], f"{python} cannot be used").split()
    found = (int(said[0]), int(said[1]))
    fit = found >= OLDEST_PYTHON and (found <= NEWEST_PYTHON or wheel.release >= ANY_PYTHON)
    if not fit:
        lowest, highest = (".".join(map(str, one)) for one in (OLDEST_PYTHON, NEWEST_PYTHON))
        text = f"kortex_api {wheel.version} needs Python {lowest} to {highest}, {python} is {said[0]}.{said[1]}"
        raise InstallError(text)


def _run(command: list[str], failure: str) -> str:
    """Run a command; what it wrote to standard output.

    Raises:
        InstallError: it failed; with the last lines of what it said.
    """
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the words are ours
    except OSError as error:
        raise InstallError(f"{failure}: {error}") from error
    if ran.returncode:
        said = " / ".join((ran.stderr or ran.stdout).strip().splitlines()[-3:])
        raise InstallError(f"{failure}: {said}")
    return ran.stdout
