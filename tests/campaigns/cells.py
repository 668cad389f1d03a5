"""What a campaign needs to know of a kind of arm: its settings, a request, what may be killed, what the arms took."""

import json
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from devices.simulated.firmware import serial_number
from devices.simulated.store import JOURNAL, Entry
from devices.worker.supervisor import STABLE_S
from schema.codecs.json_codec import unpack
from schema.messages import TwistLinearSoftLimit
from tests.devices.kortex.plant import ArmProcess, workers_of
from tests.journey.agents import AgentProcess
from tests.mosquitto import Mosquitto

ROOT = "workers"
"""The first level of the topics of a campaign."""
TWIST = "twist_linear_soft_limit"
MODES = {"CARTESIAN_JOYSTICK": 2, "CARTESIAN_TRAJECTORY": 5, "CARTESIAN_WAYPOINT_TRAJECTORY": 12}
_NAMES = {number: name for name, number in MODES.items()}


class Place(NamedTuple):
    """What holds one number: a slot of an item, or a parameter."""

    arm: str
    name: str


class Taken(NamedTuple):
    """A number that an arm took from the service, in the how manieth of its lives."""

    place: Place
    value: float
    life: int = 0


class Cell(ABC):
    """The arms of one campaign."""

    adapter: str
    names: tuple[str, ...]
    """What the numbers of an arm are called."""
    lives_s: tuple[float, float] = (STABLE_S + 0.5, STABLE_S + 3.0)
    """How long what is killed may live."""
    forgetful = False
    """Whether an arm that was killed begins anew with the values of its first start."""

    def __init__(self, server: Mosquitto, folder: Path, arms: list[str]) -> None:
        self.server, self.folder, self.arms = server, folder, arms

    def settings(self) -> str:
        """The arms in `fleet.toml`."""
        return "\n".join(self._block(arm) for arm in self.arms)

    def _block(self, arm: str) -> str:
        lines = [f"{name} = {json.dumps(value)}" for name, value in self.options(arm).items()]
        head = ["[[arm]]", f'id = "{arm}"', f'adapter = "{self.adapter}"', 'authority = "control"']
        return "\n".join([*head, *self.more, "[arm.options]", *lines, ""])

    more: tuple[str, ...] = ()
    """Further lines of an arm's table."""

    @abstractmethod
    def options(self, arm: str) -> Mapping[str, Any]:
        """The options of an arm."""

    @abstractmethod
    async def start(self) -> None:
        """Start the arms."""

    @abstractmethod
    async def close(self) -> None:
        """End them."""

    @abstractmethod
    def victims(self, service_pid: int) -> list[int]:
        """The processes that may be killed now, by number."""

    async def kill(self, pid: int) -> None:
        """Kill one; whoever supervises it starts it again."""
        os.kill(pid, signal.SIGKILL)

    def request(self, name: str, value: float) -> tuple[str, dict[str, Any]]:
        """Method and params that ask for a value."""
        return "SetTwistLinearSoftLimit", {"control_mode": name, TWIST: value}

    @abstractmethod
    def taken(self) -> list[Taken]:
        """What the arms took, each in its order."""

    async def now(self) -> dict[Place, float]:
        """What the arms hold in the end, where they ever took something."""
        return {one.place: one.value for one in self.taken()}

    def reported(self, arm: str, key: str, mode: int, blob: bytes) -> dict[Place, float]:
        """The numbers in a reported value of the store."""
        if key != TWIST or mode not in _NAMES:
            return {}
        value = unpack(blob, TwistLinearSoftLimit)
        return {
            Place(arm, _NAMES[mode]): value.twist_linear_soft_limit if isinstance(value, TwistLinearSoftLimit) else 0.0
        }


class KortexCell(Cell):
    """Kinova arms: the worker processes with the fake client are killed; the fake arms' own logs are the truth."""

    adapter = "kortex"
    names = tuple(MODES)
    more = ('model = "gen3_7dof"',)

    def __init__(self, server: Mosquitto, folder: Path, arms: list[str]) -> None:
        super().__init__(server, folder, arms)
        self._fakes = {arm: ArmProcess(folder / arm).start() for arm in arms}

    def options(self, arm: str) -> Mapping[str, Any]:
        """See `Cell.options`."""
        return self._fakes[arm].options(self.folder / f"{arm}.password")

    async def start(self) -> None:
        """See `Cell.start`: their ports stand in the options, so that they run already."""

    async def close(self) -> None:
        """See `Cell.close`."""
        for fake in self._fakes.values():
            fake.kill()

    def victims(self, service_pid: int) -> list[int]:
        """See `Cell.victims`."""
        return workers_of(service_pid)

    def taken(self) -> list[Taken]:
        """See `Cell.taken`."""
        return [
            Taken(Place(arm, _NAMES[line["slot"][1]]), float(line["value"].partition(f"{TWIST}=")[2].rstrip(")")))
            for arm, fake in self._fakes.items()
            for line in fake.taken()
        ]


class AgentCell(Cell):
    """Arms that speak MQTT: an agent process for each is killed; the journals that they keep are the truth."""

    adapter = "mqtt_agent"
    names = tuple(MODES)
    lives_s = (3.0, 8.0)

    def __init__(self, server: Mosquitto, folder: Path, arms: list[str]) -> None:
        super().__init__(server, folder, arms)
        self._agents = {arm: AgentProcess(server.url, ROOT, folder / arm, arm) for arm in arms}
        self._journals = {arm: Journal(folder / arm / "arms" / JOURNAL, arm) for arm in arms}

    def options(self, arm: str) -> Mapping[str, Any]:
        """See `Cell.options`."""
        del arm
        return {}

    async def start(self) -> None:
        """See `Cell.start`."""
        for agent in self._agents.values():
            agent.start()

    async def close(self) -> None:
        """See `Cell.close`."""
        for agent in self._agents.values():
            agent.kill()

    def victims(self, service_pid: int) -> list[int]:
        """See `Cell.victims`."""
        del service_pid
        return [agent.pid for agent in self._agents.values()]

    async def kill(self, pid: int) -> None:
        """See `Cell.kill`; the journal is read before the next agent writes it anew."""
        arm = next(arm for arm, agent in self._agents.items() if agent.pid == pid)
        self._agents[arm].kill()
        self._journals[arm].follow()
        self._agents[arm].start()

    def taken(self) -> list[Taken]:
        """See `Cell.taken`."""
        return [one for journal in self._journals.values() for one in journal.follow()]


class Journal:
    """What one agent took, over all its lives; each of them begins with a journal that was written anew."""

    def __init__(self, path: Path, arm: str) -> None:
        self._path, self._arm = path, arm
        self._file = 0
        self._entries: list[Entry] = []
        self._read = 0

    def follow(self) -> list[Taken]:
        """Read what was written since; everything that was taken so far."""
        if self._path.exists():
            complete = self._path.read_bytes().rpartition(b"\n")[0].splitlines()
            entries = [one for one in map(msgspec.json.Decoder(Entry).decode, complete) if self._is_ours(one)]
            if self._path.stat().st_ino != self._file:
                self._file = self._path.stat().st_ino
                carried = self._entries and entries and entries[0].pair == self._entries[-1].pair
                self._read = 1 if carried else 0
            self._entries += entries[self._read :]
            self._read = len(entries)
        return [Taken(Place(self._arm, _NAMES[one.mode]), one.value[TWIST]) for one in self._entries]

    def _is_ours(self, entry: Entry) -> bool:
        """Whether an entry is of a command that the arm carried out."""
        mine = entry.serial == serial_number(self._arm, "gen3_7dof")
        return mine and entry.pair is not None and entry.key == TWIST and entry.value is not None
