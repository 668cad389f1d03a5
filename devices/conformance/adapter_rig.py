"""A rig of any adapter whose faults its arms inject themselves, like the simulated ones."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from devices.adapter import ArmAdapter, ArmFleet, DeviceBus, FaultyArm, FleetContext, Setting
from devices.adapter_class import AdapterClass
from devices.conformance.rig import CannotInjectError, Heard, Traits
from schema.arms import Fault

ARM = "suite"
"""The name of the arm under test."""


class AdapterRig:
    """A `Rig` of one arm of an adapter; a subclass replaces `inject` where a peer of the adapter misbehaves instead.

    Raises:
        ArmError: the adapter or one of the options cannot be used.
    """

    def __init__(
        self,
        adapter: AdapterClass,
        directory: Path,
        traits: Traits,
        *,
        model: str = "",
        options: Mapping[str, Setting] | None = None,
        bus: DeviceBus | None = None,
    ) -> None:
        self.traits = msgspec.structs.replace(traits, activities=adapter.about.activities)
        self.heard = Heard()
        self._adapter = adapter
        self._context = FleetContext(directory) if bus is None else FleetContext(directory, bus)
        self._model = model
        self._options = options or {}
        self._open()

    @property
    def arm(self) -> ArmAdapter:
        """See `Rig.arm`."""
        return self._arm

    async def inject(self, fault: Fault) -> None:
        """See `Rig.inject`."""
        if not isinstance(self._arm, FaultyArm):
            raise CannotInjectError("the adapter has no faults to inject")
        self._arm.inject(fault)

    async def reopen(self) -> None:
        """See `Rig.reopen`."""
        await self.close()
        self._open()

    async def close(self) -> None:
        """See `Rig.close`."""
        await self._arm.close()
        self._fleet.close()

    def _open(self) -> None:
        self._fleet: ArmFleet = self._adapter.open_fleet(self._context)
        self._arm: ArmAdapter = self._fleet.arm(ARM, self._model, self._options)
        self._arm.watch(self.heard)
