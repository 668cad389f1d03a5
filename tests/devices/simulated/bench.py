"""A simulated arm of seven joints, and what it told."""

from pathlib import Path

from devices.adapter import ArmChange, Command, LinkState, Notice
from devices.simulated import SimulatedArm, SimulatedFleet, SimulatedStore
from schema.arms import Description, Fault, Slot, Verb
from schema.messages import Message

EPOCH = 7


class Bench:
    """A `gen3_7dof` with the usual latency; `notices` is what it told since `connect`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open()

    def _open(self) -> None:
        self._fleet = SimulatedFleet(SimulatedStore(self._directory))
        self.arm: SimulatedArm = self._fleet.arm("r12", "gen3_7dof", {})
        self.deadlines = self.arm.deadlines
        self.notices: list[Notice] = []
        self.arm.watch(self.notices.append)

    def inject(self, fault: Fault) -> None:
        self.arm.inject(fault)

    async def reopen(self) -> None:
        await self.close()
        self._open()
        await self.connect()

    async def connect(self) -> Description:
        """Connect the arm, and forget what it told of that."""
        description = await self.arm.connect()
        self.notices.clear()
        return description

    async def close(self) -> None:
        await self.arm.close()
        self._fleet.close()


class Commands:
    """Numbers commands as the service does."""

    def __init__(self) -> None:
        self.cmd_seq = 0

    def set(self, slot: Slot, value: Message) -> Command:
        self.cmd_seq += 1
        return Command(EPOCH, self.cmd_seq, Verb.SET, slot, value)

    def reset(self, slot: Slot) -> Command:
        self.cmd_seq += 1
        return Command(EPOCH, self.cmd_seq, Verb.RESET, slot, None)


def changes(rig: Bench) -> list[ArmChange]:
    """The changes told so far, in order."""
    return [notice for notice in rig.notices if isinstance(notice, ArmChange)]


def link_states(rig: Bench) -> list[LinkState]:
    """The link states told so far, in order."""
    return [notice for notice in rig.notices if isinstance(notice, LinkState)]
