#!/usr/bin/env python3
"""What metrics and health cost of CPU: Sets with what counts and without, by turns in one run; one scrape, one probe.

A service on a link in memory, 64 Sets at once. Prints the ratio by the quickest quarter of the rounds (the others tell
what else the machine does), and what a Prometheus that asks every 15 s and a probe of health every 10 s take of a load.
Exit code 1 where counting takes more than 2 %.

    PYTHONPATH=. bench/metrics.py [--rounds 600] [--arms 32]
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from broker.logs import set_up
from broker.metrics.endpoint import Watch
from tests.virtual_plant import Plant, play

SET = "SetTwistLinearSoftLimit"
SETS, TAKEN = 64, 20
MOST = 0.02
SCRAPE_S, PROBE_S, LOAD = 15.0, 10.0, 200
"""How often a Prometheus as shipped and a probe ask, and the requests a second that they are set against."""
NAMES = ("answered", "change_ended", "published")
"""What counts on the way of a request."""


def nothing(*_: object) -> None:
    """Counts nothing."""


async def sets(plant: Plant, turn: int, arms: int) -> None:
    """Some Sets in one read, until the last has its reply and its event."""
    plant.link.published.clear()
    for number in range(SETS):
        limit = 0.1 + 0.0001 * ((turn * SETS + number) % 3000)
        value = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": limit}
        plant.send(f"r{number % arms}", SET, value)
    told = plant.link.published
    await plant.link.take(lambda _: sum(each.topic[:3] in ("res", "evt") for each in told) >= 2 * SETS)


async def measured(plant: Plant, turn: int, arms: int) -> float:
    """Seconds of CPU of a Set."""
    began = time.process_time()
    await sets(plant, turn, arms)
    return (time.process_time() - began) / SETS


async def cost(work: Callable[[], Awaitable[object]]) -> float:
    """Seconds of CPU of a call, the median."""
    found = []
    for _ in range(TAKEN):
        began = time.process_time()
        await work()
        found.append(time.process_time() - began)
    return statistics.median(found)


async def by_turns(plant: Plant, rounds: int, arms: int) -> tuple[float, float]:
    """Seconds of CPU of a Set with what counts, and its ratio to one without; of each the quickest quarter tells."""
    traffic = plant.service._ledger.traffic  # noqa: SLF001 - what a bench takes away
    counting = {name: getattr(traffic, name) for name in NAMES}
    outbox = plant.service._outbox  # noqa: SLF001 - likewise
    found: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(rounds):
        for counts in (turn % 2 == 0, turn % 2 != 0):
            for name, real in counting.items():
                setattr(traffic, name, real if counts else nothing)
            outbox.on_published = traffic.published
            found[counts].append(await measured(plant, 2 * turn + counts, arms))
    quick = {counts: statistics.quantiles(taken, n=4)[0] for counts, taken in found.items()}
    return quick[True], quick[True] / quick[False]


async def report(plant: Plant, rounds: int, arms: int) -> float:
    """Print all; the share that counting takes."""
    await measured(plant, 0, arms)
    set_s, ratio = await by_turns(plant, rounds, arms)
    watch = Watch()
    watch.reading = plant.service.reading
    scrape_s, probe_s = await cost(watch.metrics), await cost(watch.health)
    print(f"a Set: {set_s * 1e6:.0f} us of CPU, with what counts {ratio:.4f} times that without (n = {rounds})")
    share = (scrape_s / SCRAPE_S + probe_s / PROBE_S) / (LOAD * set_s)
    print(f"{arms} arms: a scrape {scrape_s * 1e3:.1f} ms, a probe {probe_s * 1e3:.2f} ms; every {SCRAPE_S:g} s and")
    print(f"{PROBE_S:g} s they take {share:.2%} of what {LOAD} Sets a second take")
    return ratio - 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--arms", type=int, default=32)
    options = parser.parse_args()
    shares: list[float] = []

    async def scenario(plant: Plant) -> None:
        shares.append(await report(plant, options.rounds, options.arms))

    set_up("critical")
    unbounded: dict[str, Any] = {"clients": {"*": {"rights": ["write"], "rate": 0}}}
    with tempfile.TemporaryDirectory() as folder:
        play(Path(folder), scenario, arms=[f"r{number}" for number in range(options.arms)], **unbounded)
    return int(shares[0] > MOST)


if __name__ == "__main__":
    sys.exit(main())
