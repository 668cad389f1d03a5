"""The MQTT server is away while arms raise events: does memory stay flat, and is everything told in order afterwards?

One service in this process, on a link in memory and a real store. Prints the memory every tenth of the events, then how
many came when the link was back. Exit code 1 when memory grew by more than 10 % or an event is missing or out of order.

    PYTHONPATH=. python bench/absence.py [--events 200000]
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.virtual_plant import Plant, play

PARTS = 10
GROUP = 100
MOST_GROWTH = 1.10


def memory_kib() -> int:
    """What this process has in memory now."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


async def raised(plant: Plant, count: int) -> None:
    """Let an arm raise so many events."""
    for _ in range(count // GROUP):
        for _ in range(GROUP):
            plant.service._settler.endings.record_raised(plant.session(), "ANGLE_UNIT_CHANGED", "")  # noqa: SLF001 - from within
        await plant.committed()


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=200_000)
    events = parser.parse_args().events
    wrong: list[str] = []

    async def scenario(plant: Plant) -> None:
        plant.link.lose()
        sizes = []
        for part in range(1, PARTS + 1):
            await raised(plant, events // PARTS)
            sizes.append(memory_kib())
            print(f"{part * events // PARTS:9,} events  {sizes[-1]:9,} KiB")
        if max(sizes) > sizes[0] * MOST_GROWTH:
            wrong.append(f"memory grew by {max(sizes) / sizes[0] - 1:.1%}")
        plant.link.restore(present=True)
        await plant.link.take(lambda each: each.topic.startswith("evt/r1/") and each.document["seq"] == events)
        told = [event["seq"] for event in plant.events()]
        print(f"{len(told):9,} events told")
        if told != list(range(1, events + 1)):
            wrong.append("they are not all told once, in order")

    with tempfile.TemporaryDirectory() as folder:
        play(Path(folder), scenario)
    print("\n".join(wrong) or "flat, and all told in order")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
