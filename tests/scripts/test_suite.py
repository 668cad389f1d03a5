import subprocess
import sys

from tests.mosquitto import ROOT


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/suite"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_one_command_prints_the_table() -> None:
    done = run("simulated")
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[0]) == (0, "| behaviour | simulated |"), done.stdout + done.stderr
    assert "| connect | pass |" in lines
    assert all(line.endswith("| pass |") for line in lines[2:])


def test_an_unknown_adapter_is_named() -> None:
    done = run("gripper")
    assert done.returncode == 2
    assert "unknown: gripper; known: simulated" in done.stderr
