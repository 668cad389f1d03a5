#!/usr/bin/env python3
"""One of 100 arms hangs under load: how much later do the others answer?

Starts a Mosquitto with `max_inflight_messages 20` and the service with 100 simulated arms at latency 0. Sends changes
to 99 arms at a steady rate in short windows; in every second window one more arm hangs, with its own changes arriving
all the time. Prints p50 and p99 of the others for both kinds of window, and their ratio. The windows alternate, so that
a machine that gets slower or faster meanwhile does not decide the result.

    bench/isolation.py [--rate 200] [--windows 6] [--seconds 5]
"""

import argparse
import asyncio
import contextlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterator
from pathlib import Path

from armbroker.client import ArmClient
from armbroker.client.errors import ClientError

ARMS = 100
HUNG = f"sim-{ARMS - 1:04d}"
HANG_RATE = 4.0


@contextlib.contextmanager
def running(command: list[str], log: Path) -> Iterator[None]:
    """A child process for the time of the block."""
    with log.open("wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        yield
    finally:
        child.terminate()
        child.wait(20)


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def one(client: ArmClient, arm: str, speed: float, times: list[float]) -> None:
    """One change, timed."""
    params = {"control_mode": "ANGULAR_TRAJECTORY", "joint_speed_soft_limits": [speed] * 7}
    begin = time.perf_counter()
    await client.call(arm, "SetJointSpeedSoftLimits", params, timeout=30.0)
    times.append((time.perf_counter() - begin) * 1e3)


async def bother(client: ArmClient, tasks: asyncio.TaskGroup) -> None:
    """Changes for the hanging arm; nobody waits for their end."""
    while True:
        params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.1 + random.random() * 0.3}
        tasks.create_task(ignore(client.call(HUNG, "SetTwistLinearSoftLimit", params, timeout=60.0, wait="stored")))
        await asyncio.sleep(1 / HANG_RATE)


async def ignore(call: Awaitable[object]) -> None:
    """Wait for a call whose refusal is as good as any other end."""
    with contextlib.suppress(ClientError):
        await call


async def window(client: ArmClient, rate: float, seconds: float) -> list[float]:
    """Open loop: `rate` changes a second over the arms that do not hang; the latencies in ms."""
    times: list[float] = []
    loop = asyncio.get_running_loop()
    start = loop.time()
    async with asyncio.TaskGroup() as tasks:
        for number in range(int(rate * seconds)):
            due = start + number / rate
            await asyncio.sleep(max(0.0, due - loop.time()))
            arm = f"sim-{number % (ARMS - 1):04d}"
            tasks.create_task(one(client, arm, 10.0 + random.random() * 50, times))
    return times


async def measure(port: int, rate: float, windows: int, seconds: float) -> int:
    """All windows; 1 when the ratio of the p99 is above 1.2."""
    url = f"mqtt://127.0.0.1:{port}"
    async with (
        ArmClient(url, user="bench", conn="bench-load") as client,
        ArmClient(url, user="bench", conn="bench-x") as other,
    ):
        await window(client, rate, 1.0)
        quiet: list[list[float]] = []
        hung: list[list[float]] = []
        for number in range(windows):
            if number % 2 == 0:
                quiet.append(await window(client, rate, seconds))
                continue
            await other.call(HUNG, "SimFault", {"fault": "hang"}, timeout=10.0)
            async with asyncio.TaskGroup() as tasks:
                bothering = tasks.create_task(bother(other, tasks))
                hung.append(await window(client, rate, seconds))
                bothering.cancel()
                await other.call(HUNG, "SimFault", {"fault": "none"}, timeout=10.0)

    def p(values: list[float], share: float) -> float:
        return sorted(values)[int(share * (len(values) - 1))]

    for name, rows in (("all arms answer", quiet), ("one arm hangs", hung)):
        middle, high = (statistics.median(p(row, share) for row in rows) for share in (0.5, 0.99))
        print(f"{name:16} p50 {middle:6.2f} ms   p99 {high:6.2f} ms   ({sum(map(len, rows))} changes)")
    ratio = statistics.median(p(h, 0.99) / p(q, 0.99) for q, h in zip(quiet, hung, strict=False))
    print(f"p99 ratio, window by window: median {ratio:.2f}")
    return 0 if ratio <= 1.2 else 1


def main() -> int:
    """Start the parts, measure, stop them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200.0, help="changes a second")
    parser.add_argument("--windows", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of a window")
    args = parser.parse_args()
    mosquitto = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if mosquitto is None:
        print("mosquitto is not installed: apt install mosquitto", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as place:
        directory, port = Path(place), free_port()
        conf = directory / "mosquitto.conf"
        conf.write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nmax_inflight_messages 20\n"
            "max_queued_messages 100000\nlog_type error\n"
        )
        service = [sys.executable, "-m", "armbroker", "run", "--mqtt", f"mqtt://127.0.0.1:{port}", "--data",
                   str(directory / "data"), "--sim", str(ARMS), "--sim-latency", "0", "--sim-faults"]  # fmt: skip
        with running([mosquitto, "-c", str(conf)], directory / "mosquitto.log"):
            time.sleep(0.5)
            with running(service, directory / "service.log"):
                return asyncio.run(measure(port, args.rate, args.windows, args.seconds))


if __name__ == "__main__":
    sys.exit(main())
