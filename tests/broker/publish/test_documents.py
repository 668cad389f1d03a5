"""Documents: coalesced, after their events, and true."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from broker.arms.arm_session import ArmSession
from broker.publish.comparison import SHEETS, Comparison, Key
from broker.publish.contents import BUILDERS, Build
from broker.publish.documents import BESIDE_S, LOOKS, PAUSE_MOST, SLICE_S, YIELD_S, YIELDS, Documents
from broker.record.replies import JSON
from broker.topics import Topics
from tests.virtual_plant import Plant, play

SET = "SetTwistLinearSoftLimit"
ITEM, SLOT = "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
ARMS = tuple(f"r{number}" for number in range(12))


def value(limit: float) -> dict[str, Any]:
    """Params of the Set."""
    return {"control_mode": SLOT, ITEM: limit}


def test_a_document_follows_the_event_it_contains(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(1.0)
        after = len(plant.link.published)
        await plant.call("r1", SET, value(0.25))
        await plant.turn(1.0)
        topics = [published.topic for published in plant.link.published[after:]]
        event = topics.index("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED")
        assert event < topics.index("state/r1/config")
        assert event < topics.index("state/r1/reported")
        assert topics.count("state/r1/config") == 1
        assert "state/r1/mode" not in topics

    play(tmp_path, scenario)


def test_a_document_comes_at_most_ten_times_a_second(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(1.0)
        after = len(plant.link.published)
        for number in range(100):
            await plant.call("r1", SET, value(0.1 + number / 1000))
            await plant.turn(0.01)
        await plant.turn(1.0)
        times = [each.at_s for each in plant.link.published[after:] if each.topic == "state/r1/config"]
        assert 9 <= len(times) <= 12
        assert all(later - earlier >= 0.099 for earlier, later in pairwise(times))
        last = [each for each in plant.link.published if each.topic == "state/r1/config"][-1].document
        assert (last["items"][ITEM][SLOT], last["seq"], last["pending"]) == (0.199, 100, [])

    play(tmp_path, scenario)


def test_presence_comes_first_and_the_largest_later_but_not_after_everything(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(10.0)
        documents, sessions, after = plant.service._documents, plant.service.sessions, len(plant.link.published)
        documents.mark(sessions["r0"], "effective", "config")
        documents.mark(sessions["r1"], "config", "presence")
        await plant.turn(0.9)
        documents.mark(sessions["r2"], "reported")
        await plant.turn(5.0)
        assert [each.topic for each in plant.link.published[after:]] == [
            "state/r1/presence", "state/r0/config", "state/r1/config", "state/r0/effective", "state/r1/effective",
            "state/r2/reported", "state/r2/effective",
        ]  # fmt: skip

    play(tmp_path, scenario, arms=ARMS)


def test_thousands_of_documents_are_sent_at_a_cost_each_and_not_more(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(5.0)
        documents, session, after = plant.service._documents, plant.session("r0"), len(plant.link.published)
        for number in range(5_000):
            state = replace(session.state, arm=f"x{number}")
            documents.mark(replace(session, state=state), "presence")
        turns = 0
        while not documents.settled:
            turns += 1
            await plant.turn(0.01)
        assert len({each.topic for each in plant.link.published[after:]}) == 5_000
        assert turns < 5_000

    play(tmp_path, scenario, arms=("r0",))


def test_a_document_under_way_is_not_overtaken_by_itself(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(1.0)
        plant.link.silent = True
        after = len(plant.link.published)
        for limit in (0.25, 0.2):
            await plant.call("r1", SET, value(limit))
            await plant.turn(1.0)
        sent = [each for each in plant.link.published[after:] if each.topic == "state/r1/config"]
        assert [each.document["seq"] for each in sent] == [1]
        plant.link.answer()
        latest = await plant.document("state/r1/config", lambda document: document["seq"] == 2)
        assert latest["items"][ITEM][SLOT] == 0.2

    play(tmp_path, scenario)


def test_a_settled_change_is_never_pending(tmp_path: Path) -> None:
    """Not even in a document that is built before its commit ends."""

    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        for limit in (0.25, 0.2):
            plant.send("r1", SET, value(limit))
        await plant.document("state/r1/config", lambda document: len(document["pending"]) == 2)
        await plant.fault("r1", "none")
        await plant.turn(1.0)
        for published in plant.link.published:
            if published.topic == "state/r1/config" and published.document["seq"]:
                settled = {event["rev"] for event in plant.events() if event["seq"] <= published.document["seq"]}
                assert not settled & {entry["rev"] for entry in published.document["pending"]}

    play(tmp_path, scenario)


def test_documents_give_way_to_a_backlog_of_replies(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(1.0)
        plant.link.silent = True
        after = len(plant.link.published)
        for _ in range(40):
            await plant.call("r1", "WhoAmI")
        await plant.call("r1", SET, value(0.25))
        await plant.turn(5.0)
        assert not [each for each in plant.link.published[after:] if each.topic.startswith("state/")]
        plant.link.answer()
        await plant.document("state/r1/config", lambda document: document["seq"] == 1)

    play(tmp_path, scenario)


class SlowLoop:
    """A clock on which making a document takes 1.5 ms, and the timers that were asked of it."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now_s

    def call_at(self, when: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        self.timers.append((when, callback))
        return asyncio.TimerHandle(when, callback, (), asyncio.get_running_loop())

    def making(self, build: Build) -> Build:
        """How a document is made, on this clock."""

        def slowly(session: ArmSession) -> dict[str, Any]:
            self.now_s += 0.0015
            return build(session)

        return slowly


def test_making_documents_leaves_time_to_the_requests(tmp_path: Path) -> None:
    """A pause is as long as the slice for each reply or event of that time, up to a bound; so is a slice shorter."""

    async def scenario(plant: Plant) -> None:
        await plant.turn(5.0)
        slow = SlowLoop()
        documents = Documents(
            outbox=plant.service._outbox, clock=plant.clock, epoch=1, instance="main", topics=Topics("slow"),
            codec=JSON, loop=cast("asyncio.AbstractEventLoop", slow),
            builders={name: slow.making(build) for name, build in BUILDERS.items()},
        )  # fmt: skip
        for session in plant.service.sessions.values():
            documents.mark(session, "presence", "mode")
        slice_s = SLICE_S
        for live, pause in ((3, 3), (0, 1), (1, 1), (1_000, PAUSE_MOST)):
            due_s, tick = slow.timers[-1]
            slow.now_s = due_s
            plant.service._outbox.live += live
            tick()
            spent_s = slow.now_s - due_s
            assert slice_s < spent_s < slice_s + 0.0015
            assert slow.timers[-1][0] - slow.now_s == pytest.approx(spent_s * pause)
            slice_s = BESIDE_S if live else SLICE_S

    play(tmp_path, scenario, arms=ARMS)


def test_an_arm_that_is_forgotten_is_sent_no_more(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(5.0)
        documents, after = plant.service._documents, len(plant.link.published)
        documents.mark(plant.session("r1"), "presence")
        documents.forget("r1")
        documents.mark(plant.session("r2"), "presence")
        await plant.turn(5.0)
        assert [each.topic for each in plant.link.published[after:]] == ["state/r2/presence"]

    play(tmp_path, scenario)


def test_limits_of_arms_that_nobody_asks_about_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.publish.documents.WARM_ARMS", 3)

    async def scenario(plant: Plant) -> None:
        await plant.turn(10.0)
        await plant.call("r7", SET, value(0.25))
        await plant.turn(10.0)
        assert sum(session.state.limits is not None for session in plant.service.sessions.values()) == 3
        assert plant.session("r7").state.limits is not None
        assert (await plant.call("r1", "Explain", {"quantity": "twist_linear"}))["ok"]

    play(tmp_path, scenario, arms=ARMS)


def test_documents_give_way_while_somebody_waits_for_a_commit_but_not_for_ever(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(5.0)
        documents, after = plant.service._documents, len(plant.link.published)
        looks: list[float] = []

        def awaited() -> bool:
            looks.append(plant.loop.time())
            return True

        documents.awaited = awaited
        documents.mark(plant.session("r0"), "presence")
        await plant.turn(1.0)
        assert [each.topic for each in plant.link.published[after:]] == ["state/r0/presence"]
        assert len(looks) == YIELDS
        assert looks[-1] - looks[0] < YIELDS * YIELD_S

    play(tmp_path, scenario, arms=ARMS)


def test_what_need_not_be_made_is_looked_at_in_pieces(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(5.0)
        looked_at: list[int] = []

        class Counting(Comparison):
            def looked_at(self, key: Key) -> bool:
                looked_at[-1] += 1
                return super().looked_at(key)

        documents = plant.service._documents
        documents._comparison = Counting(1)
        for session in plant.service.sessions.values():
            for name in SHEETS:
                documents._comparison.look_at(Key(session.arm, name))
        documents._rest = documents._comparison.rest(list(plant.service.sessions.values()) * LOOKS)
        while not documents.settled:
            looked_at.append(0)
            documents._tick()
        assert sum(looked_at) == len(ARMS) * len(SHEETS) * LOOKS
        assert max(looked_at) == LOOKS

    play(tmp_path, scenario, arms=ARMS)
