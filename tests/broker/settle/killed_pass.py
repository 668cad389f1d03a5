"""A service that is killed in a pass, among several changes of one arm: `killed_pass.py DATA AFTER REFUSED BEHIND`.

The arm refuses what comes from command REFUSED on; 0: nothing. BEHIND is 1 where they come while the arm is read.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from broker.arms.jobs import ContactJob
from broker.service import Service
from devices.adapter import Command
from devices.guard import GuardedFaultyArm
from schema.arms import Fault
from schema.messages import Message
from tests.links import PATIENCE_S
from tests.virtual_plant import Plant, run

JOYSTICK, TRAJECTORY = "CARTESIAN_JOYSTICK", "CARTESIAN_TRAJECTORY"
CHANGES = (
    ("j1", JOYSTICK, 0.11),
    ("t1", TRAJECTORY, 0.21),
    ("j2", JOYSTICK, 0.12),
    ("j3", JOYSTICK, 0.13),
    ("t2", TRAJECTORY, 0.22),
    ("j4", JOYSTICK, 0.14),
)
"""Id, mode and twist_linear_soft_limit."""


class KillingArm(GuardedFaultyArm):
    """Kills the process right after the arm took so many commands, before anybody knows what came of the last."""

    after = refused = 0

    def exchange_now(self, command: Command) -> Message | None:
        """See `PromptArm.exchange_now`."""
        if command.cmd_seq == self.refused:
            self.inject(Fault("refuse"))
        try:
            return super().exchange_now(command)
        finally:
            if command.cmd_seq == self.after:
                os.kill(os.getpid(), signal.SIGKILL)


def send_all(plant: Plant) -> None:
    """Let the changes come in one read."""
    for name, mode, limit in CHANGES:
        value = {"control_mode": mode, "twist_linear_soft_limit": limit}
        plant.send("r1", "SetTwistLinearSoftLimit", value, id=name)


async def send_all_behind(plant: Plant) -> None:
    """Let them come while the arm is read: none has its number when it is accepted. No time goes by."""
    session: Any = plant.session()
    queues = plant.service._queues
    await queues.rest(session, PATIENCE_S)
    session.jobs.append(ContactJob(connect=False, why="a test", quiet=True))
    send_all(plant)
    while len(session.jobs) <= len(CHANGES) or not session.jobs[-1].committed:
        await plant.turn()
    queues.wake(session)


def lay_mine(service: Service) -> None:
    """Let the arm kill the service."""
    service.sessions["r1"].adapter.__class__ = KillingArm


async def play_until_killed(data: Path, *, behind: bool) -> None:
    """Never returns."""
    async with Plant(data, prepare=lay_mine) as plant:
        await send_all_behind(plant) if behind else send_all(plant)
        await asyncio.sleep(60.0)


if __name__ == "__main__":
    KillingArm.after, KillingArm.refused = int(sys.argv[2]), int(sys.argv[3])
    run(lambda: play_until_killed(Path(sys.argv[1]), behind=sys.argv[4] == "1"))
