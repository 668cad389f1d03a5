"""Kills worker processes of Kinova arms under load, and counts what was lost or doubled: nothing may be.

`python -m tests.campaigns.kill_workers [--kills 50] [--seed 1] [--arms 4] [--clients 6]`. The whole service in a
process on a real Mosquitto, its workers with the fake client, a fake arm in a process for each. Each request asks for
a value of its own, so that the arms' own logs tell how often each was carried out. Exit code 1 when anything is wrong.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from broker.blobs import unpack
from devices.worker.supervisor import STABLE_S
from schema.messages import TwistLinearSoftLimit
from tests.devices.kortex.plant import ArmProcess, exists, workers_of
from tests.journey.client import Client
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto

PATIENCE_S = 12.0
"""Without a reply for so long the same request is sent again, with the same id."""
QUIET_S = 90.0
YOUNG = 0.1
"""The part of the kills that meet a worker as soon as it is born."""
MODES = {"CARTESIAN_JOYSTICK": 2, "CARTESIAN_TRAJECTORY": 5, "CARTESIAN_WAYPOINT_TRAJECTORY": 12}
VALUES = [round(0.05 * 1.0025**number, 6) for number in range(900)]
"""Limits in m/s that differ by more than what counts as the same."""
CODECS = ("json", "msgpack", "protobuf")
METHOD = "SetTwistLinearSoftLimit"
TOOK_EFFECT = ("applied", "rounded", "clamped")
Document = dict[str, Any]


class Sent(NamedTuple):
    """A request for a value that no other request of the slot asks for, and every reply to it."""

    arm: str
    mode: str
    value: float
    replies: list[Document]


class Campaign:
    """One run; `wrong` holds what must not be."""

    def __init__(self, folder: Path, seed: int, arms: int, clients: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - a seeded schedule
        self.folder, self.clients = folder, clients
        self.arms = [f"r{number}" for number in range(1, arms + 1)]
        self.fakes = {arm: ArmProcess(folder / arm).start() for arm in self.arms}
        self.server = Mosquitto(folder).start()
        blocks = (self._block(arm, fake) for arm, fake in self.fakes.items())
        self.process = ServiceProcess(self.server, folder, "workers", (), more="\n".join(blocks))
        self.values = {(arm, mode): self._shuffled() for arm in self.arms for mode in MODES}
        self.sent: dict[str, Sent] = {}
        self.back_s: list[float] = []
        self.memory_kib: list[int] = []
        self.wrong: list[str] = []

    def _shuffled(self) -> list[float]:
        values = list(VALUES)
        self.dice.shuffle(values)
        return values

    def _block(self, arm: str, fake: ArmProcess) -> str:
        options = fake.options(self.folder / f"{arm}.password")
        lines = [f"{name} = {json.dumps(value)}" for name, value in options.items()]
        head = [
            "[[arm]]",
            f'id = "{arm}"',
            'adapter = "kortex"',
            'model = "gen3_7dof"',
            'authority = "control"',
            "[arm.options]",
        ]
        return "\n".join([*head, *lines])

    # ------------------------------------------------------------------ the load

    async def run(self, kills: int) -> None:
        """Load, kills, rest, end; then judge."""
        self.process.start()
        async with contextlib.AsyncExitStack() as stack:
            monitor = await stack.enter_async_context(Client(self.process.port, self.process.root, "eye", "eye"))
            await monitor.subscribe("evt/#", "state/#", "svc/+")
            await online(monitor, 1)
            for arm in self.arms:
                await self._until(monitor, arm, "presence", lambda document: document["state"] == "online")
            over = asyncio.Event()
            async with asyncio.TaskGroup() as tasks:
                for number in range(self.clients):
                    client = Client(
                        self.process.port, self.process.root, f"u{number}", f"c{number}", codec=CODECS[number % 3]
                    )
                    await stack.enter_async_context(client)
                    tasks.create_task(self._load(client, random.Random(self.dice.random()), over))  # noqa: S311
                await self._kill_often(kills)
                over.set()
            await self._rest(monitor)
            code = await self.process.stop()
            self._expect(code == 0, f"the service ended with {code}")
            self._judge_events(monitor)
        self._judge_requests()

    async def _load(self, client: Client, dice: random.Random, over: asyncio.Event) -> None:
        while not over.is_set():
            arm, mode = dice.choice(self.arms), dice.choice(list(MODES))
            if not self.values[arm, mode]:
                return
            sent = Sent(arm, mode, self.values[arm, mode].pop(), [])
            request_id = client.new_id()
            self.sent[f"{client.user}/{client.conn}/{request_id}"] = sent
            await self._ask(client, sent, request_id)
            await asyncio.sleep(dice.uniform(0.0, 0.1))  # the pace of the load

    async def _ask(self, client: Client, sent: Sent, request_id: str) -> None:
        params = {"control_mode": sent.mode, "twist_linear_soft_limit": sent.value}
        while not sent.replies:
            await client.send(sent.arm, METHOD, {"id": request_id, "params": params})
            with contextlib.suppress(TimeoutError):
                sent.replies.append(await asyncio.wait_for(client.reply(request_id), PATIENCE_S))

    async def _kill_often(self, kills: int) -> None:
        """Kill a worker that has lived for a random time, again and again; one in ten as soon as it is born."""
        born: dict[int, float] = {}
        while len(self.memory_kib) < kills:
            lives_s = 0.0 if self.dice.random() < YOUNG else self.dice.uniform(STABLE_S + 0.5, STABLE_S + 3.0)
            victim = 0
            while not victim:
                await asyncio.sleep(0.05)  # the schedule of the kills
                now = time.monotonic()
                born = {pid: born.get(pid, now) for pid in self._workers()}
                victim = next((pid for pid in sorted(born) if now - born[pid] >= lives_s), 0)
            status = Path(f"/proc/{victim}/status").read_text()
            self.memory_kib.append(int(status.partition("VmRSS:")[2].split()[0]))
            os.kill(victim, signal.SIGKILL)

    def _workers(self) -> list[int]:
        return workers_of(self._service_pid())

    def _service_pid(self) -> int:
        process = self.process._process
        return process.pid if process is not None else 0

    async def _until(self, monitor: Client, arm: str, name: str, wanted: Any) -> Document:
        """Wait for a document, longer than a client waits by itself."""
        async with asyncio.timeout(QUIET_S):
            while True:
                with contextlib.suppress(TimeoutError):
                    return await monitor.document(f"state/{arm}/{name}", wanted)

    async def _rest(self, monitor: Client) -> None:
        """Wait until nothing is pending on any arm, and the last event of each is told."""
        async with Client(self.process.port, self.process.root, "last", "last") as client:
            for arm in self.arms:
                async with asyncio.timeout(QUIET_S):
                    while True:
                        head = (await client.call(arm, "GetEvents", {"after_seq": 0}))["result"]["head_seq"]
                        documents = [
                            message.document for message in monitor.inbox if message.topic == f"state/{arm}/config"
                        ]
                        if documents and not documents[-1]["pending"] and documents[-1]["seq"] >= head:
                            break
                        await asyncio.sleep(0.2)

    # ------------------------------------------------------------------ the verdict

    def _expect(self, condition: object, text: str) -> None:
        if not condition:
            self.wrong.append(text)

    def _judge_events(self, monitor: Client) -> None:
        """Events have no gap and the monitor saw every one; the times of absence."""
        rows = sqlite3.connect(self.process.data / "store.sqlite3")
        for arm in self.arms:
            bodies = rows.execute("SELECT body FROM event WHERE arm = ? ORDER BY seq", (arm,))
            stored = [json.loads(body) for (body,) in bodies]
            self._expect([one["seq"] for one in stored] == list(range(1, len(stored) + 1)), f"{arm}: a gap in seq")
            seen = {one["seq"]: one for one in monitor.events(f"{arm}/")}
            self._expect([seen.get(one["seq"]) for one in stored] == stored, f"{arm}: the monitor missed events")
            ids = Counter(one["request_id"] for one in stored if one.get("request_id"))
            self._expect(max(ids.values(), default=0) <= 1, f"{arm}: a request has two events: {ids.most_common(1)}")
            foreign = [one for one in stored if one["cause"] == "foreign"]
            self._expect(not foreign, f"{arm}: {len(foreign)} changes of ours were told as foreign")
            away = 0.0
            for message in monitor.inbox:
                if message.topic == f"state/{arm}/presence":
                    since = _seconds(message.document["since"])
                    if message.document["state"] != "online":
                        away = away or since
                    elif away:
                        self.back_s.append(since - away)
                        away = 0.0
        rows.close()

    def _judge_requests(self) -> None:
        """Each request has one end; the arm carried it out once if it took effect, and never twice."""
        rows = sqlite3.connect(self.process.data / "store.sqlite3")
        found = rows.execute("SELECT request_id, state, outcome FROM change WHERE request_n > 0").fetchall()
        ends: dict[str, list[str]] = defaultdict(list)
        for request_id, state, outcome in found:
            if outcome not in ("reopened", "reverted"):
                ends[request_id].append(outcome if state == "settled" else state)
        took: Counter[tuple[str, int, float]] = Counter()
        last: dict[tuple[str, int], float] = {}
        for arm, fake in self.fakes.items():
            for line in fake.taken():
                value = float(line["value"].partition("twist_linear_soft_limit=")[2].rstrip(")"))
                took[arm, line["slot"][1], value] += 1
                last[arm, line["slot"][1]] = value
        self.outcomes: Counter[str] = Counter()
        for request_id, sent in self.sent.items():
            end, times = ends.get(request_id, []), took[sent.arm, MODES[sent.mode], sent.value]
            self._judge_one(request_id, sent, end, times)
        unasked = took.keys() - {(sent.arm, MODES[sent.mode], sent.value) for sent in self.sent.values()}
        self._expect(not unasked, f"the arms took what nobody asked for: {sorted(unasked)}")
        reported = rows.execute("SELECT arm, mode, reported FROM item WHERE key = 'twist_linear_soft_limit'")
        for arm, mode, blob in reported:
            if (arm, mode) in last:
                self._expect(
                    _number(blob) == last[arm, mode], f"{arm}, mode {mode}: {blob!r}, the arm has {last[arm, mode]}"
                )
        rows.close()

    def _judge_one(self, request_id: str, sent: Sent, end: list[str], times: int) -> None:
        refused = [reply for reply in sent.replies if reply["stage"] == "refused"]
        self.outcomes.update(end or ["refused"])
        self._expect(len(end) == 1 or (refused and not end), f"{request_id} has the ends {end}")
        self._expect(times <= 1, f"{request_id} was carried out {times} times")
        effective = bool(end) and end[0] in TOOK_EFFECT
        self._expect(not effective or times == 1, f"{request_id} ended as {end}, the arm carried it out {times} times")
        for reply in sent.replies:
            if reply["stage"] == "applied":
                self._expect(effective, f"{request_id} was answered applied and ended as {end}")
        if times and not effective:
            self._expect(
                end and end[0] in ("overwritten", "superseded"), f"{request_id} took effect and ended as {end}"
            )

    def figures(self) -> Document:
        """What the run came to."""
        replies = [reply for sent in self.sent.values() for reply in sent.replies]
        writes = sum(len(fake.taken()) for fake in self.fakes.values())
        return {
            "requests": len(self.sent),
            "replies by stage": dict(Counter(reply["stage"] for reply in replies)),
            "refusals": dict(Counter(reply["error"]["kind"] for reply in replies if reply["stage"] == "refused")),
            "ends": dict(self.outcomes),
            "carried out by the arms": writes,
            "workers killed": len(self.memory_kib),
            "times away": len(self.back_s),
            "back after, median s": round(statistics.median(self.back_s), 2) if self.back_s else None,
            "back after, longest s": round(max(self.back_s), 2) if self.back_s else None,
            "memory of a worker, MiB": round(statistics.median(self.memory_kib) / 1024, 1),
            "wrong": self.wrong,
        }

    def close(self) -> None:
        """End everything."""
        workers = self._workers()
        self.process.kill()
        for fake in self.fakes.values():
            fake.kill()
        self.server.stop()
        deadline = time.monotonic() + 10
        while any(map(exists, workers)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self._expect(not any(map(exists, workers)), "workers outlived the service")


def _seconds(text: str) -> float:
    """The time of a document, in seconds."""
    return datetime.fromisoformat(text).timestamp()


def _number(blob: bytes) -> float:
    """The limit in a value of the store."""
    value = unpack(blob, TwistLinearSoftLimit)
    return value.twist_linear_soft_limit if isinstance(value, TwistLinearSoftLimit) else 0.0


def main() -> int:
    """Run it; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arms", type=int, default=4)
    parser.add_argument("--clients", type=int, default=6)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kill-workers-") as place:
        campaign = Campaign(Path(place), chosen.seed, chosen.arms, chosen.clients)
        try:
            asyncio.run(campaign.run(chosen.kills))
        finally:
            campaign.close()
        figures = {"seed": chosen.seed, **campaign.figures()}
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")
    return 1 if campaign.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
