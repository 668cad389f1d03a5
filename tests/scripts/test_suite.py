import os
import subprocess
import sys

from tests.mosquitto import ROOT


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/suite"), *arguments]
    known = {name: value for name, value in os.environ.items() if name != "CI"} | environment
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=known)


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


def test_an_adapter_that_cannot_be_run_is_no_success() -> None:
    done = run("ros2", ARMBROKER_ROS_PYTHON="")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ros2 was not run: no Python with rclpy" in done.stderr
