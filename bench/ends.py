#!/usr/bin/env python3
"""A thousand overrides end at the same moment: what do other requests notice of it, and how late is the last end?

One service with simulated arms in this process, on a thread and an event loop of its own, and a client that changes
limits of other arms. Each round gives every arm an override that tightens or loosens (by turns) until the same moment.
Prints the time of a change in a quiet time and while they end, the ratio, and when the first and the last arm was led
back. Exit code 1 when p99 is more than 3 times the quiet one, or the last end took more than 5 s.

    PYTHONPATH=. bench/ends.py [--arms 1000] [--rounds 3]
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiomqtt

from armbroker.client import ArmClient
from bench.ticker import Ticker
from broker.garbage import ShortCollections
from tests.journey.running import RunningService, settings_of
from tests.mosquitto import Mosquitto

MODE, LIMIT = "CARTESIAN_JOYSTICK", "twist_linear_soft_limit"
METHOD = "SetTwistLinearSoftLimit"
GROUND, GIVEN = 0.3, (0.2, 0.4)
OTHERS = 50
"""Arms that the other client changes, and whose overrides none are."""
QUIET_S, PAUSE_S, AHEAD_S, MOST_S = 5.0, 0.01, 25.0, 5.0
AT_ONCE = 50
MOST_TIMES = 3.0
CLOSE = 1e-3
PATIENCE_S = 120.0


def params(limit: float) -> dict[str, Any]:
    """Those of a change."""
    return {"control_mode": MODE, LIMIT: limit}


async def until_read(client: ArmClient, arms: list[str]) -> None:
    """Wait until the service knows what all arms have."""
    where = {"where": {"value": [{"path": f"{LIMIT}/{MODE}", "op": ">", "than": 0}]}, "limit": 1}
    async with asyncio.timeout(PATIENCE_S):
        while True:
            reply = await client.call("@all", "FindArms", where, timeout=PATIENCE_S)
            if reply["result"]["count"] == len(arms):
                return
            await asyncio.sleep(0.5)


async def for_all(client: ArmClient, arms: list[str], limits: tuple[float, ...], until: str = "") -> None:
    """Change all arms, some of them at once."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, arm: str) -> None:
        async with turns:
            limit = params(limits[number % len(limits)])
            await client.call(arm, METHOD, limit, timeout=PATIENCE_S, **({"until": until} if until else {}))  # type: ignore[arg-type]

    await asyncio.gather(*(one(number, arm) for number, arm in enumerate(arms)))


async def changes(client: ArmClient, others: list[str], until_s: float) -> list[float]:
    """Change other arms until a time of the clock; how long each took, ms."""
    took: list[float] = []
    while time.time() < until_s:
        began = time.perf_counter()
        arm = others[len(took) % len(others)]
        await client.call(arm, METHOD, params(0.1 + len(took) % 300 / 1000), timeout=60.0)
        took.append(1000 * (time.perf_counter() - began))
        await asyncio.sleep(PAUSE_S)
    return took


def p99(took: list[float]) -> float:
    """The slowest of a hundred."""
    return sorted(took)[min(len(took) - 1, int(len(took) * 0.99))]


async def hear(port: int, arms: set[str], end_s: float, back: list[float]) -> None:
    """Note how long after the end each arm was led back."""
    async with aiomqtt.Client("127.0.0.1", port) as client:
        await client.subscribe("bench/v1/evt/+/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED")
        async for message in client.messages:
            arm = str(message.topic).split("/")[3]
            if arm in arms and isinstance(message.payload, bytes):
                if abs(json.loads(message.payload)["change"]["after"] - GROUND) > CLOSE:
                    raise RuntimeError(f"{arm} was led elsewhere")
                arms.discard(arm)
                back.append(time.time() - end_s)
                if not arms:
                    return


async def a_round(
    port: int, arms: list[str], others: list[str], client: ArmClient, other: ArmClient, ticker: Ticker
) -> tuple[float, float]:
    """One moment at which all end; the ratio of p99, and after how many seconds the last was led back."""
    await for_all(client, arms, (GROUND,))
    end_s = time.time() + AHEAD_S
    at = datetime.fromtimestamp(end_s, UTC).isoformat().replace("+00:00", "Z")
    await for_all(client, arms, GIVEN, at)
    await asyncio.sleep(max(0.0, end_s - QUIET_S - 1.0 - time.time()))
    ticker.take()
    quiet = await changes(other, others, end_s - 1.0)
    quiet_s = ticker.take()
    back: list[float] = []
    hearing = asyncio.create_task(hear(port, set(arms), end_s, back))
    meanwhile = await changes(other, others, end_s + MOST_S)
    async with asyncio.timeout(PATIENCE_S):
        await hearing
    ratio = p99(meanwhile) / p99(quiet)
    print(told("quiet", quiet) + "; " + told(f"while {len(arms)} end", meanwhile) + f": {ratio:.2f} times")
    print(
        f"  the loop of the service was busy for {1e3 * quiet_s:.1f} and {1e3 * ticker.take():.1f} ms of CPU at most",
        end="; ",
    )
    print(f"led back after {min(back):.2f} to {max(back):.2f} s", flush=True)
    return ratio, max(back)


def told(when: str, took: list[float]) -> str:
    """Some figures."""
    return f"{when}: median {statistics.median(took):.1f} ms, p99 {p99(took):.1f} ms (n {len(took)})"


async def rounds(url: str, service: RunningService, arms: int, count: int) -> bool:
    """All rounds; whether each kept its bounds."""
    names = [f"sim-{number:04d}" for number in range(arms + OTHERS)]
    kept, ticker = True, Ticker(service.call(asyncio.get_running_loop), time.thread_time)
    one, two = (ArmClient(url, root="bench", user=user, conn=f"{user}-a") for user in ("one", "two"))
    async with one as client, two as other:
        await until_read(client, names)
        for _ in range(count):
            ratio, last_s = await a_round(service.port, names[:arms], names[arms:], client, other, ticker)
            kept = kept and ratio <= MOST_TIMES and last_s <= MOST_S
    return kept


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        mosquitto = Mosquitto(Path(place))
        mosquitto.start()
        names = [f"sim-{number:04d}" for number in range(args.arms + OTHERS)]
        service = RunningService(settings_of(mosquitto.url, "bench", Path(place) / "data", names))
        try:
            service.start()
            ShortCollections().begin()
            kept = asyncio.run(rounds(mosquitto.url, service, args.arms, args.rounds))
        finally:
            service.stop()
            mosquitto.stop()
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
