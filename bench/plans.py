#!/usr/bin/env python3
"""A plan of 1,000 arms is at work: how much later are single requests answered?

Starts a Mosquitto and the service with 1,100 simulated arms at latency 0. Sends changes to 100 arms at a steady rate
in short windows; in every second window one plan after the other changes the 1,000 others. Prints p50 and p99 of the
single changes for both kinds of window, and their ratio. The windows alternate, so that a machine that gets slower or
faster meanwhile does not decide the result. Then plans tighten a limit of the 1,000 arms, one straight after the other,
beside the same single changes: prints how long each takes until every arm has it. Exit code 1 if the ratio of the p99
is above 1.5, or a tightening takes more than 10 s.

    PYTHONPATH=. bench/plans.py [--rate 60] [--windows 6] [--seconds 12] [--tightenings 5]
"""

import argparse
import asyncio
import contextlib
import itertools
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from armbroker.client import ArmClient
from bench.isolation import free_port, one, running

ARMS, SINGLES = 1_000, 100
RATIO, TIGHTENED_S = 1.5, 10.0
LOOK_S, LOOK_CLOSER_S = 0.25, 0.05
START_S = 90.0


async def window(client: ArmClient, rate: float, seconds: float) -> list[float]:
    """Open loop: `rate` changes a second over the arms of no plan; the latencies in ms."""
    times: list[float] = []
    loop = asyncio.get_running_loop()
    start = loop.time()
    async with asyncio.TaskGroup() as tasks:
        for number in range(int(rate * seconds)):
            due = start + number / rate
            await asyncio.sleep(max(0.0, due - loop.time()))
            arm = f"sim-{ARMS + number % SINGLES:04d}"
            tasks.create_task(one(client, arm, 10.0 + random.random() * 50, times))
    return times


async def plans(client: ArmClient, begun: list[int]) -> None:
    """One plan after the other for 1,000 arms, without a pause."""
    for number in itertools.count():
        await plan(client, 0.1 + number % 30 / 100, LOOK_S)
        begun.append(ARMS)


async def plan(client: ArmClient, limit: float, look_s: float) -> float:
    """Set a limit of 1,000 arms; seconds until every row has its end. Raises RuntimeError if an arm has it not then."""
    only = [f"sim-{number:04d}" for number in range(ARMS)]
    params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": limit}
    began = time.perf_counter()
    reply = await client.call(
        "@all", "SetTwistLinearSoftLimit", params, timeout=30.0, wait="stored", group={"only": only}
    )
    while True:
        asked = {"plan": reply["plan"], "limit": 1}
        found = (await client.call("@all", "GetPlan", asked, timeout=30.0))["result"]
        if found["state"] == "ended":
            if found["counts"] not in ({"total": ARMS, "applied": ARMS}, {"total": ARMS, "unchanged": ARMS}):
                raise RuntimeError(f"not all arms have it: {found['counts']}")
            return time.perf_counter() - began
        await asyncio.sleep(look_s)


async def tighten(client: ArmClient, other: ArmClient, rate: float, times: int) -> list[float]:
    """One tightening of 1,000 arms straight after the other, beside single changes; seconds of each."""
    if times:
        await plan(other, 0.45, LOOK_S)
    singles = asyncio.create_task(window(client, rate, 3_600.0))
    try:
        await asyncio.sleep(2.0)
        return [await plan(other, 0.4 - 0.3 * number / times, LOOK_CLOSER_S) for number in range(times)]
    finally:
        singles.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await singles


async def ready(client: ArmClient) -> None:
    """Wait until every arm is there."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        found = await client.call("@all", "FindArms", {"where": {"ready": True}, "limit": 1}, timeout=60.0)
        if found["result"]["count"] == ARMS + SINGLES:
            return
        await asyncio.sleep(1.0)
    raise TimeoutError("the arms did not come")


async def measure(port: int, rate: float, windows: int, seconds: float, tightenings: int) -> int:
    """All windows, then the tightenings; 1 when a bound is broken."""
    url = f"mqtt://127.0.0.1:{port}"
    quiet: list[list[float]] = []
    busy: list[list[float]] = []
    begun: list[int] = []
    async with (
        ArmClient(url, user="bench", conn="bench-load") as client,
        ArmClient(url, user="plans", conn="bench-plans") as other,
    ):
        await ready(client)
        await window(client, rate, 1.0)
        for number in range(windows):
            if number % 2 == 0:
                quiet.append(await window(client, rate, seconds))
                continue
            working = asyncio.create_task(plans(other, begun))
            busy.append(await window(client, rate, seconds))
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working
            await asyncio.sleep(ARMS / 100 + 2.0)
        tightened = await tighten(client, other, rate, tightenings)

    def p(values: list[float], share: float) -> float:
        return sorted(values)[int(share * (len(values) - 1))]

    for name, rows in (("no plan", quiet), ("plans of 1,000", busy)):
        middle, high = (statistics.median(p(row, share) for row in rows) for share in (0.5, 0.99))
        print(f"{name:16} p50 {middle:6.2f} ms   p99 {high:6.2f} ms   ({sum(map(len, rows))} changes)")
    ratio = statistics.median(p(b, 0.99) / p(q, 0.99) for q, b in zip(quiet, busy, strict=False))
    print(f"p99 ratio, window by window: median {ratio:.2f}; plans that ended meanwhile: {len(begun)}")
    print("seconds until 1,000 arms have a tighter limit:", ", ".join(f"{took_s:.2f}" for took_s in tightened))
    return int(ratio > RATIO or max(tightened, default=0.0) > TIGHTENED_S)


def main() -> int:
    """Start the parts, measure, stop them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=60.0, help="changes a second")
    parser.add_argument("--windows", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=12.0, help="length of a window")
    parser.add_argument("--tightenings", type=int, default=5)
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
                   str(directory / "data"), "--sim", str(ARMS + SINGLES), "--sim-latency", "0"]  # fmt: skip
        with running([mosquitto, "-c", str(conf)], directory / "mosquitto.log"):
            time.sleep(0.5)
            with running(service, directory / "service.log"):
                return asyncio.run(measure(port, args.rate, args.windows, args.seconds, args.tightenings))


if __name__ == "__main__":
    sys.exit(main())
