"""What the conformance suite needs of an adapter: an arm of seven joints, its notices, and faults."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from devices.adapter import ArmAdapter, ArmChange, Command, Deadlines, LinkState, Notice
from devices.simulated import SimulatedArm, SimulatedFleet, SimulatedStore
from schema.arms import Fault, Slot, Verb
from schema.messages import Message

EPOCH = 7


class Rig(Protocol):
    """One arm under test; of the model `gen3_7dof`."""

    notices: list[Notice]
    deadlines: Deadlines

    @property
    def arm(self) -> ArmAdapter:
        """The arm, with `notices` as its sink."""
        ...

    def inject(self, fault: Fault) -> None:
        """Let the arm or its peer misbehave."""
        ...

    async def reopen(self) -> None:
        """Close everything, as the end of the service does, and connect anew to the same arm."""
        ...

    async def close(self) -> None:
        """End the test."""
        ...


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


def changes(rig: Rig) -> list[ArmChange]:
    """The changes told so far, in order."""
    return [notice for notice in rig.notices if isinstance(notice, ArmChange)]


def link_states(rig: Rig) -> list[LinkState]:
    """The link states told so far, in order."""
    return [notice for notice in rig.notices if isinstance(notice, LinkState)]


class SimulatedRig:
    """A `gen3_7dof` with the usual latency."""

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
        await self.arm.connect()

    async def close(self) -> None:
        await self.arm.close()
        self._fleet.close()


RIGS: dict[str, Callable[[Path], Rig]] = {"simulated": SimulatedRig}
"""The adapters that the conformance suite runs on."""
