"""A whole service on a real MQTT server with people who use it: what campaigns do their harm to."""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from devices.simulated.firmware import serial_number
from devices.simulated.store import JOURNAL, Entry
from tests.campaigns.defects import VARIABLE
from tests.campaigns.figures import EndedError
from tests.campaigns.people import Asked, Document, Person, dice_of
from tests.journey.processes import ServiceProcess
from tests.mosquitto import Mosquitto, free_port
from tests.tcp_proxy import TcpProxy

PATIENCE_S = 2.0
"""Without a reply for so long the same request is sent again, with the same id."""
REST_S, JUDGED_S, WITH_DEFECT_S = 300.0, 900.0, 60.0
"""Longer than any machine needs: who waits for so long stands still. With a defect that is told sooner."""
_SAID = 1_000
"""So much of the end of a log is shown."""
MODES = {
    "CARTESIAN_JOYSTICK": 2, "CARTESIAN_TRAJECTORY": 5, "CARTESIAN_WAYPOINT_TRAJECTORY": 12,
}  # fmt: skip
ITEM = "twist_linear_soft_limit"
METHOD = "SetTwistLinearSoftLimit"
LOAD, LOAD_METHOD, MASS = "payload_information", "SetPayloadInformation", "payload_mass"
VALUES = [round(0.02 * 1.0008**number, 7) for number in range(3900)]
"""Numbers that differ by more than what counts as the same, all below the hard limit."""
TOO_FAST = 0.9
CODECS = ("json", "msgpack", "protobuf")
_DECODER = msgspec.json.Decoder(Entry)
Place = tuple[str, str]
"""An arm and a control mode: where one number lies."""


class Taken(NamedTuple):
    """A number that an arm took, by the command's (epoch, cmd_seq)."""

    place: Place
    number: float
    pair: tuple[int, int]


class Stage:
    """One MQTT server, one service, users `u0`, `u1`, ... and a monitor; every request asks for a number of its own.

    So the journal of the arms tells how often each request was carried out. With `proxied` the service reaches the MQTT
    server through `proxy`.
    """

    def __init__(
        self, folder: Path, seed: float, *, arms: int = 3, users: int = 4, defect: str = "", config: str = "",
        proxied: bool = False, latency_ms: float = 2, more: str = "", module: str = "",
    ) -> None:  # fmt: skip
        self.dice = dice_of(seed)
        self.arms = [f"r{number}" for number in range(1, arms + 1)]
        self.server = Mosquitto(folder, config) if config else Mosquitto(folder)
        self.proxy = TcpProxy(self.server.port, free_port()) if proxied else None
        module = module or ("tests.campaigns.defects" if defect else "armbroker")
        self.process = ServiceProcess(
            self.server,
            folder,
            "stage",
            self.arms,
            latency_ms=latency_ms,
            module=module,
            more=more,
            port=self.proxy.port if self.proxy else 0,
        )
        self._defect = defect
        self.rest_s, self.judged_s = (WITH_DEFECT_S, WITH_DEFECT_S) if defect else (REST_S, JUDGED_S)
        self.users = [
            Person(self.server.port, self.process.root, f"u{number}", codec=CODECS[number % 3])
            for number in range(users)
        ]
        self.monitor = Person(self.server.port, self.process.root, "eye", filters=("evt/#", "state/#", "svc/+"))
        self.asked: dict[str, Asked] = {}
        self.weighs = False
        """Whether payloads count among what was taken, each in the place of its item."""
        self.exit_code: int | None = None
        self._values: dict[Place, list[float]] = {
            (arm, mode): self.dice.sample(VALUES, len(VALUES)) for arm in self.arms for mode in MODES
        }
        self._taken: dict[tuple[str, tuple[int, int]], Taken] = {}
        self._over = asyncio.Event()
        self.answers = 0
        """How many requests of the load were answered."""
        self._news = asyncio.Event()

    def start(self, prefix: Sequence[str] = ()) -> None:
        """Start the service, with its defect."""
        self._read_journal()
        self.process.start(prefix=prefix, environment={VARIABLE: self._defect} if self._defect else {})

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Stage"]:
        """The MQTT server and the people; the service is started by who uses it, and ended here at the latest."""
        self.server.start()
        try:
            async with contextlib.AsyncExitStack() as stack:
                if self.proxy is not None:
                    await stack.enter_async_context(self.proxy)
                for person in (self.monitor, *self.users):
                    await stack.enter_async_context(person)
                yield self
        finally:
            self.process.kill()
            self.server.stop()

    @contextlib.asynccontextmanager
    async def load(self, pause_s: float = 0.02, *, may_end: bool = False) -> AsyncIterator[None]:
        """All users at work until the end of the block; then each still waits for its last reply, `rest_s` at most.

        Unless it `may_end`, the service has to live from then on until they have them.
        """
        self._over.clear()
        async with asyncio.timeout(None) as bound, asyncio.TaskGroup() as tasks:
            working = [
                tasks.create_task(self._work(person, dice_of(self.dice.random()), pause_s)) for person in self.users
            ]
            try:
                yield
            finally:
                self._over.set()
                bound.reschedule(asyncio.get_running_loop().time() + self.rest_s)
            if not may_end:
                async with self.serving():
                    await asyncio.wait(working)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """A block that waits for the service: EndedError in a group once that ended by itself with an error."""
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._watch())
            yield
            watching.cancel()

    async def _watch(self) -> None:
        while (self.process.returncode or 0) <= 0:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)
        raise EndedError(f"the service ended with {self.process.returncode}: {self.process.log[-_SAID:]}")

    async def _work(self, person: Person, dice: random.Random, pause_s: float) -> None:
        mine: list[Asked] = []
        while not self._over.is_set():
            if mine and dice.random() < 0.15:
                await person.ask(dice.choice(mine), PATIENCE_S)
            else:
                mine.append(self._next(person, dice))
                self.asked[mine[-1].full_id] = mine[-1]
                await person.ask(mine[-1], PATIENCE_S)
            self.answers += 1
            self._news.set()
            await self.monitor.in_step()
            await asyncio.sleep(dice.uniform(0.0, pause_s))  # the pace of the load

    async def answered(self, more: int) -> None:
        """Wait until so many more requests of the load were answered, `rest_s` at most."""
        wanted = self.answers + more
        async with asyncio.timeout(self.rest_s), self.serving():
            while self.answers < wanted:
                self._news.clear()
                await self._news.wait()

    def next_request(self, person: Person) -> Asked:
        """A request that nobody asked yet; whoever takes it has to send it."""
        asked = self._next(person, self.dice)
        self.asked[asked.full_id] = asked
        return asked

    def _next(self, person: Person, dice: random.Random) -> Asked:
        arm, mode = dice.choice(self.arms), dice.choice(list(MODES))
        value = TOO_FAST if dice.random() < 0.1 else self.value(arm, mode)
        params = {"control_mode": mode, ITEM: value}
        return Asked(f"{person.user}/{person.conn}/{person.new_id()}", arm, METHOD, {"params": params}, [])

    def value(self, arm: str, mode: str) -> float:
        """A number that nobody asked for there."""
        return self._values[arm, mode].pop()

    async def online(self, epoch: int) -> int:
        """Wait until a run of this epoch, or a later one, takes requests, for `rest_s` at most; its epoch."""

        def wanted(document: Document) -> bool:
            return bool(document["state"] == "online" and document["epoch"] >= epoch)

        async with asyncio.timeout(self.rest_s), self.serving():
            told = await self.monitor.until(lambda told: told.topic == "svc/main" and wanted(told.document))
        return int(told.document["epoch"])

    async def rest(self) -> None:
        """Wait until nothing is pending on any arm and its documents tell its last event; `rest_s` at most."""
        async with asyncio.timeout(self.rest_s), self.serving():
            for arm in self.arms:
                while not await self._is_quiet(arm):  # noqa: ASYNC110 - asked from outside
                    await asyncio.sleep(0.1)

    async def _is_quiet(self, arm: str) -> bool:
        head = (await self.monitor.call(arm, "GetEvents", {"after_seq": 0, "limit": 1}))["result"]["head_seq"]
        config = [told for told in self.monitor.told if told.topic == f"state/{arm}/config"][-1:]
        presence = [told for told in self.monitor.told if told.topic == f"state/{arm}/presence"][-1:]
        if not config or not presence or presence[0].document["state"] != "online":
            return False
        return not config[0].document["pending"] and config[0].document["seq"] >= head

    def kill(self) -> None:
        """End the service as a power cut would, and what it was started by."""
        if self.process.pid:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

    def taken(self) -> list[Taken]:
        """What the arms carried out, in their order."""
        self._read_journal()
        return list(self._taken.values())

    def _read_journal(self) -> None:
        """Note what the arms wrote down since the last look: a start writes their journal anew, and shorter."""
        for serial, taken in self._entries(self.process.data):
            self._taken.setdefault((serial, taken.pair), taken)

    def journal_of(self, data: Path) -> list[Taken]:
        """What the arms of another service carried out, as its journal tells now."""
        return [taken for _, taken in self._entries(data)]

    def _entries(self, data: Path) -> Iterator[tuple[str, Taken]]:
        names = {serial_number(arm, "gen3_7dof"): arm for arm in self.arms}
        modes = {number: name for name, number in MODES.items()}
        journal = data / "adapters" / "simulated" / JOURNAL
        if not journal.exists():
            return
        for line in journal.read_bytes().rpartition(b"\n")[0].splitlines():
            entry = _DECODER.decode(line)
            if entry.pair is None or entry.refusal is not None or entry.serial not in names:
                continue
            if entry.key == ITEM:
                place = (names[entry.serial], modes[entry.mode])
                yield entry.serial, Taken(place, entry.value[ITEM], entry.pair)
            elif entry.key == LOAD and self.weighs:
                yield entry.serial, Taken((names[entry.serial], LOAD), entry.value.get(MASS, 0.0), entry.pair)
