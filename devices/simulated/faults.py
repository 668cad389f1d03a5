"""The faults in force of one simulated arm."""

import asyncio
import enum
from collections.abc import Callable

from devices.simulated.link import Sleep
from schema.arms import Fault


class FaultName(enum.StrEnum):
    """What a simulated arm can be told; the last four are no lasting fault."""

    REFUSE = "refuse"
    DELAY = "delay"
    HANG = "hang"
    LOSE_ANSWER = "lose_answer"
    OFFLINE = "offline"
    GARBAGE = "garbage"
    CLAMP = "clamp"
    MOVING = "moving"
    LOCAL = "local"
    FAULT = "fault"
    REBOOT = "reboot"
    SWAP_SERIAL = "swap_serial"
    FOREIGN_CHANGE = "foreign_change"
    NONE = "none"


AWAY = (FaultName.OFFLINE, FaultName.REBOOT, FaultName.SWAP_SERIAL)
"""The faults in which the link is down."""
BUSY = (FaultName.FAULT, FaultName.LOCAL, FaultName.MOVING)
"""The faults in which the arm takes no change, those that count more first; each is what it does then."""


class Faults:
    """Lasting faults by name, each until its time is over or all are ended; `follow` is called after each change."""

    def __init__(self, sleep: Sleep, follow: Callable[[], None]) -> None:
        self._sleep = sleep
        self._follow = follow
        self._active: dict[str, Fault] = {}
        self._timers: dict[str, asyncio.Task[None]] = {}

    def get(self, name: FaultName) -> Fault | None:
        """The fault of that name, if in force."""
        return self._active.get(name)

    def first(self, names: tuple[FaultName, ...]) -> FaultName | None:
        """The first of the names whose fault is in force."""
        return next((name for name in names if name in self._active), None)

    def begin(self, fault: Fault) -> None:
        """Put a fault in force; it replaces one of the same name. Needs a running event loop when it has an end."""
        self._stop_timer(fault.name)
        self._active[fault.name] = fault
        if fault.for_ms:
            self._timers[fault.name] = asyncio.create_task(self._end_later(fault))
        self._follow()

    def end_all(self) -> None:
        """End all faults."""
        for name in list(self._timers):
            self._stop_timer(name)
        self._active.clear()
        self._follow()

    async def _end_later(self, fault: Fault) -> None:
        await self._sleep(fault.for_ms / 1000)
        del self._active[fault.name]
        del self._timers[fault.name]
        self._follow()

    def _stop_timer(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
