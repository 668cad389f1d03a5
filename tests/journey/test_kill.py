"""A service killed again and again under load loses nothing, does nothing twice, and tells everything."""

import asyncio
import json
import random
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from devices.simulated.firmware import serial_number
from devices.simulated.store import SimulatedStore
from schema.arms import Slot
from schema.codecs.items_form import items_document
from schema.codecs.json_codec import unpack
from schema.items import ITEMS
from schema.messages import Message
from tests.journey.client import Client
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto
from tests.stored import ends as stored_ends
from tests.stored import event_bodies, jobs

ARMS = ("r1", "r2", "r3")
SEED = 20261130
KILLS = 5
PATIENCE_S = 1.0
"""Without a reply for so long the same request is sent again with the same id."""
MODES = ("CARTESIAN_JOYSTICK", "CARTESIAN_TRAJECTORY")
LIMIT = "twist_linear_soft_limit"
USERS = (("alice", "json", 5), ("bert", "msgpack", 5), ("cora", "protobuf", 5), ("dirk", "json", 4))

Reply = dict[str, Any]

pytestmark = [pytest.mark.flaky(reruns=0), pytest.mark.long]


class Sent(NamedTuple):
    """A request and every reply to it."""

    request_id: str
    arm: str
    method: str
    params: dict[str, Any]
    replies: list[Reply]


def _change(dice: random.Random) -> tuple[str, dict[str, Any]]:
    """A method and its params."""
    mode = {"control_mode": dice.choice(MODES)}
    draw = dice.random()
    if draw < 0.2:
        limits = {name: dice.randint(50, 500) / 1000 for name in MODES}
        gravity = {"x": 0.0, "y": dice.randint(-3, 3) / 10, "z": -9.8}
        payload = {"payload_mass": dice.randint(0, 30) / 10}
        items = {"gravity_vector": gravity, "payload_information": payload, LIMIT: limits}
        return "ApplyConfig", {"items": items}
    if draw < 0.5:
        return "SetTwistLinearSoftLimit", {**mode, "twist_linear_soft_limit": dice.randint(50, 500) / 1000}
    if draw < 0.6:
        return "ResetTwistLinearSoftLimit", mode
    if draw < 0.9:
        speeds = [dice.randint(20, 70) for _ in range(7)]
        return "SetJointSpeedSoftLimits", {**mode, "joint_speed_soft_limits": speeds}
    return "SetGravityVector", {"x": 0.0, "y": dice.randint(-3, 3) / 10, "z": -9.8}


class Load:
    """What all clients sent, and how much of it was answered."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.sent: dict[str, Sent] = {}
        self.answered = 0
        self.repeats = 0
        self._news = asyncio.Event()

    def tell(self) -> None:
        """Another one was answered."""
        self.answered += 1
        self._news.set()

    async def until(self, enough: Callable[[], bool]) -> None:
        """Wait until that holds."""
        while not enough():
            self._news.clear()
            await self._news.wait()

    async def more(self, number: int) -> None:
        """Wait until so many more were answered."""
        wanted = self.answered + number
        await self.until(lambda: self.answered >= wanted)

    def is_one(self) -> bool:
        """Whether it was enough that something could go wrong, on any machine."""
        batches = sum(sent.method == "ApplyConfig" for sent in self.sent.values())
        return len(self.sent) > 100 and min(batches, self.repeats) > 4 * KILLS

    async def work(self, client: Client, dice: random.Random) -> None:
        """Change after change, and now and then an old one again, until it is over."""
        log: list[Sent] = []
        while not self.over.is_set():
            if log and dice.random() < 0.2:
                await _ask(client, dice.choice(log))
                self.repeats += 1
            else:
                method, params = _change(dice)
                log.append(Sent(client.new_id(), dice.choice(ARMS), method, params, []))
                self.sent[f"{client.user}/{client.conn}/{log[-1].request_id}"] = log[-1]
                await _ask(client, log[-1])
            self.tell()


async def _ask(client: Client, sent: Sent) -> None:
    """Send until a reply comes."""
    while True:
        await client.send(sent.arm, sent.method, {"id": sent.request_id, "params": sent.params})
        try:
            async with asyncio.timeout(PATIENCE_S):
                sent.replies.append(await client.reply(sent.request_id))
        except TimeoutError:
            continue
        return


class Outcome(NamedTuple):
    """What the whole trial left."""

    sent: dict[str, Sent]
    monitor: Client
    process: ServiceProcess
    rows: sqlite3.Connection

    def replies(self) -> list[tuple[str, Reply]]:
        """Each reply with its full request id."""
        return [(full, reply) for full, sent in self.sent.items() for reply in sent.replies]

    def events(self, arm: str) -> list[dict[str, Any]]:
        """All events of an arm, from the store."""
        return [*map(json.loads, event_bodies(self.rows, arm))]

    def values(self, arm: str, column: str) -> dict[Slot, Message]:
        """Desired or reported values of an arm, from the store."""
        found = self.rows.execute(f"SELECT key, mode, {column} FROM item WHERE arm = ?", (arm,))  # noqa: S608 - a column of ours
        return {(key, mode): unpack(blob, ITEMS[key].record) for key, mode, blob in found}


async def _trial(process: ServiceProcess, monitor: Client, clients: list[Client]) -> dict[str, Sent]:
    """Load, kills at random times, and the end of the load once there was enough of it."""
    dice = random.Random(SEED)  # noqa: S311 - a seeded schedule
    load = Load()
    async with asyncio.TaskGroup() as tasks:
        for client in clients:
            tasks.create_task(load.work(client, random.Random(dice.random())))  # noqa: S311 - seeded
        for number in range(KILLS):
            process.start()
            await online(monitor, number + 1)
            await load.more(dice.randint(0, 100))
            await asyncio.sleep(dice.uniform(0.0, 0.1))  # the moment of the kill, not a wait for anything
            process.kill()
        process.start()
        await online(monitor, KILLS + 1)
        await load.more(100)
        await load.until(load.is_one)
        load.over.set()
    return load.sent


@pytest.fixture(scope="module")
def outcome(mosquitto: Mosquitto, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    """One trial for all tests of this module."""
    process = ServiceProcess(mosquitto, tmp_path_factory.mktemp("kill"), "kill", ARMS, latency_ms=3)
    try:
        sent, monitor = asyncio.run(_whole_trial(process))
    finally:
        process.kill()
    rows = sqlite3.connect(process.data / "store.sqlite3")
    yield Outcome(sent, monitor, process, rows)
    rows.close()


async def _whole_trial(process: ServiceProcess) -> tuple[dict[str, Sent], Client]:
    """The trial, the rest after it, and a clean end; a monitor that saw everything."""
    async with AsyncExitStack() as stack:
        monitor = await stack.enter_async_context(Client(process.port, process.root, "eye", "eye"))
        await monitor.subscribe("evt/#", "state/#", "svc/+")
        clients = [
            await stack.enter_async_context(
                Client(process.port, process.root, user, f"{user}-1", codec=codec, version=version)
            )
            for user, codec, version in USERS
        ]
        sent = await _trial(process, monitor, clients)
        await _quiet(monitor, clients[0])
        assert await process.stop() == 0
        return sent, monitor


async def _quiet(monitor: Client, client: Client) -> None:
    """Wait until the documents tell the last event of each arm, and nothing is pending."""
    for arm in ARMS:
        head = (await client.call(arm, "GetEvents", {"after_seq": 0}))["result"]["head_seq"]
        await monitor.document(f"state/{arm}/config", partial(_is_quiet, head))
        await monitor.document(f"state/{arm}/reported", partial(_tells, head))


def _is_quiet(head: int, document: dict[str, Any]) -> bool:
    return document["seq"] >= head and not document["pending"]


def _tells(head: int, document: dict[str, Any]) -> bool:
    return bool(document["seq"] >= head)


def test_the_load_was_one(outcome: Outcome) -> None:
    assert all(sent.replies for sent in outcome.sent.values())
    assert sum(reply.get("duplicate", False) for _, reply in outcome.replies()) > KILLS
    (epoch,) = outcome.rows.execute("SELECT epoch FROM service").fetchone()
    assert epoch == KILLS + 1


def test_every_change_answered_applied_is_there(outcome: Outcome) -> None:
    stored = {
        one.past.request_id: (one.past.arm, one.past.rev, one.past.state, one.past.outcome)
        for one in jobs(outcome.rows)
        if one.past is not None and one.request is not None
    }
    for full, reply in outcome.replies():
        if reply["stage"] != "applied":
            continue
        arm, rev, state, result = stored[full]
        assert (arm, state) == (outcome.sent[full].arm, "settled")
        assert rev in (0, reply["rev"])
        assert result in ("applied", "rounded", "unchanged")


def test_one_outcome_per_id(outcome: Outcome) -> None:
    for full, sent in outcome.sent.items():
        ends = {(reply["ok"], reply["rev"], reply["seq"]) for reply in sent.replies if reply["final"]}
        assert len(ends) <= 1, (full, sent.replies)
    requests = [full for full, _, _ in stored_ends(outcome.rows)]
    assert len(requests) == len(set(requests))
    told = [
        (event["request_id"], event["event"], (event["change"] or {}).get("slot"))
        for arm in ARMS
        for event in outcome.events(arm)
        if event.get("request_id")
    ]
    assert len(told) == len(set(told))


def test_a_batch_is_told_whole_and_in_one_revision(outcome: Outcome) -> None:
    batches = {full for full, sent in outcome.sent.items() if sent.method == "ApplyConfig"}
    told: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for arm in ARMS:
        for event in outcome.events(arm):
            if event.get("request_id") in batches:
                told[event["request_id"]].append(event)
    assert len(told) > KILLS
    for full, events in told.items():
        seqs = [event["seq"] for event in events]
        assert seqs == list(range(seqs[0], seqs[0] + len(seqs))), full
        assert len({event["rev"] for event in events}) == 1, full
        changed = [event for event in events if event["change"] is not None]
        whole = [event for event in events if event["event"] == "CONFIG_APPLIED"]
        items = whole[0]["details"]["items"] if whole else {}
        assert sum(outcome_of in ("applied", "rounded") for outcome_of in items.values()) == len(changed), full
        finals = [reply for reply in outcome.sent[full].replies if reply["final"]]
        assert all(reply["seq"] == seqs[-1] for reply in finals), full


def test_events_have_no_gap(outcome: Outcome) -> None:
    for arm in ARMS:
        heads: dict[str, int] = defaultdict(int)
        events = outcome.events(arm)
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        for event in events:
            assert event["prev"] == heads[event["event"]]
            heads[event["event"]] = event["seq"]
        assert [event["epoch"] for event in events] == sorted(event["epoch"] for event in events)


def test_the_monitor_saw_every_event_in_order(outcome: Outcome) -> None:
    for arm in ARMS:
        last: dict[str, tuple[int, int]] = {}
        seen: dict[int, dict[str, Any]] = {}
        for message in outcome.monitor.inbox:
            if message.topic.startswith(f"evt/{arm}/"):
                event = message.document
                mark = (event["epoch"], event["seq"])
                if mark > last.get(message.topic, (0, 0)):
                    last[message.topic] = mark
                    seen[event["seq"]] = event
        assert [seen[seq] for seq in sorted(seen)] == outcome.events(arm)


def test_no_document_goes_back(outcome: Outcome) -> None:
    last: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for message in outcome.monitor.inbox:
        if message.topic.startswith("state/"):
            mark = (message.document["rev"], message.document["seq"])
            assert mark[0] >= last[message.topic][0]
            assert mark[1] >= last[message.topic][1]
            last[message.topic] = mark


def is_of(seq: int, document: dict[str, Any]) -> bool:
    """Whether a document contains all events up to `seq`; documents follow their events a little later."""
    return bool(document["seq"] == seq)


async def test_retained_documents_equal_the_store(outcome: Outcome) -> None:
    process = outcome.process
    async with Client(process.port, process.root, "late", "late") as late:
        await late.subscribe("state/#")
        for arm in ARMS:
            rev, seq = outcome.rows.execute("SELECT rev, seq FROM arm WHERE arm = ?", (arm,)).fetchone()
            config = await late.document(f"state/{arm}/config", partial(is_of, seq))
            reported = await late.document(f"state/{arm}/reported", partial(is_of, seq))
            assert (config["rev"], config["seq"], config["pending"], config["differs"]) == (rev, seq, [], [])
            assert config["items"] == items_document(outcome.values(arm, "desired"))
            assert reported["items"] == items_document(outcome.values(arm, "reported"))


def test_the_arm_holds_what_is_reported(outcome: Outcome, tmp_path: Path) -> None:
    journal = outcome.process.data / "adapters" / "simulated" / "simulated_arms.jsonl"
    (tmp_path / journal.name).write_bytes(journal.read_bytes())
    memory = SimulatedStore(tmp_path)
    for arm in ARMS:
        held = memory.memory(serial_number(arm, "gen3_7dof")).items
        reported = outcome.values(arm, "reported")
        assert held
        assert {slot: reported[slot] for slot in held} == held
    memory.close()


def test_the_last_change_of_a_slot_is_in_force(outcome: Outcome) -> None:
    for arm in ARMS:
        last: dict[str, tuple[int, float]] = {}
        for full, reply in outcome.replies():
            sent = outcome.sent[full]
            if sent.arm == arm and reply["stage"] == "applied" and sent.method == "ApplyConfig":
                for mode, value in sent.params["items"][LIMIT].items():
                    last[mode] = max(last.get(mode, (0, 0.0)), (reply["rev"], value))
            if sent.arm == arm and reply["stage"] == "applied" and "TwistLinear" in sent.method:
                value = sent.params.get("twist_linear_soft_limit", 0.0) or reply["result"]["twist_linear_soft_limit"]
                last[sent.params["control_mode"]] = max(
                    last.get(sent.params["control_mode"], (0, 0.0)), (reply["rev"], value)
                )
        found = items_document(outcome.values(arm, "reported"))["twist_linear_soft_limit"]
        for mode, (_, value) in last.items():
            assert found[mode] == pytest.approx(value, rel=1e-6)
