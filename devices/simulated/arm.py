"""The adapter of a simulated arm."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, ClassVar

from msgspec import Meta
from msgspec.structs import replace

from devices.adapter import (
    AdapterSettingError,
    ArmAwayError,
    ArmChange,
    Command,
    Deadlines,
    FleetContext,
    LinkState,
    Notice,
    Setting,
    Snapshot,
)
from devices.adapter_class import AdapterAbout, AdapterOptions
from devices.kinova_methods import CONTROL_CONFIG_METHODS
from devices.options import read_options
from devices.refusals import refused
from devices.simulated.faults import AWAY, BUSY, FaultName, Faults
from devices.simulated.firmware import EVERY_SLOT, Firmware
from devices.simulated.link import SimulatedLink, Sleep
from devices.simulated.numbers import RESOLUTION_RAD
from devices.simulated.store import SimulatedStore
from limits.kinova_models import MODELS
from schema.arms import Activity, Description, Fault, Slot
from schema.items import KINOVA_ITEMS
from schema.messages import Message

LATENCY_S = 0.025
"""The cycle in which an arm handles commands."""
AWAY_MS = 1_000
"""How long an arm is away that reboots or is swapped, when the fault does not say."""


class SimulatedOptions(AdapterOptions, frozen=True):
    """The options of a simulated arm."""

    latency_ms: Annotated[
        float, Meta(ge=0, le=60_000, description="how long it takes to answer; absent: [sim] latency_ms")
    ] = LATENCY_S * 1000
    first_name: Annotated[
        str, Meta(description="the name that its serial number is made of; absent: the name it had first")
    ] = ""


class SimulatedArm:
    """An `ArmAdapter` and `FaultyArm` whose arm lives in this process and is remembered in `store`.

    Answers `latency_s` after a call; with 0 it answers without any suspension. `sleep` is the clock that latency,
    deadlines and the ends of faults run on.

    Raises:
        AdapterSettingError: unknown model.
    """

    resolution_rad = RESOLUTION_RAD
    methods = CONTROL_CONFIG_METHODS | {"SetControlMode"}
    items = KINOVA_ITEMS
    deadlines = Deadlines()
    about: ClassVar = AdapterAbout(
        purpose="arms in the memory of the service, with the firmware of a Kinova Gen3, for trials and tests",
        options=SimulatedOptions,
        models=tuple(MODELS),
        methods=methods,
        items=items,
        deadlines=deadlines,
        resolution_rad=resolution_rad,
        activities=frozenset({Activity.IDLE, Activity.MOVING, Activity.LOCAL, Activity.FAULT}),
        authority="control",
        rig="devices.simulated.rig:make",
    )

    def __init__(
        self,
        name: str,
        model: str,
        store: SimulatedStore,
        *,
        latency_s: float = LATENCY_S,
        sleep: Sleep = asyncio.sleep,
        first_name: str = "",
    ) -> None:
        if model not in MODELS:
            raise AdapterSettingError(f"arm {name}: model {model!r} is none of {', '.join(MODELS)}")
        self._firmware = Firmware(name, model, store, self._tell, first_name)
        self._link = SimulatedLink(latency_s, sleep)
        self._faults = Faults(sleep, self._follow_faults)
        self._sink: Callable[[Notice], None] | None = None
        self._connected = False

    @classmethod
    def open_fleet(cls, context: FleetContext) -> "SimulatedFleet":
        """The simulated arms of a service, remembered in the directory of `context`.

        Raises:
            StoreError: it is in use, or cannot be read.
        """
        return SimulatedFleet(SimulatedStore(context.directory))

    async def connect(self) -> Description:
        """See `ArmAdapter.connect`."""
        if self._faults.first(AWAY):
            raise ArmAwayError("the link is down")
        self._connected = True
        self._link.set_online(True)
        self._tell_link(self._firmware.busy)
        return await self._link.call(self._firmware.describe, self.deadlines.connect_s, changes=False)

    async def read_all(self) -> Snapshot:
        """See `ArmAdapter.read_all`."""
        return await self._link.call(self._firmware.read_all, self.deadlines.read_s, changes=False)

    async def read(self, slot: Slot) -> Message:
        """See `ArmAdapter.read`."""
        return await self._link.call(partial(self._firmware.read, slot), self.deadlines.read_s, changes=False)

    async def write(self, command: Command) -> Message | None:
        """See `ArmAdapter.write`."""
        return await self._link.call(partial(self._firmware.execute, command), self.deadlines.write_s, changes=True)

    @property
    def prompt(self) -> bool:
        """See `PromptArm.prompt`."""
        return self._link.clear

    def exchange_now(self, command: Command) -> Message | None:
        """See `PromptArm.exchange_now`."""
        if not self._link.clear:
            return None
        self._firmware.execute(command)
        return self._firmware.read(command.slot)

    def read_now(self, slot: Slot) -> Message | None:
        """See `PromptArm.read_now`."""
        return self._firmware.read(slot) if self._link.clear else None

    def watch(self, sink: Callable[[Notice], None]) -> None:
        """See `ArmAdapter.watch`."""
        self._sink = sink

    def inject(self, fault: Fault) -> None:
        """See `FaultyArm.inject`."""
        match fault.name:
            case FaultName.NONE:
                self._faults.end_all()
            case FaultName.FOREIGN_CHANGE:
                if fault.slot is None or fault.value is None:
                    raise refused("INVALID_PARAM", "foreign_change needs a slot and a value")
                self._firmware.change_by_another(fault.slot, fault.value)
            case FaultName.REBOOT | FaultName.SWAP_SERIAL:
                self._start_anew(fault)
            case _ if fault.name in _LASTING:
                self._faults.begin(fault)
            case _:
                raise refused("UNIMPLEMENTED", f"fault {fault.name} is not simulated")

    async def close(self) -> None:
        """See `ArmAdapter.close`; faults end too."""
        self._sink = None
        self._connected = False
        self._faults.end_all()
        await self._link.close()

    def _start_anew(self, fault: Fault) -> None:
        """Go away for a time; come back as the arm was at its last start, or as another arm."""
        if fault.name == FaultName.REBOOT:
            self._firmware.reboot()
        else:
            self._firmware.swap()
        self._faults.begin(replace(fault, for_ms=fault.for_ms or AWAY_MS))
        self._link.drop()

    def _tell(self, notice: ArmChange) -> None:
        """An event of the arm; without a link nobody hears it."""
        if self._sink is not None and self._link.online:
            self._sink(notice)

    def _follow_faults(self) -> None:
        """Let link and firmware behave as the faults in force say."""
        faults = self._faults
        refuse, delay = faults.get(FaultName.REFUSE), faults.get(FaultName.DELAY)
        self._firmware.refuse = (refuse.slot or EVERY_SLOT) if refuse else None
        self._link.set_delay(delay.delay_ms / 1000 if delay else 0.0)
        self._link.lose_answers = faults.get(FaultName.LOSE_ANSWER) is not None
        self._link.set_hung(faults.get(FaultName.HANG) is not None)
        self._link.garble = faults.get(FaultName.GARBAGE) is not None
        self._firmware.clamp = faults.get(FaultName.CLAMP) is not None
        busy = faults.first(BUSY) or ""
        away = faults.first(AWAY)
        online = self._connected and away is None
        if (online, busy) == (self._link.online, self._firmware.busy):
            return
        self._firmware.busy = busy
        self._link.set_online(online)
        if self._connected:
            self._tell_link(away or busy)

    def _tell_link(self, fault: str) -> None:
        """Tell how the link is, and the fault that is the reason."""
        if self._sink is not None:
            online, busy = self._link.online, self._firmware.busy
            activity = Activity(busy or Activity.IDLE) if online else Activity.UNKNOWN
            why = f"simulated fault: {fault}" if fault else ""
            self._sink(LinkState(online, online and not busy, why, activity))


class SimulatedFleet:
    """All simulated arms of a service: an `ArmFleet`."""

    def __init__(self, store: SimulatedStore) -> None:
        self._store = store

    def arm(self, name: str, model: str, options: Mapping[str, Setting]) -> SimulatedArm:
        """See `ArmFleet.arm`."""
        read = read_options(name, options, SimulatedOptions)
        return SimulatedArm(name, model, self._store, latency_s=read.latency_ms / 1000, first_name=read.first_name)

    def close(self) -> None:
        """See `ArmFleet.close`."""
        self._store.close()


_LASTING = frozenset(FaultName) - {
    FaultName.FOREIGN_CHANGE,
    FaultName.REBOOT,
    FaultName.SWAP_SERIAL,
    FaultName.NONE,
}
