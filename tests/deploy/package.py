"""The Debian package, built once for all tests of a run; a release of before, and one to come."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mosquitto import ROOT

LATER, BEFORE = "99.0.0", "0.0.9"
SOURCES = (
    "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "scripts", "deploy",
    "armbroker", "broker", "devices", "handlers", "limits", "schema",
)  # fmt: skip
"""What `scripts/build-deb` reads."""
BEFORE_JOBS = "broker/store/jobs_migration.py"
"""Without this file a program writes stores of version 5."""
_KEPT = "/var/tmp"  # noqa: S108 - only root may write there what root then runs
_SCHEMA = "lib/python3*/site-packages/broker/store/schema.py"
_MIGRATIONS = re.compile(r"^(MIGRATIONS: .*? = \(.*?),?\s*\)(?=  # fmt|$)", re.MULTILINE | re.DOTALL)


def version() -> str:
    """The version that pyproject.toml tells."""
    found = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    if found is None:
        raise AssertionError("pyproject.toml has no version")
    return found[1]


def built_package(factory: pytest.TempPathFactory) -> Path:
    """The package of this checkout; the processes of one run of tests share it."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "package"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (found := sorted(folder.glob("*.deb"))):
            found = [_built(ROOT, folder)]
    (deb,) = found
    return deb


def _built(checkout: Path, folder: Path) -> Path:
    """The package that `scripts/build-deb` of a checkout makes, in a folder."""
    fresh = folder / "fresh"
    environment = {**os.environ, "COMPRESS": "gzip -z1", "PYTHON": sys.executable}
    command = [str(checkout / "scripts" / "build-deb"), str(fresh)]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise AssertionError(done.stderr)
    (deb,) = fresh.glob("*.deb")
    return deb.rename(folder / deb.name)


def release_before(deb: Path, folder: Path) -> Path:
    """The package of the last program that wrote stores of version 5, by the history of this clone.

    It is kept, once a machine. A clone without that history has this package, under a version that is lower, instead.
    """
    if not (commit := commit_before()):
        return _released(deb, folder, BEFORE, lambda _: None)
    kept = Path(_KEPT) / f"armbroker_{BEFORE}_{commit}.deb"
    if not kept.exists():
        source = folder / "source"
        source.mkdir()
        packed = subprocess.run(["git", "archive", commit, *SOURCES], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", source], input=packed, check=True)
        _edit(source / "pyproject.toml", r'^version = ".*"$', f'version = "{BEFORE}"')
        shutil.move(_built(source, folder), kept)
    return kept


def commit_before() -> str:
    """The commit of that program; empty in a clone without it."""
    commit = _git("log", "-1", "--diff-filter=A", "--format=%P", "--", BEFORE_JOBS).strip()
    return commit if commit and _git("ls-tree", commit, "scripts/build-deb") else ""


def _git(*arguments: str) -> str:
    """What git says; nothing where it fails."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=False, capture_output=True, text=True).stdout


def later_release(deb: Path, folder: Path) -> Path:
    """A release to come: another version, one more migration of the store, another shipped fleet.toml."""

    def to_come(tree: Path) -> None:
        (schema,) = (tree / "usr/lib/armbroker").glob(_SCHEMA)
        statement = '("CREATE TABLE to_come (n INTEGER PRIMARY KEY) STRICT",)'
        text, count = _MIGRATIONS.subn(rf"\1, {statement})", schema.read_text())
        assert count == 1
        schema.write_text(text)
        shutil.rmtree(schema.parent / "__pycache__")
        with (tree / "etc/armbroker/fleet.toml").open("a") as shipped:
            shipped.write("\n# more of a release to come\n")

    return _released(deb, folder, LATER, to_come)


def _released(deb: Path, folder: Path, version: str, change: Callable[[Path], None]) -> Path:
    """A package made of another one: with another version, and what `change` does to its files."""
    tree = folder / "tree"
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    _edit(tree / "DEBIAN/control", "^Version: .*$", f"Version: {version}")
    (metadata,) = (tree / "usr/lib/armbroker").glob("lib/python3*/site-packages/armbroker-*.dist-info")
    _edit(metadata / "METADATA", "^Version: .*$", f"Version: {version}")
    change(tree)
    (tree / "DEBIAN/md5sums").unlink()
    target = folder / f"armbroker_{version}_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, target], check=True)
    shutil.rmtree(tree)
    return target


def _edit(file: Path, pattern: str, line: str) -> None:
    """Replace the first line that a pattern matches."""
    text, count = re.subn(pattern, line, file.read_text(), count=1, flags=re.MULTILINE)
    assert count == 1
    file.write_text(text)
