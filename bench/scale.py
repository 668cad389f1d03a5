#!/usr/bin/env python3
"""How does the service do with many arms?

For each number of arms: a Mosquitto with the shipped bounds, one service with simulated arms, and a client that changes
a limit now and then. Measures
- first start: from the start of the process until the MQTT server has every document of every arm
- restart: the same after a SIGTERM, with everything retained and right; how many documents were sent again
- RSS, the highest of each start; CPU seconds of the service until then
- CPU of the service while nothing happens, in percent of one core
- a change of a limit: median and p99, during each start and while nothing else happens

    bench/scale.py --arms 1000,5000,10000 [--idle 20]
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import aiomqtt

from armbroker.client import ArmClient

PATIENCE_S = 900.0
DOCUMENTS = 6
MODE = "CARTESIAN_JOYSTICK"
LIMIT = "twist_linear_soft_limit"
PAUSE_S = 0.1
QUIET = 150
TICKS = os.sysconf("SC_CLK_TCK")


class Figures(NamedTuple):
    """What one start gave."""

    seconds: float
    cpu_s: float
    sent: int
    memory_mb: float
    latencies: list[float]


class Service:
    """One service and its log."""

    def __init__(self, port: int, place: Path, arms: int) -> None:
        self._command = [
            sys.executable, "-m", "armbroker", "run",
            "--mqtt", f"mqtt://127.0.0.1:{port}", "--data", str(place / "data"),
            "--sim", str(arms), "--sim-latency", "0",
        ]  # fmt: skip
        self._place = place
        self._starts = 0
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        """What the present start has logged."""
        return (self._place / f"service{self._starts}.log").read_text(errors="replace")

    def start(self) -> None:
        """Start it; does not wait."""
        self._starts += 1
        with (self._place / f"service{self._starts}.log").open("wb") as out:
            self.process = subprocess.Popen(self._command, stdout=out, stderr=out)

    def stop(self) -> float:
        """End it; seconds that took."""
        began = time.perf_counter()
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE_S)
        return time.perf_counter() - began

    def status(self, name: str) -> float:
        """A field of /proc/<pid>/status, in MB."""
        if self.process is None:
            raise RuntimeError("it does not run")
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.partition(f"{name}:")[2].split()[0]) / 1024

    def cpu_s(self) -> float:
        """CPU seconds it has used."""
        if self.process is None:
            raise RuntimeError("it does not run")
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


async def change(client: ArmClient, number: int) -> float:
    """Change a limit of one of a hundred arms; seconds until it is answered: applied, or stored after 10 s."""
    began = time.perf_counter()
    params = {"control_mode": MODE, LIMIT: 0.1 + number % 300 / 1000}
    reply = await client.call(f"sim-{number % 100:04d}", "SetTwistLinearSoftLimit", params, timeout=PATIENCE_S)
    if not reply["ok"]:
        raise RuntimeError(f"refused: {reply}")
    return time.perf_counter() - began


async def change_until(client: ArmClient, done: asyncio.Event, first: int) -> list[float]:
    """Change limits one after the other until something is done; seconds of each."""
    found: list[float] = []
    while not done.is_set():
        with contextlib.suppress(TimeoutError):
            found.append(await change(client, first + len(found)))
        await asyncio.sleep(PAUSE_S)
    return found


async def compared(service: Service) -> int:
    """Wait until the service has every document right at the MQTT server; how many it sent."""
    async with asyncio.timeout(PATIENCE_S):
        while (found := re.search(r'"sent":\s*(\d+)[^\n]*documents_compared|documents_compared[^\n]*"sent":\s*(\d+)',
                                  service.log)) is None:  # fmt: skip
            if service.process is None or service.process.poll() is not None:
                raise RuntimeError(service.log[-2000:])
            await asyncio.sleep(0.2)
    return int(found[1] or found[2])


async def online(port: int) -> None:
    """Wait until the service takes requests."""
    async with aiomqtt.Client("127.0.0.1", port) as client:
        await client.subscribe("armbroker/v1/svc/+", 1)
        async for message in client.messages:
            if not message.retain and json.loads(message.payload)["state"] == "online":
                return


async def measure_start(service: Service, port: int, first: int) -> Figures:
    """Start it, and change limits until every document is right."""
    done, ready = asyncio.Event(), asyncio.create_task(online(port))
    await asyncio.sleep(0.5)
    began = time.perf_counter()
    service.start()
    await ready
    async with ArmClient(f"mqtt://127.0.0.1:{port}", user="bench", conn="bench") as client:
        await change(client, first + 49_999)
        changing = asyncio.create_task(change_until(client, done, first))
        sent = await compared(service)
        seconds, cpu_s = time.perf_counter() - began, service.cpu_s()
        done.set()
        latencies = await changing
    return Figures(seconds, cpu_s, sent, service.status("VmHWM"), latencies)


async def retained(port: int, expected: int) -> int:
    """How many documents of arms the MQTT server has."""
    seen: set[str] = set()
    async with aiomqtt.Client("127.0.0.1", port) as client:
        await client.subscribe([("armbroker/v1/state/+/+", 0), ("armbroker/v1/meta/factsheet/+", 0)])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(60.0):
                async for message in client.messages:
                    if "/@" not in message.topic.value:  # of a group
                        seen.add(message.topic.value)
                    if len(seen) == expected:
                        break
    return len(seen)


def p99(seconds: list[float]) -> float:
    """In ms."""
    return 1000 * sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * 0.99))] if seconds else float("nan")


def median(seconds: list[float]) -> float:
    """In ms."""
    return 1000 * statistics.median(seconds) if seconds else float("nan")


async def measure(service: Service, port: int, arms: int, idle_s: float) -> None:
    """Print all figures of one number of arms."""
    for name, first in (("first start", 0), ("restart", 50_000)):
        found = await measure_start(service, port, first)
        have = await retained(port, DOCUMENTS * arms)
        print(
            f"{arms:6} arms  {name:11} {found.seconds:6.1f} s ({found.cpu_s:.1f} s CPU of the service), "
            f"{found.sent} sent, {have} of {DOCUMENTS * arms} there, "
            f"RSS {found.memory_mb:.0f} MB, changes meanwhile: median {median(found.latencies):.1f} ms, "
            f"p99 {p99(found.latencies):.1f} ms (n {len(found.latencies)})",
            flush=True,
        )
        await asyncio.sleep(5.0)
        cpu = service.cpu_s()
        await asyncio.sleep(idle_s)
        used = 100 * (service.cpu_s() - cpu) / idle_s
        async with ArmClient(f"mqtt://127.0.0.1:{port}", user="bench", conn="bench") as client:
            quiet = []
            for number in range(QUIET):
                quiet.append(await change(client, first + 20_000 + number))
                await asyncio.sleep(PAUSE_S / 4)
        print(
            f"{arms:6} arms  quiet       idle CPU {used:.1f} %, RSS {service.status('VmRSS'):.0f} MB, a change: "
            f"median {median(quiet):.1f} ms, p99 {p99(quiet):.1f} ms (n {QUIET}); p99 meanwhile / quiet "
            f"{p99(found.latencies) / p99(quiet):.1f}",
            flush=True,
        )
        print(f"{arms:6} arms  SIGTERM     {service.stop():.1f} s", flush=True)


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(place: Path, mosquitto: str, arms: int, idle_s: float) -> None:
    """Start the parts, measure, stop them."""
    port = free_port()
    conf = place / "mosquitto.conf"
    conf.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nmax_inflight_messages 100\n"
        "max_queued_messages 100000\nmax_packet_size 70000\nlog_type error\n"
    )
    server = subprocess.Popen([mosquitto, "-c", str(conf)], stderr=subprocess.DEVNULL)
    service = Service(port, place, arms)
    try:
        time.sleep(0.5)
        asyncio.run(measure(service, port, arms, idle_s))
    finally:
        for process in (service.process, server):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait(20)


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", default="1000,5000,10000")
    parser.add_argument("--idle", type=float, default=20.0, help="seconds in which idle CPU is measured")
    args = parser.parse_args()
    mosquitto = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if mosquitto is None:
        print("mosquitto is not installed: apt install mosquitto", file=sys.stderr)
        return 2
    for arms in map(int, args.arms.split(",")):
        with tempfile.TemporaryDirectory() as place:
            run(Path(place), mosquitto, arms, args.idle)
    return 0


if __name__ == "__main__":
    sys.exit(main())
