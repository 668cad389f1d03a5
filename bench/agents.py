#!/usr/bin/env python3
"""Many arms that speak MQTT on one machine: how soon are they there, told, missed, and heard?

Starts a Mosquitto, the service, and agents in a few processes, all at the same moment, and measures at the Mosquitto:
- online: from the start of the processes until an arm's presence is online and ready and its configuration adopted
- tightening: from sending a tighter limit to all arms at once until each is answered `applied`, read back from the arm
- gone: from the SIGKILL of an agent process until each of its arms is shown offline
- back: from the start of that process until each is shown online again (no bound)
- foreign: from telling an agent that another writer changes a limit until the event is there, one arm after the other

Prints median, worst and number of each, and memory; exit code 1 when a bound is missed.

    bench/agents.py [--arms 200] [--processes 4]
"""

import argparse
import asyncio
import contextlib
import json
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiomqtt

from armbroker.client import ArmClient

BOUNDS_S = {"online": 10.0, "tightening": 5.0, "gone": 3.0, "back": float("inf"), "foreign": 1.5}
PATIENCE_S = 60.0
LIMIT = "twist_linear_soft_limit"
MODE = "CARTESIAN_JOYSTICK"
BASE = "armbroker/v1"
Seen = Callable[[str, dict[str, Any]], bool]


class Agents:
    """One process of agents."""

    def __init__(self, port: int, place: Path, prefix: str, count: int) -> None:
        self.arms = [f"{prefix}{number:04d}" for number in range(count)]
        self._command = [
            sys.executable, "-m", "armbroker", "agent", "--mqtt", f"mqtt://127.0.0.1:{port}", "--arms", str(count),
            "--prefix", prefix, "--data", str(place / prefix), "--faults",
        ]  # fmt: skip
        self._log = (place / f"{prefix}.log").open("ab")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; does not wait."""
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=self._log)

    def change(self, arm: str, value: float) -> None:
        """Let another writer change an arm."""
        line = {"arm": arm, "fault": "foreign_change", "item": LIMIT, "slot": MODE, "value": value}
        if self.process is None or self.process.stdin is None:
            raise RuntimeError("it does not run")
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def end(self, number: signal.Signals) -> None:
        """End it."""
        process, self.process = self.process, None
        if process is None:
            return
        process.send_signal(number)
        process.wait(20)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def close(self) -> None:
        """End it for good."""
        self.end(signal.SIGKILL)
        self._log.close()


class Monitor:
    """What the MQTT server shows of the arms, as it comes."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._seen: Seen = lambda _topic, _document: False
        self._missing: set[str] = set()
        self._at: dict[str, float] = {}
        self._all = asyncio.Event()

    async def run(self, ready: asyncio.Event) -> None:
        """Watch for ever."""
        async with aiomqtt.Client("127.0.0.1", self._port, identifier="bench-monitor") as client:
            await client.subscribe([(f"{BASE}/state/+/{name}", 1) for name in ("presence", "config")])
            await client.subscribe(f"{BASE}/evt/#", 1)
            ready.set()
            async for message in client.messages:
                arm = message.topic.value.split("/")[3]
                if arm in self._missing and self._seen(message.topic.value, json.loads(message.payload)):
                    self._missing.discard(arm)
                    self._at[arm] = time.perf_counter()
                    if not self._missing:
                        self._all.set()

    def expect(self, arms: list[str], seen: Seen) -> None:
        """Wait for something of each of these arms from now on."""
        self._seen, self._missing, self._at = seen, set(arms), {}
        self._all.clear()

    async def times(self, begins: dict[str, float]) -> list[float]:
        """Seconds until it was seen of each arm; infinite where it was not in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await self._all.wait()
        return [self._at.get(arm, float("inf")) - begin for arm, begin in begins.items()]


def online_and_adopted() -> Seen:
    """True once both the presence and the configuration of an arm are as wanted."""
    there: set[str] = set()
    adopted: set[str] = set()

    def seen(topic: str, document: dict[str, Any]) -> bool:
        arm = document["arm"]
        if topic.endswith("/config") and document["rev"] >= 1:
            adopted.add(arm)
        if topic.endswith("/presence") and document["state"] == "online" and document["ready"]:
            there.add(arm)
        return arm in there and arm in adopted

    return seen


def shown(state: str) -> Seen:
    """True when an arm's presence is as wanted."""
    return lambda topic, document: topic.endswith("/presence") and document["state"] == state


async def tighten(client: ArmClient, arms: list[str]) -> list[float]:
    """Send a tighter limit to all arms at once; seconds until each has it."""
    begin = time.perf_counter()

    async def one(arm: str) -> float:
        reply = await client.call(
            arm, "SetTwistLinearSoftLimit", {"control_mode": MODE, LIMIT: 0.2}, timeout=PATIENCE_S
        )
        return time.perf_counter() - begin if reply["stage"] == "applied" else float("inf")

    return list(await asyncio.gather(*map(one, arms)))


async def be_changed(monitor: Monitor, groups: list[Agents]) -> list[float]:
    """Let another writer change every arm, one after the other; seconds until each event."""
    begins: dict[str, float] = {}
    monitor.expect(
        [arm for group in groups for arm in group.arms],
        lambda topic, document: "/evt/" in topic and document["cause"] == "foreign",
    )
    for group in groups:
        for arm in group.arms:
            begins[arm] = time.perf_counter()
            group.change(arm, 0.3)
            await asyncio.sleep(0.02)
    return await monitor.times(begins)


async def measure(port: int, groups: list[Agents], start_service: Callable[[], None]) -> dict[str, list[float]]:
    """All figures, in seconds, one an arm."""
    arms = [arm for group in groups for arm in group.arms]
    monitor, watching, found = Monitor(port), asyncio.Event(), {}
    task = asyncio.create_task(monitor.run(watching))
    await watching.wait()
    monitor.expect(arms, online_and_adopted())
    begin = time.perf_counter()
    start_service()
    for group in groups:
        group.start()
    found["online"] = await monitor.times(dict.fromkeys(arms, begin))
    async with ArmClient(f"mqtt://127.0.0.1:{port}", user="bench", conn="bench") as client:
        found["tightening"] = await tighten(client, arms)
    killed = groups[0]
    monitor.expect(killed.arms, shown("offline"))
    begin = time.perf_counter()
    killed.end(signal.SIGKILL)
    found["gone"] = await monitor.times(dict.fromkeys(killed.arms, begin))
    monitor.expect(killed.arms, shown("online"))
    begin = time.perf_counter()
    killed.start()
    found["back"] = await monitor.times(dict.fromkeys(killed.arms, begin))
    found["foreign"] = await be_changed(monitor, groups)
    task.cancel()
    return found


def memory_mb(process: subprocess.Popen[bytes]) -> float:
    """The most memory that a process had, in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


@contextlib.contextmanager
def running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A child process for the time of the block."""
    with log.open("wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out)
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


def write_settings(place: Path, port: int, groups: list[Agents]) -> list[str]:
    """The command of the service, its settings written."""
    arms = "".join(
        f'[[arm]]\nid = "{arm}"\nadapter = "mqtt_agent"\nauthority = "control"\n'
        for group in groups
        for arm in group.arms
    )
    settings = place / "fleet.toml"
    settings.write_text(
        f'[mqtt]\nurl = "mqtt://127.0.0.1:{port}"\n[store]\ndir = "{place}/data"\n[clients."*"]\n{arms}'
    )
    return [sys.executable, "-m", "armbroker", "run", "--config", str(settings), "--log-level", "warning"]


def show(found: dict[str, list[float]], slack: float) -> int:
    """Print the figures; 1 when a bound is missed."""
    missed = 0
    for name, times in found.items():
        bound, worst = BOUNDS_S[name] * slack, max(times)
        missed |= worst > bound
        within = f"bound {bound:g} s{'' if worst <= bound else '  MISSED'}" if bound < float("inf") else ""
        print(
            f"{name:11} median {statistics.median(times):6.3f} s   worst {worst:6.3f} s   n {len(times):4}   {within}"
        )
    return missed


def run(place: Path, mosquitto: str, arms: int, processes: int, slack: float) -> int:
    """Start the parts, measure, stop them."""
    port = free_port()
    groups = [Agents(port, place, f"a{number}-", arms // processes) for number in range(processes)]
    conf = place / "mosquitto.conf"
    conf.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
        "max_queued_messages 100000\nlog_type error\n"
    )
    command = write_settings(place, port, groups)
    with running([mosquitto, "-c", str(conf)], place / "mosquitto.log"), contextlib.ExitStack() as stack:
        time.sleep(0.5)
        for group in groups:
            stack.callback(group.close)
        service: list[subprocess.Popen[bytes]] = []
        found = asyncio.run(
            measure(port, groups, lambda: service.append(stack.enter_context(running(command, place / "service.log"))))
        )
        missed = show(found, slack)
        most = max(memory_mb(group.process) for group in groups if group.process is not None)
        print(f"memory      service {memory_mb(service[0]):.0f} MB, agents {most:.0f} MB for {arms // processes} arms")
    return missed


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=200)
    parser.add_argument("--processes", type=int, default=4, help="of agents")
    parser.add_argument("--slack", type=float, default=1.0, help="what bounds are multiplied with, on a busy machine")
    args = parser.parse_args()
    mosquitto = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if mosquitto is None:
        print("mosquitto is not installed: apt install mosquitto", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as place:
        return run(Path(place), mosquitto, args.arms, args.processes, args.slack)


if __name__ == "__main__":
    sys.exit(main())
