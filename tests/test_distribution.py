"""Wheel and sdist: what is in them, and that they work where nothing else of ours is."""

import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.mosquitto import ROOT

PACKAGES = ("armbroker", "broker", "devices", "handlers", "limits", "schema")
VERSION = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)

pytestmark = pytest.mark.long


class Built(NamedTuple):
    """Where they are."""

    wheel: Path
    sdist: Path
    again: Path
    """The wheel that was made of the sdist."""


def version() -> str:
    assert VERSION is not None
    return VERSION[1]


def tracked() -> list[str]:
    """Files that git knows, or would."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """All, made of what git knows."""
    folder = tmp_path_factory.mktemp("built")
    source = folder / "source"
    for name in tracked():
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    make = "from setuptools import build_meta; build_meta.build_sdist('../out')"
    subprocess.run([sys.executable, "-c", make], cwd=source, check=True, capture_output=True, timeout=300)
    (sdist,) = (folder / "out").glob("*.tar.gz")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    for what, place in ((source, "first"), (sdist, "again")):
        subprocess.run([*pip, "-w", str(folder / place), str(what)], check=True, capture_output=True, timeout=300)
    (wheel,) = (folder / "first").glob("*.whl")
    (again,) = (folder / "again").glob("*.whl")
    return Built(wheel, sdist, again)


def content(wheel: Path) -> dict[str, int]:
    """Files of a wheel and their checksums, but for the list of them."""
    with zipfile.ZipFile(wheel) as packed:
        return {one.filename: one.CRC for one in packed.infolist() if not one.filename.endswith("/RECORD")}


def test_the_wheel_has_every_file_of_the_packages(built: Built) -> None:
    files = {name for name in tracked() if name.partition("/")[0] in PACKAGES}
    assert files - content(built.wheel).keys() == set()
    assert built.wheel.name == f"armbroker-{version()}-py3-none-any.whl"


def test_the_sdist_gives_the_same_wheel(built: Built) -> None:
    assert content(built.again) == content(built.wheel)
    with tarfile.open(built.sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names


FACE = """
import armbroker, armbroker.adapters, armbroker.limits
for face in (armbroker, armbroker.adapters, armbroker.limits):
    for name in face.__all__:
        getattr(face, name)
print(armbroker.__file__)
"""
SETTINGS = '[clients.a]\nrights = ["write"]\n[store]\ndir = "data"\n[[arm]]\nid = "r1"\nmodel = "gen3_7dof"\n'


def test_the_wheel_works_in_an_environment_of_its_own(built: Built, tmp_path: Path) -> None:
    place = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True, timeout=120)
    python, command = place / "bin/python", place / "bin/armbroker"
    pins = ROOT / "deploy/deb/constraints.txt"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-compile"]
    subprocess.run([*pip, "-c", str(pins), str(built.wheel)], check=True, capture_output=True, timeout=400)

    def said(*arguments: str) -> str:
        done = subprocess.run(arguments, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=120)
        return done.stdout.strip()

    assert said(str(python), "-I", "-W", "error", "-c", FACE).startswith(str(place))
    assert said(str(command), "--version") == f"armbroker {version()}"
    (tmp_path / "fleet.toml").write_text(SETTINGS)
    assert said(str(command), "run", "--check", "--config", "fleet.toml") == "ok: 1 arms"
    assert "shoulder" in said(str(command), "limits", "show", str(ROOT / "docs/examples/arm.urdf"))
    assert "simulated" in said(str(command), "devices", "list")


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    loader = SourceFileLoader("release_notes", str(ROOT / "scripts/release-notes"))
    spec = spec_from_loader("release_notes", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    text = "# Changelog\n\n## Unreleased\n\n- b\n\n## 0.2.0 (2026-12-31)\n\n- a\n- c\n"
    assert module.notes(text, "0.2.0") == "- a\n- c"
    assert module.notes(text, "Unreleased") == "- b"
    with pytest.raises(KeyError):
        module.notes(text, "0.3.0")
    done = subprocess.run([ROOT / "scripts/release-notes", "99.9.9"], capture_output=True, text=True, check=False)
    assert (done.returncode, "99.9.9" in done.stderr) == (1, True)


def test_the_changelog_has_unreleased_changes_first_and_then_releases_down_from_this_version() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    numbers = [tuple(map(int, heading.split("."))) for heading in headings[1:]]
    assert numbers == sorted(numbers, reverse=True)
    if numbers:
        assert ".".join(map(str, numbers[0])) == version()
