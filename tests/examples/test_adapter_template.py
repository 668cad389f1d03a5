"""The template adapter, installed as any other distribution, passes the suite and works in a service."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from armbroker.cli.exits import Exit
from tests.mosquitto import ROOT

TEMPLATE = ROOT / "examples" / "adapter_template"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that has the template installed."""
    work = tmp_path_factory.mktemp("acme")
    source = work / "source"
    subprocess.run(["cp", "-r", str(TEMPLATE), str(source)], check=True)
    target = work / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--target", str(target), str(source)], check=True)
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{target}", "COLUMNS": "120"}


def armbroker(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command where the template is installed."""
    return subprocess.run(
        [sys.executable, "-m", "armbroker", *arguments],
        env=environment, capture_output=True, text=True, check=False, timeout=280, cwd=environment.get("HOME"),
    )  # fmt: skip


def test_it_is_listed_and_shown(installed: dict[str, str]) -> None:
    lines = armbroker(installed, "devices", "list").stdout.splitlines()
    assert any(line.split()[:3] == ["acme", "armbroker-acme", "1.0"] for line in lines)
    shown = armbroker(installed, "devices", "show", "acme").stdout
    assert "from: armbroker-acme 1.0\n" in shown
    assert "authority: observe, unless the settings say\n" in shown
    assert "  port (integer, >= 1, <= 65535, default 4001): TCP port of its controller\n" in shown


@pytest.mark.long
def test_it_passes_the_suite(installed: dict[str, str]) -> None:
    done = armbroker(installed, "devices", "verify", "acme")
    assert done.returncode == Exit.OK, done.stdout + done.stderr
    *rows, counts = done.stdout.splitlines()
    not_passed = [row.split("  ")[0] for row in rows if " pass" not in row]
    assert not_passed == ["rounded", "in fault", "service: rounded", "service: clamped"]
    assert counts.endswith("4 n/a, 0 FAIL")
    assert not done.stderr


def test_settings_of_its_arms_are_checked_by_its_table(installed: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text('[[arm]]\nid = "a1"\nadapter = "acme"\n[arm.options]\nport = 0\nspeed = 1\n')
    done = armbroker(installed, "run", "--config", str(file))
    assert done.returncode == Exit.USAGE
    assert done.stderr.splitlines() == [
        f"armbroker run: {file}:5: arm a1: option port: 0: expected `int` >= 1",
        f"{file}:6: arm a1: option speed: unknown; known: host, port",
    ]
