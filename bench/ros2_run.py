#!/usr/bin/env python3
"""The recorded run of docs/adapter_ros2.md: the service, its command line, and an arm that is a real ROS 2 node.

Starts a Mosquitto, a node of ours and `armbroker run`; sets a parameter with `armbroker call`, lets the node change it
by itself, and prints commands, what they print, what the node holds, and the memory of the worker process. Needs a
Python with rclpy: `make test` makes .venv-ros.

    bench/ros2_run.py [--ros-python .venv-ros/bin/python] [--domain 86]
"""

import argparse
import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from devices.ros2.node_process import NodeProcess, write_parameters
from devices.ros2.rig import LIMITS, NODE, SPEED

ARM = "r12"
FLEET = """\
mqtt.url = "{url}"
store.dir = "{data}"

[clients."*"]

[[arm]]
id = "r12"
adapter = "ros2"
authority = "control"

[arm.options]
node = "/arm/driver"
python = "{python}"
domain = {domain}
"""
PATIENCE_S = 30.0


@contextlib.contextmanager
def running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A child process for the time of the block."""
    with log.open("wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield child
    finally:
        child.terminate()
        child.wait(20)


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Terminal:
    """Runs `armbroker` and shows it as a reader would type it."""

    def __init__(self, url: str) -> None:
        self.url = url

    def command(self, *words: str) -> list[str]:
        """The words as they are started."""
        return [sys.executable, "-m", "armbroker", *words, "--mqtt", self.url]

    def show(self, *words: str) -> None:
        """Run and print."""
        print("$ armbroker", " ".join(word if word.isalnum() else f"'{word}'" for word in words))
        print(subprocess.run(self.command(*words), capture_output=True, text=True, check=False).stdout, end="")

    def until_ready(self) -> None:
        """Wait until the arm can be read."""
        until = time.monotonic() + PATIENCE_S
        command = self.command("call", ARM, "GetJointParameters")
        while subprocess.run(command, capture_output=True, check=False).returncode:
            if time.monotonic() > until:
                sys.exit("the arm does not come online")
            time.sleep(0.5)


def until_watched(log: Path, *texts: str) -> str:
    """The first line of what is watched that has all of these texts in it."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        for line in log.read_text().splitlines():
            if all(text in line for text in texts):
                return line
        time.sleep(0.05)
    sys.exit(f"nothing was told with {texts}")


def memory_of_worker() -> str:
    """Resident and proportional memory of the worker process."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"devices/ros2/worker.py" in (folder / "cmdline").read_bytes():
                numbers = dict(
                    line.split(":", 1) for line in (folder / "smaps_rollup").read_text().splitlines()[1:] if ":" in line
                )
                resident, shared = (int(numbers[name].split()[0]) / 1024 for name in ("Rss", "Pss"))
                return f"{resident:.0f} MiB resident, {shared:.0f} MiB with shared pages divided among their users"
    sys.exit("no worker process runs")


class Node:
    """The node, told what to do from code that does not wait."""

    def __init__(self, runner: asyncio.Runner, python: Path, domain: int, file: Path) -> None:
        self._runner = runner
        self._process = runner.run(NodeProcess.start(str(python), NODE, domain, file))

    def speed(self) -> float:
        """What it holds."""
        held: float = self._runner.run(self._process.holds(SPEED))
        return held

    def set_speed(self, value: float) -> None:
        """Let it change it by itself."""
        self._runner.run(self._process.tell(set={SPEED: value}))

    def kill(self) -> None:
        """End it."""
        self._runner.run(self._process.kill())


def play(terminal: Terminal, node: Node, watched: Path) -> None:
    """The run."""
    print(f"# the node holds {SPEED} = {node.speed()}")
    terminal.show("call", ARM, "SetJointParameters", json.dumps({"parameters": {SPEED: 1.0}}))
    print(f"# the node holds {SPEED} = {node.speed()}")
    until_watched(watched, '"cause": "applied"')
    node.set_speed(0.5)
    began = time.monotonic()
    print(f"# the node sets {SPEED} = {node.speed()} by itself; armbroker watch {ARM} --json tells")
    event = json.loads(until_watched(watched, '"cause": "foreign"'))["event"]
    seconds = time.monotonic() - began
    shown = {name: event[name] for name in ("event", "cause", "by", "rev", "seq")}
    shown["change"] = {end: {SPEED: event["change"][end]["parameters"][SPEED]} for end in ("before", "after")}
    print(json.dumps(shown))
    wanted = ('"name": "config"', f'"rev": {event["rev"]},', '"differs": ["joint_parameters"]')
    config = json.loads(until_watched(watched, *wanted))["document"]
    print(json.dumps({"document": "config", "rev": config["rev"], "differs": config["differs"]}))
    terminal.show("call", ARM, "Explain", json.dumps({"quantity": "velocity", "joint": "joint_1"}))
    print(f"# the event came {seconds * 1000:.0f} ms after the change; memory of the worker: {memory_of_worker()}")


def main() -> None:
    """Start everything, play, end everything."""
    parser = argparse.ArgumentParser(description="Record the run of docs/adapter_ros2.md.")
    parser.add_argument("--ros-python", default=".venv-ros/bin/python")
    parser.add_argument("--domain", type=int, default=86)
    arguments = parser.parse_args()
    python = Path(arguments.ros_python).absolute()
    mosquitto = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
    if not python.is_file() or not Path(mosquitto).is_file():
        print(f"not run: {python} or {mosquitto} is missing; make test sets ROS up, apt install mosquitto the server")
        return
    with tempfile.TemporaryDirectory() as name, asyncio.Runner() as runner, contextlib.ExitStack() as stack:
        folder, port = Path(name), free_port()
        terminal = Terminal(f"mqtt://127.0.0.1:{port}")
        (folder / "mosquitto.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
        (folder / "fleet.toml").write_text(
            FLEET.format(url=terminal.url, data=folder / "data", python=python, domain=arguments.domain)
        )
        write_parameters(folder / "limits.yaml", NODE, LIMITS)
        stack.enter_context(running([mosquitto, "-c", str(folder / "mosquitto.conf")], folder / "mosquitto.log"))
        node = Node(runner, python, arguments.domain, folder / "limits.yaml")
        stack.callback(node.kill)
        command = [sys.executable, "-m", "armbroker", "run", "--config", str(folder / "fleet.toml")]
        stack.enter_context(running(command, folder / "service.log"))
        terminal.until_ready()
        stack.enter_context(running(terminal.command("watch", ARM, "--json"), folder / "watched.log"))
        until_watched(folder / "watched.log", '"presence"')
        play(terminal, node, folder / "watched.log")


if __name__ == "__main__":
    main()
