"""The adapters that the conformance suite runs on."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from armbroker.conformance import service_behaviours
from broker.store.store import Store
from devices.conformance import BEHAVIOURS, Behaviour, Rig
from devices.conformance.adapter_rig import AdapterRig
from devices.conformance.kinova import KINOVA
from devices.conformance.run import MakeRig
from devices.ros2 import rig as ros2_rig
from devices.simulated import SimulatedArm
from tests.devices.kortex.rig import make_kortex
from tests.devices.mqtt_agent.memory_bus import make_mqtt_agent
from tests.ros_nodes import DOMAIN, ros_missing, ros_python
from tests.virtual_plant import PatientLoop


class RigKind(NamedTuple):
    """How a rig is made, and on what clock it runs: `real` where other processes or a network take part.

    `missing` says what this machine lacks for it; empty if nothing.
    """

    make: MakeRig
    real: bool = False
    missing: Callable[[], str] = str

    def new_loop(self) -> asyncio.AbstractEventLoop:
        """An event loop with the clock of the rig."""
        return asyncio.new_event_loop() if self.real else PatientLoop()


async def make_simulated(directory: Path) -> Rig:
    """A simulated `gen3_7dof` with the usual latency, in virtual time."""
    return AdapterRig(SimulatedArm, directory, KINOVA, model="gen3_7dof")


async def make_ros2(directory: Path) -> Rig:
    """A real lifecycle node, in the environment of ROS."""
    return await ros2_rig.make(directory, "", {"python": ros_python(), "domain": DOMAIN})


def _hold_clock(store: Store) -> None:
    """Let virtual time stand while a store writes."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, PatientLoop):
        loop.stores.append(store)


SUITE: dict[str, Behaviour] = {**BEHAVIOURS, **service_behaviours(_hold_clock)}
"""All behaviours by name: what an adapter does, and what the service makes of it."""

RIGS: dict[str, RigKind] = {
    "simulated": RigKind(make_simulated),
    "mqtt_agent": RigKind(make_mqtt_agent),
    "kortex (fake)": RigKind(make_kortex, real=True),
    "ros2": RigKind(make_ros2, real=True, missing=ros_missing),
}
"""By name; `scripts/suite` shows them in this order."""
