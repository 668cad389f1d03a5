"""The commands of docs/limits_files.md print what it shows."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journey.transcript import Step, parse
from tests.mosquitto import ROOT

STEPS = parse((ROOT / "docs" / "limits_files.md").read_text(), "```shell-session")


def test_the_page_shows_limits() -> None:
    assert [step.command.split()[3] for step in STEPS] == ["show", "check", "convert"]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.command.split()[3])
def test_what_it_shows_is_printed(step: Step, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "docs" / "examples", folder)
    command = step.command.removeprefix("$ ").split()
    environment = {**os.environ, "COLUMNS": "120", "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "armbroker", *command[1:]]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == step.printed
