"""One campaign: a whole service on a real Mosquitto, clients that change its arms, kills of what serves the arms."""

import asyncio
import contextlib
import random
import time
from pathlib import Path
from typing import Any, NamedTuple

from tests.campaigns.cells import ROOT, Cell, Place
from tests.devices.kortex.plant import exists
from tests.journey.client import Client
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto

PATIENCE_S = 12.0
"""Without a reply for so long the same request is sent again, with the same id."""
QUIET_S = 300.0
YOUNG = 0.1
"""The part of the kills that meet a process as soon as it is born."""
VALUES = [round(0.05 * 1.0025**number, 6) for number in range(900)]
"""Numbers that differ by more than what counts as the same."""
CODECS = ("json", "msgpack", "protobuf")
Document = dict[str, Any]


class Size(NamedTuple):
    """How large a campaign is; `lives_s`: how long a process may live, where it is not as its cell has it."""

    kills: int = 50
    arms: int = 4
    clients: int = 6
    lives_s: tuple[float, float] | None = None


class Sent(NamedTuple):
    """A request for a value that no other request asks for in that place, and every reply to it."""

    place: Place
    value: float
    replies: list[Document]


class Campaign:
    """One run."""

    def __init__(self, kind: type[Cell], folder: Path, seed: int, size: Size) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - a seeded schedule
        self.size = size
        self.server = Mosquitto(folder)
        self.cell = kind(self.server, folder, [f"r{number}" for number in range(1, size.arms + 1)])
        self.process = ServiceProcess(self.server, folder, ROOT, (), more=self.cell.settings())
        self.places = [Place(arm, name) for arm in self.cell.arms for name in self.cell.names]
        self.values = {place: self.dice.sample(VALUES, len(VALUES)) for place in self.places}
        self.sent: dict[str, Sent] = {}
        self.memory_kib: list[int] = []
        self.monitor = self._client("eye")
        self.exit_code = -1
        self.held: dict[Place, float] = {}
        """What the arms hold in the end."""
        self.left: list[int] = []
        """Worker processes that outlived the service."""

    def _client(self, name: str, **options: Any) -> Client:
        return Client(self.process.port, self.process.root, name, name, **options)

    async def run(self) -> None:
        """Load, kills, rest, end."""
        try:
            self.server.start()
            await self.cell.start()
            self.process.start()
            async with contextlib.AsyncExitStack() as stack:
                await stack.enter_async_context(self.monitor)
                await self.monitor.subscribe("evt/#", "state/#", "svc/+")
                await online(self.monitor, 1)
                for arm in self.cell.arms:
                    await self._present(arm)
                await self._trial(stack)
                await self._rest()
                self.held = await self.cell.now()
                workers = self.cell.victims(self.process.pid)
                self.exit_code = await self.process.stop()
            await self.cell.close()
            self.left = await _those_left(workers)
        finally:
            self.process.kill()
            await self.cell.close()
            self.server.stop()

    async def _trial(self, stack: contextlib.AsyncExitStack) -> None:
        over = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            for number in range(self.size.clients):
                client = self._client(f"u{number}", codec=CODECS[number % 3])
                await stack.enter_async_context(client)
                tasks.create_task(self._load(client, random.Random(self.dice.random()), over))  # noqa: S311 - seeded
            await self._kill_often()
            over.set()

    async def _load(self, client: Client, dice: random.Random, over: asyncio.Event) -> None:
        while not over.is_set():
            place = dice.choice(self.places)
            if not self.values[place]:
                return
            sent = Sent(place, self.values[place].pop(), [])
            request_id = client.new_id()
            self.sent[f"{client.user}/{client.conn}/{request_id}"] = sent
            await self._ask(client, sent, request_id)
            await asyncio.sleep(dice.uniform(0.0, 0.1))  # the pace of the load

    async def _ask(self, client: Client, sent: Sent, request_id: str) -> None:
        method, params = self.cell.request(sent.place.name, sent.value)
        while not sent.replies:
            await client.send(sent.place.arm, method, {"id": request_id, "params": params})
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    sent.replies.append(await client.reply(request_id))

    async def _kill_often(self) -> None:
        """Kill a process that has lived for a random time, again and again; one in ten as soon as it is born."""
        born: dict[int, float] = {}
        while len(self.memory_kib) < self.size.kills:
            young = self.dice.random() < YOUNG
            lives_s = 0.0 if young else self.dice.uniform(*(self.size.lives_s or self.cell.lives_s))
            victim = 0
            while not victim:
                await asyncio.sleep(0.05)  # the schedule of the kills
                now = time.monotonic()
                born = {pid: born.get(pid, now) for pid in self.cell.victims(self.process.pid)}
                victim = next((pid for pid in sorted(born) if now - born[pid] >= lives_s), 0)
            self.memory_kib.append(_resident_kib(victim))
            await self.cell.kill(victim)

    async def _present(self, arm: str) -> None:
        """Wait until an arm is there, longer than a client waits by itself."""
        async with asyncio.timeout(QUIET_S):
            while True:
                with contextlib.suppress(TimeoutError):
                    topic = f"state/{arm}/presence"
                    await self.monitor.document(topic, lambda document: document["state"] == "online")
                    return

    async def _rest(self) -> None:
        """Wait until nothing is pending on any arm, and the last event of each is told."""
        async with self._client("last") as client:
            for arm in self.cell.arms:
                async with asyncio.timeout(QUIET_S):
                    while True:
                        if await self._is_quiet(client, arm):
                            break
                        await asyncio.sleep(0.2)

    async def _is_quiet(self, client: Client, arm: str) -> bool:
        head = (await client.call(arm, "GetEvents", {"after_seq": 0}))["result"]["head_seq"]
        last: dict[str, Document] = {}
        for message in self.monitor.inbox:
            if message.topic.startswith(f"state/{arm}/"):
                last[message.topic.rpartition("/")[2]] = message.document
        config, presence = last.get("config"), last.get("presence")
        if config is None or (presence is not None and presence["state"] != "online"):
            return False
        return not config["pending"] and config["seq"] >= head


def _resident_kib(pid: int) -> int:
    """The resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


async def _those_left(pids: list[int]) -> list[int]:
    """Which of these processes do not end within 60 s."""
    for _ in range(1_200):
        if not any(map(exists, pids)):
            break
        await asyncio.sleep(0.05)
    return [pid for pid in pids if exists(pid)]
