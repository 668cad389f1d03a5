"""The Debian package, built once for all tests of a run, and a later release made of it."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mosquitto import ROOT

LATER = "99.0.0"
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
            fresh = folder / "fresh"
            environment = {**os.environ, "COMPRESS": "gzip -z1", "PYTHON": sys.executable}
            command = [str(ROOT / "scripts" / "build-deb"), str(fresh)]
            done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=600)
            if done.returncode:
                raise AssertionError(done.stderr)
            found = [path.rename(folder / path.name) for path in fresh.glob("*.deb")]
    (deb,) = found
    return deb


def later_release(deb: Path, folder: Path) -> Path:
    """A release to come: another version, one more migration of the store, another shipped fleet.toml."""
    tree = folder / "later"
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    home = tree / "usr/lib/armbroker"
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", f"Version: {LATER}", control.read_text(), flags=re.MULTILINE))
    (metadata,) = home.glob("lib/python3*/site-packages/armbroker-*.dist-info")
    text = (metadata / "METADATA").read_text()
    (metadata / "METADATA").write_text(re.sub(r"^Version: .*$", f"Version: {LATER}", text, count=1, flags=re.MULTILINE))
    (schema,) = home.glob(_SCHEMA)
    statement = '("CREATE TABLE to_come (n INTEGER PRIMARY KEY) STRICT",)'
    text, count = _MIGRATIONS.subn(rf"\1, {statement})", schema.read_text())
    assert count == 1
    schema.write_text(text)
    shutil.rmtree(schema.parent / "__pycache__")
    with (tree / "etc/armbroker/fleet.toml").open("a") as shipped:
        shipped.write("\n# more of a release to come\n")
    (tree / "DEBIAN/md5sums").unlink()
    target = folder / f"armbroker_{LATER}_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, target], check=True)
    shutil.rmtree(tree)
    return target
