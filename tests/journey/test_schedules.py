"""Random schedules of requests, faults, moving arms, lost connections and crashes, in virtual time.

Nothing is lost or done twice, every request has one end, and what waits counts until it has its own.

Each seed is one schedule; a seed that found a bug stays in `SEEDS`. `python -m tests.campaigns.schedules` plays others.
"""

import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from broker.arms.batch_job import BatchJob
from broker.life import State
from broker.link.mqtt_link import InboundMessage
from devices.adapter import LinkState
from schema.items import OWN_SLOTS
from tests.memory_link import BASE, Published
from tests.stored import event_bodies
from tests.virtual_plant import Plant, run

ARMS = ("r1", "r2")
SEEDS = (0, 1, 10)
STEPS = 120
LONG_S = 16 * 60.0
"""Long enough that what waits is old."""
MODES = ("CARTESIAN_JOYSTICK", "CARTESIAN_TRAJECTORY")
LASTING = ("hang", "lose_answer", "offline", "refuse", "delay", "moving", "garbage", "clamp")
SUDDEN = ("foreign_change", "foreign_change", "reboot", "none")


class Schedule:
    """One schedule: what was asked, what was published over all runs of the service, and the run that lasts."""

    def __init__(self, seed: int, folder: Path, *, batches: bool = False) -> None:
        self._batches = batches
        self.dice = random.Random(seed)  # noqa: S311 - a seeded schedule
        self.asked: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {}
        self.published: list[Published] = []
        self.starts = 0
        self._folder = folder

    async def play(self) -> Plant:
        """Play the schedule; the last run, at rest and still open."""
        data = self._folder / "0"
        owed: list[InboundMessage] = []
        for last in (False, False, True):
            plant = Plant(data, ARMS)
            await plant.__aenter__()
            self.starts += 1
            for message in owed:
                plant.link.deliver(message.topic.removeprefix(f"{BASE}/"), message.payload, dup=True)
            for _ in range(STEPS):
                await self._step(plant)
            if last:
                return plant
            while plant.store.committing:
                await plant.turn()
            data = plant.copy(self._folder / str(self.starts))
            owed = plant.link.unacked
            self.published += plant.link.published
            await plant.__aexit__()
        raise AssertionError("no last run")

    async def _step(self, plant: Plant) -> None:
        draw = self.dice.random()
        if draw < 0.5:
            self._ask(plant)
        elif draw < 0.6 and self.asked:
            self._send(plant, self.dice.choice(list(self.asked)))
        elif draw < 0.72:
            self._trouble(plant)
        elif draw < 0.75:
            plant.link.lose()
            plant.link.silent = False
            plant.link.restore(present=self.dice.random() < 0.7)
        elif draw < 0.78:
            plant.link.silent = True
        elif draw < 0.84:
            self._move(plant)
        elif draw < 0.88:
            method = self.dice.choice(("ConfirmPending", "DiscardPending"))
            plant.send(self.dice.choice(ARMS), method, {"all": True})
        await plant.turn(LONG_S if draw > 0.99 else self.dice.choice((0.0, 0.0, 0.01, 0.3, 3.0)))
        check_counts(plant)

    def _move(self, plant: Plant) -> None:
        """An arm begins to move, or stands again."""
        session = plant.session(self.dice.choice(ARMS))
        adapter: Any = session.adapter
        if session.state.online and adapter._sink is not None:
            adapter._sink(LinkState(online=True, ready=self.dice.random() < 0.6))

    def _trouble(self, plant: Plant) -> None:
        params: dict[str, Any] = {"fault": self.dice.choice((*LASTING, *SUDDEN))}
        if params["fault"] in LASTING:
            params |= {"for_ms": self.dice.choice((300, 4_000, 15_000)), "delay_ms": self.dice.choice((100, 3_000))}
        elif params["fault"] == "foreign_change":
            value = self.dice.randint(50, 450) / 1000
            params |= {"item": "twist_linear_soft_limit", "slot": self.dice.choice(MODES), "value": value}
        plant.send(self.dice.choice(ARMS), "SimFault", params)

    def _ask(self, plant: Plant) -> None:
        mode = {"control_mode": self.dice.choice(MODES)}
        method, params = (
            self._batch()
            if self._batches and self.dice.random() < 0.4
            else self.dice.choice(
                (
                    ("SetTwistLinearSoftLimit", {**mode, "twist_linear_soft_limit": self.dice.randint(1, 9) / 20}),
                    ("SetTwistLinearSoftLimit", {**mode, "twist_linear_soft_limit": self.dice.randint(1, 9) / 20}),
                    ("ResetTwistLinearSoftLimit", mode),
                    ("SetGravityVector", {"x": 0.0, "y": 0.0, "z": -9.0 - self.dice.randint(0, 9) / 10}),
                    ("SetControlMode", {"control_mode": self.dice.choice(("ANGULAR_JOYSTICK", "IDLE"))}),
                    ("SetDesiredLinearTwist", {"linear": self.dice.randint(1, 9) / 20}),
                    ("RestoreFactory", {}),
                )
            )
        )
        options: dict[str, Any] = {}
        if self.dice.random() < 0.2:
            options["wait"] = "stored"
        if self.dice.random() < 0.2:
            options["ttl_ms"] = self.dice.choice((50, 3_000))
        request_id = f"n{len(self.asked)}"
        self.asked[request_id] = (self.dice.choice(ARMS), method, params, options)
        self._send(plant, request_id)

    def _batch(self) -> tuple[str, dict[str, Any]]:
        """A change of several slots."""
        modes = self.dice.sample(MODES, self.dice.randint(1, 2))
        items: dict[str, Any] = {
            "twist_linear_soft_limit": {mode: self.dice.randint(1, 9) / 20 for mode in modes},
            "gravity_vector": {"x": 0.0, "y": 0.0, "z": -9.0 - self.dice.randint(0, 9) / 10},
            "desired_linear_twist": {"linear": self.dice.randint(1, 9) / 20},
            "joint_limits": {"max_velocity": {"values": [self.dice.randint(1, 9) / 10] * 7}},
        }
        for key in self.dice.sample(sorted(items), self.dice.randint(0, 2)):
            del items[key]
        params: dict[str, Any] = {"items": items, "partial": self.dice.random() < 0.3}
        return "ApplyConfig", params | ({"on_failure": "reverse"} if self.dice.random() < 0.3 else {})

    def _send(self, plant: Plant, request_id: str) -> None:
        arm, method, params, options = self.asked[request_id]
        plant.send(arm, method, params, id=request_id, **options)

    async def rest(self, plant: Plant) -> None:
        """End all faults, confirm what is held, and wait until everything has an end; the documents stay then."""
        plant.link.answer()
        if not plant.link.connected:
            plant.link.restore(present=True)
        for arm in ARMS:
            plant.send(arm, "SimFault", {"fault": "none"})
            adapter: Any = plant.session(arm).adapter
            adapter._sink(LinkState(online=True, ready=True))
        await plant.turn(120.0)
        for arm in ARMS:
            plant.send(arm, "ConfirmPending", {"all": True})
        await plant.turn(60.0)
        for request_id in self.asked:
            self._send(plant, request_id)
        await plant.turn(60.0)
        self.published += plant.link.published


def check_counts(plant: Plant) -> None:
    """What is pending is counted, and what it asks for counts beside what was read; one change of a slot is parked."""
    for arm in ARMS:
        session = plant.session(arm)
        state, unsettled = session.state, session.unsettled()
        assert state.unsettled == len(unsettled)
        places = Counter(slot for job in unsettled for slot in job.places)
        assert state.open == places
        parts = [part for job in unsettled for part in job.parts if not isinstance(job, BatchJob) or not job.factory]
        asked = [part for part in parts if part.wanted is not None and not part.unchanged]
        assert sum(map(len, state.unread.values())) == len(asked)
        assert all(part.unread in state.unread[part.slot] for part in asked)
        assert max(Counter(slot for job in session.parked for slot in job.places).values(), default=1) == 1
        assert state.parked == {job.rev: job.state is State.HELD for job in session.parked if job.rev}


def replies_of(published: list[Published]) -> dict[str, list[dict[str, Any]]]:
    """All replies by id."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in published:
        if each.topic.startswith("res/"):
            found[each.topic.rpartition("/")[2]].append(each.document)
    return found


def check_outcomes(schedule: Schedule, events: dict[str, list[dict[str, Any]]]) -> None:
    """One outcome per id, and what is not final has its event."""
    replies = replies_of(schedule.published)
    for request_id, (arm, method, params, _) in schedule.asked.items():
        given = replies[request_id]
        assert given, request_id
        final = {(reply["ok"], reply["rev"], reply["seq"], reply["stage"]) for reply in given if reply["final"]}
        assert len(final) == 1, (request_id, given)
        (ok, rev, seq, stage), mine = (
            next(iter(final)),
            [event for event in events[arm] if event.get("request_id") == f"u/c/{request_id}"],
        )
        assert len(mine) <= 1 or method == "ApplyConfig"
        assert len({event["rev"] for event in mine}) <= 1
        if any(reply["stage"] == "stored" for reply in given) or stage == "applied":
            assert [event["seq"] for event in mine][-1:] == [seq], (request_id, given)
            assert rev >= mine[0]["rev"]
        if stage == "applied" and method == "SetTwistLinearSoftLimit":
            assert ok
            assert mine[0]["change"]["after"] <= params["twist_linear_soft_limit"]
            clamped = any(warning["name"] == "CLAMPED" for reply in given for warning in reply["warnings"])
            assert clamped or mine[0]["change"]["after"] == params["twist_linear_soft_limit"]


def check_events(schedule: Schedule, stored: dict[str, list[dict[str, Any]]]) -> None:
    """No gap, `prev` right, and what was published is what is stored, in order."""
    for arm in ARMS:
        heads: dict[str, int] = defaultdict(int)
        assert [event["seq"] for event in stored[arm]] == list(range(1, len(stored[arm]) + 1))
        for event in stored[arm]:
            assert event["prev"] == heads[event["event"]]
            heads[event["event"]] = event["seq"]
        last: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        seen = {}
        for each in schedule.published:
            if each.topic.startswith(f"evt/{arm}/"):
                mark = (each.document["epoch"], each.document["seq"])
                if mark > last[each.topic]:
                    last[each.topic] = mark
                    seen[each.document["seq"]] = each.document
        assert [seen[seq] for seq in sorted(seen)] == stored[arm]


def check_rest(schedule: Schedule, plant: Plant, events: dict[str, list[dict[str, Any]]]) -> None:
    """At rest nothing is pending, and documents, store and arm agree."""
    for arm in ARMS:
        session = plant.session(arm)
        documents = {each.topic: each.document for each in schedule.published if each.retained}
        config, reported = documents[f"state/{arm}/config"], documents[f"state/{arm}/reported"]
        assert session.unsettled() == []
        assert (session.state.unsettled, session.state.open, session.state.open_rev) == (0, {}, {})
        assert (config["pending"], config["seq"], config["rev"]) == ([], len(events[arm]), session.state.rev)
        assert reported["seq"] == len(events[arm])
        adapter: Any = session.adapter
        of_arm = {slot: value for slot, value in session.state.reported.items() if slot not in OWN_SLOTS}
        assert adapter._arm._firmware.read_all().items == of_arm
        last = {}
        for event in events[arm]:
            if event["change"]:
                last[event["change"]["item"], event["change"].get("slot", "")] = event["cause"]
        for path in config["differs"]:
            item, _, slot = path.partition("/")
            assert last[item, slot] == "foreign", (arm, path, config)


def play_and_check(seed: int, folder: Path, *, batches: bool = False) -> None:
    """Play a schedule in an empty folder."""

    async def scenario() -> None:
        schedule = Schedule(seed, folder, batches=batches)
        plant = await schedule.play()
        await schedule.rest(plant)
        events = {arm: [*map(json.loads, event_bodies(plant.store._connection, arm))] for arm in ARMS}
        check_events(schedule, events)
        check_outcomes(schedule, events)
        check_rest(schedule, plant, events)
        await plant.__aexit__()

    run(scenario)


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_schedule(seed: int, tmp_path: Path) -> None:
    play_and_check(seed, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", [*SEEDS, 103])
def test_schedule_with_batches(seed: int, tmp_path: Path) -> None:
    play_and_check(seed, tmp_path, batches=True)
