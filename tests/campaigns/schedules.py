"""Plays random schedules in virtual time: `python -m tests.campaigns.schedules [--first 100] [--count 50]`.

Each seed is one schedule of requests, faults and crashes, checked as in `tests/journey/test_schedules.py`. Exit code 1
when one fails; its seed is printed, and belongs into `SEEDS` there once its bug is found.
"""

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

from broker.logs import set_up
from tests.journey.test_schedules import play_and_check


def main() -> int:
    """Play the seeds of the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args()
    set_up("critical")
    seeds, failed, began = range(options.first, options.first + options.count), [], time.monotonic()
    for seed in seeds:
        try:
            with tempfile.TemporaryDirectory(prefix="armbroker-schedule-") as folder:
                play_and_check(seed, Path(folder))
        except Exception:  # noqa: BLE001 - whatever a seed brings up, the others are played
            traceback.print_exc()
            failed.append(seed)
    passed = len(seeds) - len(failed)
    print(f"seeds {seeds.start} to {seeds.stop - 1}: {passed} pass, failed: {failed}, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
