"""Kills what serves the arms, under load, and counts what was lost or doubled: nothing may be.

`python -m tests.campaigns.kill_workers [--adapter kortex|ros2|ros2_node|mqtt_agent] [--kills 50] [--seed 1] [--arms 4]
[--clients 6]`; all kinds one after the other, unless one is named. The whole service in a process on a real Mosquitto.
Killed are the worker processes of Kinova arms (with the fake client, a fake arm in a process for each), the workers of
ROS 2 arms, the ROS nodes that are the arms, or the agents of arms that speak MQTT. Each request asks for a value of its
own, so that the arms' own logs tell how often each was carried out. Exit code 1 when anything is wrong.

ROS cells need an interpreter with rclpy: see `tests/ros_nodes.py`.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from tests.campaigns.campaign import Campaign, Size
from tests.campaigns.cells import AgentCell, Cell, KortexCell
from tests.campaigns.ros_cell import RosCell, RosNodeCell
from tests.campaigns.verdict import Verdict

KINDS: dict[str, type[Cell]] = {
    "kortex": KortexCell,
    "ros2": RosCell,
    "ros2_node": RosNodeCell,
    "mqtt_agent": AgentCell,
}


async def trial(kind: str, folder: Path, seed: int, size: Size) -> Verdict:
    """Run one campaign in a folder, and judge it."""
    campaign = Campaign(KINDS[kind], folder, seed, size)
    await campaign.run()
    return Verdict(campaign)


def main() -> int:
    """Run them; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adapter", choices=KINDS, action="append", help="may be given several times")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arms", type=int, default=4)
    parser.add_argument("--clients", type=int, default=6)
    chosen = parser.parse_args()
    wrong = False
    for kind in chosen.adapter or KINDS:
        with tempfile.TemporaryDirectory(prefix="kill-workers-") as place:
            size = Size(chosen.kills, chosen.arms, chosen.clients)
            verdict = asyncio.run(trial(kind, Path(place), chosen.seed, size))
        figures = {"killed": kind, "seed": chosen.seed, **verdict.figures()}
        sys.stdout.write(json.dumps(figures, indent=2) + "\n")
        sys.stdout.flush()
        wrong = wrong or bool(verdict.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
