"""An MQTT server in memory, as adapters see it, and the reference agent on it."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from armbroker.agent.faults import Bender
from armbroker.agent.session import AgentSession, Said
from devices.adapter import ArmAwayError, ArmError, BusListener
from devices.conformance import Rig
from devices.conformance.adapter_rig import ARM, AdapterRig
from devices.conformance.kinova import KINOVA
from devices.mqtt_agent import MqttAgents
from devices.mqtt_agent.arm import PROBE
from devices.mqtt_agent.birth import write_death
from devices.simulated import SimulatedArm, SimulatedStore
from schema.arms import Description, Fault

REACH_S = 0.2


class Published(NamedTuple):
    """A message of the service to an arm."""

    arm: str
    leaf: str
    document: Any
    expiry_s: int


class MemoryBus:
    """A `DeviceBus`: `say` as an arm, look at `published`; `lose` and `restore` cut and renew the connection."""

    def __init__(self, *, up: bool = True) -> None:
        self.up = up
        self.published: list[Published] = []
        self.agents: dict[str, Callable[[bytes], None]] = {}
        self._listeners: dict[str, BusListener] = {}
        self._retained: dict[tuple[str, str], bytes] = {}

    def listen(self, arm: str, listener: BusListener) -> None:
        """See `DeviceBus.listen`."""
        self._listeners[arm] = listener
        if self.up:
            self._greet(arm, listener)

    def forget(self, arm: str) -> None:
        """See `DeviceBus.forget`."""
        self._listeners.pop(arm, None)

    def publish(self, arm: str, leaf: str, payload: bytes, *, expiry_s: int = 0) -> None:
        """See `DeviceBus.publish`."""
        if not self.up:
            raise ArmAwayError("cut")
        self.published.append(Published(arm, leaf, json.loads(payload), expiry_s))
        if (agent := self.agents.get(arm)) is not None:
            agent(payload)

    def say(self, arm: str, leaf: str, said: object, *, retain: bool | None = None) -> None:
        """Let an arm say a document, or bytes; birth and death are retained unless told."""
        payload = said if isinstance(said, bytes) else json.dumps(said).encode()
        if retain or (retain is None and leaf in ("birth", "death")):
            self._retained[arm, leaf] = payload
            if not payload:
                del self._retained[arm, leaf]
        if self.up and (listener := self._listeners.get(arm)) is not None:
            listener.heard(leaf, payload, retained=False)

    def answer_probes(self, arm: str, fence: tuple[int, int] = (3, 9)) -> None:
        """Let an arm answer what its adapter reads at each connect, and nothing else."""

        def answer(payload: bytes) -> None:
            asked = json.loads(payload)
            if (asked["verb"], asked.get("item")) == ("read", PROBE[0]):
                told = {"ok": True, "fence": fence, "value": {"control_mode": "IDLE"}}
                self.say(arm, "ack", {"session": asked["session"], "read": asked["read"], **told})

        self.agents[arm] = answer

    def lose(self) -> None:
        """Cut the connection of the service."""
        self.up = False
        for listener in self._listeners.values():
            listener.bus_changed(up=False)

    def restore(self) -> None:
        """Connect the service; what is retained comes."""
        self.up = True
        for arm, listener in self._listeners.items():
            self._greet(arm, listener)

    def _greet(self, arm: str, listener: BusListener) -> None:
        listener.bus_changed(up=True)
        for (name, leaf), payload in sorted(self._retained.items(), reverse=True):  # as the service subscribes
            if name == arm:
                listener.heard(leaf, payload, retained=True)


class MemoryAgent:
    """The sessions of the reference agent of one arm, as `armbroker.agent.connection` holds them on a real server."""

    def __init__(self, name: str, arm: SimulatedArm, bus: MemoryBus) -> None:
        self.arm = arm
        self.bender = Bender()
        self._name = name
        self._bus = bus
        self._number = 0
        self._serving = asyncio.create_task(self._serve())

    def say(self, said: Said) -> None:
        """Publish."""
        bent = self.bender.bend(said)
        if bent is not None:
            self._bus.say(self._name, bent.leaf, bent.payload, retain=bent.retain)

    async def close(self) -> None:
        """End it without a word."""
        self._serving.cancel()
        await asyncio.wait([self._serving])
        await self.arm.close()

    async def _serve(self) -> None:
        while True:
            session = AgentSession(self.arm, self.say)
            self.arm.watch(session.notice)
            description = await self._reach()
            self._number += 1
            self._bus.agents[self._name] = session.command
            session.begin(self._number, description)
            work = asyncio.create_task(session.work())
            try:
                await session.ended.wait()
            finally:
                del self._bus.agents[self._name]
                work.cancel()
                await asyncio.wait([work])
            self.say(Said("death", write_death(self._number), retain=True))

    async def _reach(self) -> Description:
        while True:
            try:
                return await self.arm.connect()
            except ArmError:
                await asyncio.sleep(REACH_S)


class MqttAgentRig(AdapterRig):
    """The adapter on an MQTT server in memory, with the reference agent of a simulated arm there."""

    def __init__(self, directory: Path) -> None:
        self._store = SimulatedStore(directory / "arm")
        self._bus = MemoryBus()
        self._agent = MemoryAgent(ARM, SimulatedArm(ARM, "gen3_7dof", self._store), self._bus)
        super().__init__(MqttAgents, directory, KINOVA, bus=self._bus)

    async def inject(self, fault: Fault) -> None:
        """See `Rig.inject`; garbage comes from the agent."""
        self._agent.bender.garble["ack"] = 1_000_000 if fault.name == "garbage" else 0
        if fault.name != "garbage":
            self._agent.arm.inject(fault)

    async def reopen(self) -> None:
        """See `Rig.reopen`; the agent goes on."""
        await super().close()
        self._open()

    async def close(self) -> None:
        """See `Rig.close`."""
        await super().close()
        await self._agent.close()
        self._store.close()


async def make_mqtt_agent(directory: Path) -> Rig:
    """An arm of the reference agent, in virtual time."""
    return MqttAgentRig(directory)
