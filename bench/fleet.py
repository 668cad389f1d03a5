#!/usr/bin/env python3
"""What do questions about many arms cost, and what do other requests notice of them?

One service with simulated arms in this process, on a thread and an event loop of its own, and clients, of which one
changes a limit now and then. Measures:
- FindArms over all arms, with two conditions on values and one value shown: how long it takes
- Diff of all arms with another one, and GetFleetHistory: the same
- a change of a limit: median and p99, while nobody asks, and while four ask FindArms without a pause
- how long the event loop of the service stood still at most, by a callback every millisecond, in both times

    PYTHONPATH=. bench/fleet.py --arms 10000 [--seconds 10]
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from armbroker.client import ArmClient
from bench.ticker import Ticker
from broker.garbage import ShortCollections
from tests.journey import running
from tests.journey.running import RunningService, settings_of
from tests.mosquitto import Mosquitto

MODE, LIMIT = "CARTESIAN_JOYSTICK", "twist_linear_soft_limit"
PATH = f"{LIMIT}/{MODE}"
PAUSE_S = 0.02
ASKING = 4
PATIENCE_S, QUIET_SHARE = 600.0, 0.2
QUESTIONS: dict[str, dict[str, Any]] = {
    "FindArms": {
        "where": {
            "presence": "online",
            "value": [
                {"path": PATH, "op": ">", "than": 0.1},
                {"path": "payload_information.payload_mass", "op": "<", "than": 10},
            ],
        },
        "show": [PATH],
        "limit": 500,
    },
    "Diff": {"to": {"arm": "sim-0000"}},
    "GetFleetHistory": {"limit": 500, "user": "nobody"},
}


class Found(NamedTuple):
    """What was measured for some time: seconds of changes and of questions, longest stall of the loop."""

    changes: list[float]
    questions: list[float]
    stall_s: float


async def ask(client: ArmClient, method: str) -> float:
    """Ask one question; seconds until it is answered."""
    began = time.perf_counter()
    reply = await client.call("@all", method, QUESTIONS[method], timeout=PATIENCE_S)
    if not reply["ok"]:
        raise RuntimeError(f"refused: {reply}")
    return time.perf_counter() - began


async def change(client: ArmClient, number: int) -> float:
    """Change a limit; seconds until it is applied."""
    began = time.perf_counter()
    params = {"control_mode": MODE, LIMIT: 0.15 + number % 300 / 1000}
    reply = await client.call(f"sim-{number % 100:04d}", "SetTwistLinearSoftLimit", params, timeout=PATIENCE_S)
    if not reply["ok"]:
        raise RuntimeError(f"refused: {reply}")
    return time.perf_counter() - began


async def measure(clients: list[ArmClient], ticker: Ticker, seconds: float, *, asking: bool) -> Found:
    """Change limits for some time, and let all clients but the first ask without a pause."""
    changes: list[float] = []
    questions: list[float] = []
    until = time.perf_counter() + seconds

    async def keep_asking(client: ArmClient) -> None:
        while time.perf_counter() < until:
            questions.append(await ask(client, "FindArms"))

    ticker.take()
    async with asyncio.TaskGroup() as tasks:
        for client in clients[1:] if asking else []:
            tasks.create_task(keep_asking(client))
        while time.perf_counter() < until:
            changes.append(await change(clients[0], len(changes)))
            await asyncio.sleep(PAUSE_S)
    return Found(changes, questions, ticker.take())


def told(found: Found) -> str:
    """A line of figures."""
    changes = sorted(found.changes)
    p99_s = changes[min(len(changes) - 1, int(len(changes) * 0.99))]
    line = f"changes: median {1000 * statistics.median(changes):.1f} ms, p99 {1000 * p99_s:.1f} ms (n {len(changes)})"
    if found.questions:
        line += f"; FindArms: {statistics.median(found.questions):.2f} s, worst {max(found.questions):.2f} s"
    return f"{line}; the loop stood for {1000 * found.stall_s:.1f} ms at most"


async def quiet() -> float:
    """Wait until this process has little to do: what the service told at its start was told; seconds that took."""
    began_s, before_s = time.perf_counter(), time.process_time()
    while True:
        await asyncio.sleep(1.0)
        used_s, before_s = time.process_time() - before_s, time.process_time()
        if used_s < QUIET_SHARE or time.perf_counter() - began_s > PATIENCE_S:
            return time.perf_counter() - began_s


async def run(service: RunningService, url: str, arms: int, seconds: float) -> None:
    """Print all figures."""
    print(f"quiet after {await quiet():.0f} s", flush=True)
    ticker = Ticker(service.call(asyncio.get_running_loop))
    clients = [ArmClient(url, root=service.settings.root, user="bench", conn=f"b{n}") for n in range(1 + ASKING)]
    for client in clients:
        await client.__aenter__()
    try:
        for method in QUESTIONS:
            ticker.take()
            print(f"{arms} arms, {method}: {await ask(clients[0], method):.2f} s, "
                  f"the loop stood for {1000 * ticker.take():.1f} ms at most", flush=True)  # fmt: skip
        for asking in (False, True, False, True):
            found = await measure(clients, ticker, seconds, asking=asking)
            print(f"{f'{ASKING} ask' if asking else 'nobody asks'}: {told(found)}", flush=True)
    finally:
        for client in clients:
            await client.__aexit__(None, None, None)


def main() -> None:
    """Measure one number of arms."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        mosquitto = Mosquitto(Path(place))
        mosquitto.start()
        try:
            _measure(Path(place), mosquitto.url, options.arms, options.seconds)
        finally:
            mosquitto.stop()


def _measure(place: Path, url: str, arms: int, seconds: float) -> None:
    """Start a service, and measure it."""
    settings = settings_of(url, "bench", place / "data", [f"sim-{number:04d}" for number in range(arms)])
    service, running.START_S = RunningService(settings), PATIENCE_S
    began = time.perf_counter()
    service.start()
    ShortCollections().begin()
    print(f"{arms} arms: online after {time.perf_counter() - began:.0f} s", flush=True)
    try:
        asyncio.run(run(service, url, arms, seconds))
    finally:
        service.stop()


if __name__ == "__main__":
    main()
