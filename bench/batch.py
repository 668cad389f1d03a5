#!/usr/bin/env python3
"""What a batch of six values costs of CPU against a single Set, by turns in one run, with their documents.

A service on a link in memory; one request an arm in a read, each with values of its own, and the documents of its arm
after it. Prints the ratio of the medians and of the quickest quarters of the rounds. Exit code 1 where the first is
above 2.5.

    PYTHONPATH=. bench/batch.py [--rounds 200] [--arms 32]
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from broker.logs import set_up
from tests.virtual_plant import Plant, play

SET, BATCH = "SetTwistLinearSoftLimit", "ApplyConfig"
MOST = 2.5
DOCUMENTS_S = 5.0
"""So long, in the plant's own time, documents of a change are awaited."""


def params(method: str, number: int) -> dict[str, Any]:
    """What is asked for: other values for each number up to 300."""
    step = number % 300
    linear = 0.1 + 0.001 * step
    if method == SET:
        return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": linear}
    modes = ("CARTESIAN_JOYSTICK", "CARTESIAN_TRAJECTORY")
    return {
        "items": {
            "twist_linear_soft_limit": dict.fromkeys(modes, linear),
            "twist_angular_soft_limit": {"CARTESIAN_JOYSTICK": 10.0 + 0.1 * step},
            "payload_information": {"payload_mass": 1.0 + 0.001 * step},
            "desired_linear_twist": {"linear": linear},
            "desired_angular_twist": {"angular": 10.0 + 0.1 * step},
        }
    }


async def measured(plant: Plant, method: str, turn: int, arms: int) -> float:
    """Seconds of CPU of a request, until its reply and the documents of its arm are out."""
    plant.link.published.clear()
    told = plant.link.published
    began = time.process_time()
    for number in range(arms):
        plant.send(f"r{number}", method, params(method, turn * arms + number))
    await plant.link.take(lambda _: sum(each.topic.startswith("res/") for each in told) == arms)
    await plant.turn(DOCUMENTS_S)
    taken = (time.process_time() - began) / arms
    replies = [each.document for each in told if each.topic.startswith("res/")]
    if [reply["stage"] for reply in replies] != ["applied"] * arms:
        raise RuntimeError(f"not applied: {replies[0]}")
    return taken


async def report(plant: Plant, rounds: int, arms: int) -> float:
    """Print both costs and their ratio, which is returned."""
    found: dict[str, list[float]] = {SET: [], BATCH: []}
    for turn in range(-4, rounds):
        for place, method in enumerate((SET, BATCH) if turn % 2 else (BATCH, SET)):
            taken = await measured(plant, method, 2 * turn + 8 + place, arms)
            if turn >= 0:
                found[method].append(taken)
    middle = {method: statistics.median(each) for method, each in found.items()}
    quick = {method: statistics.quantiles(each, n=4)[0] for method, each in found.items()}
    for method in (SET, BATCH):
        print(f"{method}: {middle[method] * 1e6:.0f} us of CPU, {quick[method] * 1e6:.0f} in the quickest quarter")
    ratio = middle[BATCH] / middle[SET]
    print(f"a batch of six is {ratio:.2f} Sets ({quick[BATCH] / quick[SET]:.2f}), n = {rounds} rounds of {arms} each")
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--arms", type=int, default=32)
    options = parser.parse_args()
    ratios: list[float] = []

    async def scenario(plant: Plant) -> None:
        ratios.append(await report(plant, options.rounds, options.arms))

    set_up("critical")
    unbounded: dict[str, Any] = {"clients": {"*": {"rights": ["write"], "rate": 0}}}
    with tempfile.TemporaryDirectory() as folder:
        play(Path(folder), scenario, arms=[f"r{number}" for number in range(options.arms)], **unbounded)
    return int(ratios[0] > MOST)


if __name__ == "__main__":
    sys.exit(main())
