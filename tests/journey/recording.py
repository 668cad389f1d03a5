"""Simulated arms that remember what was asked of them: an adapter for the registry."""

from collections.abc import Callable, Mapping
from typing import Any

from devices.adapter import ArmAwayError, Command, FleetContext, Notice, Setting
from devices.registry import BUILT_IN
from devices.simulated.arm import SimulatedArm, SimulatedFleet
from schema.arms import Description
from schema.messages import Message

NAME = "recording"
ARMS: dict[str, "RecordingArm"] = {}
"""The arms of the services of this process, by name."""
ABSENT: set[str] = set()
"""Names of arms that cannot be reached."""


class RecordingArm:
    """An `ArmAdapter` and `FaultyArm` around a simulated arm; `written` and `watched` tell what was asked of it."""

    def __init__(self, name: str, inner: SimulatedArm) -> None:
        self.name = name
        self.inner = inner
        self.written: list[Command] = []
        self.watched = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def connect(self) -> Description:
        """See `ArmAdapter.connect`; an absent arm cannot be reached."""
        if self.name in ABSENT:
            raise ArmAwayError(f"{self.name} is absent")
        return await self.inner.connect()

    async def write(self, command: Command) -> Message | None:
        """See `ArmAdapter.write`."""
        self.written.append(command)
        return await self.inner.write(command)

    def exchange_now(self, command: Command) -> Message | None:
        """See `PromptArm.exchange_now`."""
        if self.inner.prompt:
            self.written.append(command)
        return self.inner.exchange_now(command)

    def watch(self, sink: Callable[[Notice], None]) -> None:
        """See `ArmAdapter.watch`."""
        self.watched += 1
        self.inner.watch(sink)


class RecordingFleet:
    """See `ArmFleet`."""

    def __init__(self, inner: SimulatedFleet) -> None:
        self.inner = inner

    def arm(self, name: str, model: str, options: Mapping[str, Setting]) -> RecordingArm:
        """See `ArmFleet.arm`."""
        ARMS[name] = RecordingArm(name, self.inner.arm(name, model, {"latency_ms": 0, **options}))
        return ARMS[name]

    def close(self) -> None:
        """See `ArmFleet.close`."""
        self.inner.close()


class Recording:
    """See `AdapterClass`."""

    about = SimulatedArm.about

    @classmethod
    def open_fleet(cls, context: FleetContext) -> RecordingFleet:
        """See `AdapterClass.open_fleet`."""
        return RecordingFleet(SimulatedArm.open_fleet(context))


def register() -> None:
    """Let settings name the adapter."""
    BUILT_IN[NAME] = f"{__name__}:Recording"
