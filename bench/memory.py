"""Hundreds of thousands of changes beside everything else that happens: does memory stay flat?

One service in this process, on a link in memory, with a real store, in virtual time. Changes of limits, one in twenty
refused, and after every five thousand one round of all other traffic: refusals, reads, locks, overrides, changes that
wait, recipes, plans, faults of arms, lost connections. Prints at every twentieth the memory, and what no collection of
garbage looks at, in 1,000 objects; then how much of that was garbage. Exit code 1 when memory grew by more than 5 MiB
after the first tenth, beside the ids of requests, or there is one such object of garbage for a hundred changes.

    PYTHONPATH=. python bench/memory.py [--sets 300000] [--arms 100]
"""

import argparse
import gc
import sys
import tempfile
from pathlib import Path

from broker import logs
from broker.garbage import ShortCollections, look_again
from tests.traffic import KINDS, Traffic
from tests.virtual_plant import Plant, play

PARTS = 20
WARM_UP = 2
"""Parts in which memory may grow."""
ROUND = 5_000
AT_ONCE = 50
MOST_MIB = 5.0
OF_ID_MIB = 48 / 2**20
"""What the id of a request takes for as long as it is known."""
MOST_GARBAGE = 0.01


def memory_mib() -> float:
    """What this process has in memory now."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


async def changes(traffic: Traffic, count: int) -> None:
    """So many changes, at some 1,000 a second, and the rounds of all else between them."""
    for done in range(0, count, AT_ONCE):
        if done % ROUND == 0:
            for kind in KINDS.values():
                await kind(traffic)
                traffic.forget()
        await traffic.sets(AT_ONCE)
        traffic.forget()
        await traffic.plant.turn(AT_ONCE / 1_000)


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=300_000)
    parser.add_argument("--arms", type=int, default=100)
    args = parser.parse_args()
    logs.set_up("critical")
    arms = tuple(f"r{number}" for number in range(args.arms))
    sizes, garbage = list[float](), list[int]()
    collections = ShortCollections()

    async def scenario(plant: Plant) -> None:
        traffic = Traffic(plant, arms)
        for part in range(1, PARTS + 1):
            await changes(traffic, args.sets // PARTS)
            sizes.append(memory_mib())
            frozen = gc.get_freeze_count() / 1_000
            print(f"{part * args.sets // PARTS:9,} changes  {sizes[-1]:6.1f} MiB  {frozen:8.1f} thousand", flush=True)
        gc.collect()
        garbage.append(look_again())

    with tempfile.TemporaryDirectory() as folder:
        collections.begin()
        try:
            play(Path(folder), lambda plant: collections.around(scenario(plant)), arms=arms)
        finally:
            collections.end()
    grown = max(sizes[WARM_UP:]) - sizes[WARM_UP - 1]
    of_ids = args.sets * (1 - WARM_UP / PARTS) * OF_ID_MIB
    print(f"{grown:+.1f} MiB after the first tenth, {of_ids:.1f} of it ids; {garbage[0]:,} objects of garbage are kept")
    return int(grown > MOST_MIB + of_ids or garbage[0] > MOST_GARBAGE * args.sets)


if __name__ == "__main__":
    sys.exit(main())
