"""The Kinova adapter in the conformance suite: the worker process, the fake client, a fake arm in a process."""

from pathlib import Path

import msgspec

from devices.conformance import Rig
from devices.conformance.adapter_rig import AdapterRig
from devices.conformance.kinova import KINOVA
from devices.conformance.rig import CannotInjectError, FailedError
from devices.kortex import KortexArm
from schema.arms import Fault
from tests.devices.kortex.plant import ArmProcess

TRAITS = msgspec.structs.replace(KINOVA, told_within_s=5.0)
_NAMES = {"moving": "state", "fault": "state"}
_MORE = {"moving": {"state": 8}, "fault": {"state": 4}}


class KortexRig(AdapterRig):
    """A `gen3_7dof` behind the fake client; faults are those of the fake arm."""

    def __init__(self, directory: Path) -> None:
        self._process = ArmProcess(directory / "arm").start()
        (directory / "service").mkdir()
        options = self._process.options(directory / "password")
        super().__init__(KortexArm, directory / "service", TRAITS, model="gen3_7dof", options=options)

    async def inject(self, fault: Fault) -> None:
        """See `Rig.inject`."""
        if fault.for_ms:
            raise CannotInjectError(f"{fault.name} with an end")
        if fault.name == "foreign_change" and fault.slot is not None and fault.value is not None:
            answer = self._process.change(fault.slot[0], fault.value, fault.slot[1])
            if answer:
                raise FailedError(f"the fake arm did not take a foreign change: {answer}")
            return
        more = dict(_MORE.get(fault.name, {}), s=fault.delay_ms / 1000)
        self._process.tell(_NAMES.get(fault.name, fault.name), **more)

    async def close(self) -> None:
        """See `Rig.close`; the arm outlives `reopen`."""
        await super().close()
        self._process.kill()

    async def reopen(self) -> None:
        """See `Rig.reopen`."""
        await super().close()
        self._open()


async def make_kortex(directory: Path) -> Rig:
    """A rig in real time: its worker and its arm are processes."""
    return KortexRig(directory)
