"""What a start makes of everything that a crash can leave behind; copies of a running store stand for kills."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from broker.accept.quarantine import STARTS
from broker.life import State
from broker.service import Service
from broker.settle.fatal_reads import READS_KEY
from broker.store.store import Store
from schema.arms import Fault
from tests.memory_link import Published
from tests.virtual_plant import START_US, Plant, run

SET = "SetTwistLinearSoftLimit"
ITEM, SLOT = "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
MODE = {"control_mode": SLOT}
CHANGED = "evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED"
OUTCOME = "evt/r1/outcome"
JOYSTICK = {"control_mode": "CARTESIAN_JOYSTICK"}
TIGHT, TIGHTER = {**MODE, ITEM: 0.25}, {**MODE, ITEM: 0.2}
GRAVITY = {"x": 0.0, "y": 0.0, "z": -9.7}

Scenario = Callable[[Path], Awaitable[None]]


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Scenario], None]:
    """A function that runs a scenario in a directory of its own."""

    def play(scenario: Scenario) -> None:
        async def whole() -> None:
            await scenario(tmp_path)

        run(whole)

    return play


def journal(data: Path, key: str) -> list[Any]:
    """The pairs of the commands that the arms carried out on an item."""
    lines = (data / "adapters" / "simulated" / "simulated_arms.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    return [entry[4] for entry in entries if entry[1] == key and entry[4] is not None]


async def crash(folder: Path, *requests: tuple[str, dict[str, Any]], fault: str = "hang", **faults: Any) -> Path:
    """Send requests (ids a, b, ...) to arm r1 while a fault holds it, and leave what a kill then leaves."""
    async with Plant(folder / "first") as plant:
        await plant.fault("r1", fault, **faults)
        for request_id, (method, params) in zip("abcdef", requests, strict=False):
            plant.send("r1", method, params, id=request_id)
        await plant.document("state/r1/config", lambda document: len(document["pending"]) == len(requests))
        await plant.committed()
        return plant.copy(folder / "copy")


def test_what_was_accepted_is_decided_again_and_what_was_being_written_is_sent_again(
    play: Callable[[Scenario], None],
) -> None:
    async def scenario(folder: Path) -> None:
        data = await crash(folder, (SET, TIGHT), (SET, TIGHTER))
        async with Plant(data) as plant:
            first, second = await plant.reply("a"), await plant.reply("b")
            assert (first["stage"], first["rev"], first["seq"]) == ("applied", 2, 1)
            assert (second["stage"], second["rev"], second["seq"]) == ("applied", 3, 2)
            assert [event["epoch"] for event in plant.events()] == [2, 2]
            assert journal(data, ITEM) == [[1, 1], [2, 2]]
            assert (await plant.call("r1", SET, TIGHT, id="a"))["duplicate"] is True
        assert journal(data, ITEM) == [[1, 1], [2, 2]]

    play(scenario)


def test_what_the_arm_did_before_the_crash_is_read_and_not_sent_again(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        data = await crash(folder, (SET, TIGHT), fault="lose_answer")
        assert journal(data, ITEM) == [[1, 1]]
        async with Plant(data) as plant:
            assert (await plant.reply("a"))["stage"] == "applied"
            assert [event["cause"] for event in plant.events()] == ["applied"]
        assert journal(data, ITEM) == [[1, 1]] * len(journal(data, ITEM))

    play(scenario)


def test_the_value_before_is_that_of_the_mark_not_of_the_accept(play: Callable[[Scenario], None]) -> None:
    """The second change was accepted against 0.5 and marked against 0.2; 0.2 read back is no clamped 0.25."""

    async def scenario(folder: Path) -> None:
        async with Plant(folder / "first") as plant:
            await plant.fault("r1", "delay", delay_ms=1000)
            plant.send("r1", SET, TIGHTER, id="a")
            plant.send("r1", SET, TIGHT, id="b")
            assert (await plant.reply("a"))["stage"] == "applied"
            await plant.document(
                "state/r1/config", lambda document: [each["state"] for each in document["pending"]] == ["writing"]
            )
            await plant.committed()
            data = plant.copy(folder / "copy")
        async with Plant(data) as plant:
            reply = await plant.reply("b")
            assert (reply["stage"], reply["warnings"]) == ("applied", [])
            read = await plant.call("r1", "GetKinematicSoftLimits", MODE)
            assert read["result"]["twist_linear"] == 0.25

    play(scenario)


@pytest.mark.parametrize(
    ("method", "params"),
    [("ResetTwistLinearSoftLimit", MODE), ("SetControlMode", JOYSTICK)],
)
def test_resets_and_modes_never_start_after_a_restart(
    play: Callable[[Scenario], None], method: str, params: dict[str, Any]
) -> None:
    async def scenario(folder: Path) -> None:
        for place, before in (("accepted", [("SetGravityVector", GRAVITY)]), ("writing", [])):
            data = await crash(folder / place, *before, (method, params))
            async with Plant(data) as plant:
                reply = await plant.reply("b" if before else "a")
                assert (reply["ok"], reply["stage"], reply["final"]) == (False, "refused", True)
                assert reply["error"]["kind"] == ("expired" if before else "arm_refused")
                name = "CHANGE_CONTROL_MODE_FAILED" if method == "SetControlMode" else "CHANGE_NOT_APPLIED"
                assert plant.events()[-1]["event"] == name
            key = "control_mode" if method == "SetControlMode" else ITEM
            assert journal(data, key) == []

    play(scenario)


def test_a_mode_that_the_arm_took_before_the_crash_is_told(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        data = await crash(folder, ("SetControlMode", JOYSTICK), fault="lose_answer")
        async with Plant(data) as plant:
            assert (await plant.reply("a"))["stage"] == "applied"
            (event,) = plant.events()
            assert (event["event"], event["by"]["user"]) == ("CONTROL_MODE_CHANGED", "u")

    play(scenario)


def test_an_old_loosening_is_not_sent_but_an_old_tightening_is(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        requests: list[tuple[str, dict[str, Any]]] = [
            ("SetGravityVector", GRAVITY),
            ("SetPayloadInformation", {"payload_mass": 1.0}),
            (SET, TIGHT),
        ]
        data = await crash(folder, *requests)
        await asyncio.sleep(16 * 60)
        async with Plant(data) as plant:
            assert (await plant.reply("a"))["error"]["kind"] == "arm_refused"
            held = await plant.reply("b")
            assert (held["stage"], held["final"], held["rev"]) == ("stored", False, 3)
            assert (await plant.reply("c"))["stage"] == "applied"
            (pending,) = (await plant.document("state/r1/config", lambda one: len(one["pending"]) == 1))["pending"]
            assert (pending["rev"], pending["state"]) == (3, "held")
        assert journal(data, "gravity_vector") == journal(data, "payload_information") == []

    play(scenario)


def test_a_time_to_live_goes_on_over_a_restart(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder / "first") as plant:
            await plant.fault("r1", "hang")
            for request_id in "ab":
                plant.send("r1", SET, TIGHT, id=request_id, ttl_ms=60_000)
            await plant.document("state/r1/config", lambda document: len(document["pending"]) == 2)
            await plant.committed()
            data = plant.copy(folder / "copy")
        await asyncio.sleep(120)
        async with Plant(data) as plant:
            assert (await plant.reply("a"))["stage"] == "applied"
            assert (await plant.reply("b"))["error"]["kind"] == "expired"

    play(scenario)


def away(service: Service) -> None:
    """Let arm r1 be away."""
    adapter: Any = service.sessions["r1"].adapter
    adapter.inject(Fault("offline"))


def test_of_an_arm_that_is_away_at_the_start_only_what_may_be_with_it_stays_open(
    play: Callable[[Scenario], None],
) -> None:
    async def scenario(folder: Path) -> None:
        data = await crash(folder, (SET, TIGHT), ("SetGravityVector", GRAVITY))
        async with Plant(data, prepare=away) as plant:
            assert (await plant.reply("a"))["error"]["kind"] == "outcome_unknown"
            assert plant.session().unsettled()[0].state is State.RESUMED
            await plant.fault("r1", "none")
            await plant.document(CHANGED, lambda event: event["request_id"] == "u/c/a")
            assert (await plant.call("r1", SET, TIGHT, id="a"))["stage"] == "applied"
            assert (await plant.call("r1", "SetGravityVector", GRAVITY, id="b"))["stage"] == "applied"

    play(scenario)


def only_events_and_replies(published: list[Published]) -> list[str]:
    """Topics, without documents and presence of the service."""
    return [each.topic for each in published if each.topic.split("/")[0] in ("evt", "res")]


def test_what_was_settled_but_not_published_is_sent_before_anything_new(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder / "first", silent=True) as plant:
            for request_id, params in (("a", TIGHT), ("b", TIGHTER)):
                plant.send("r1", SET, params, id=request_id)
                await plant.reply(request_id)
            await plant.committed()
            told = only_events_and_replies(plant.link.published)
            events = plant.events()
            data = plant.copy(folder / "copy")
        async with Plant(data) as plant:
            again = plant.link.published
            await plant.document("state/r1/config", lambda _: True)
            assert sorted(only_events_and_replies(again)) == sorted(told)
            assert plant.events() == events
            first_document = next(number for number, each in enumerate(again) if each.topic.startswith("state/"))
            last_of_old = max(number for number, each in enumerate(again) if each.topic.startswith(("evt/", "res/")))
            assert last_of_old < first_document
            await plant.turn(1.0)
            data = plant.copy(folder / "second")
        async with Plant(data) as plant:
            assert only_events_and_replies(plant.link.published) == []

    play(scenario)


def test_each_start_has_a_higher_epoch_and_no_earlier_time(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        data = folder / "data"
        async with Plant(data) as plant:
            await asyncio.sleep(3600)
            first = await plant.call("r1", SET, TIGHT)
        async with Plant(data, start_us=START_US - 10**14) as plant:
            second = await plant.call("r1", SET, TIGHTER)
            assert second["at"] >= first["at"]
            (event,) = plant.events()
            assert (event["epoch"], event["seq"], event["prev"]) == (2, 2, 1)

    play(scenario)


def test_a_change_that_three_unclean_ends_left_open_is_given_up(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        data = await crash(folder, (SET, TIGHT))
        unclean_ends(data, 2)
        async with Plant(data) as plant:
            reply = await plant.reply("a")
            assert (reply["ok"], reply["error"]["kind"], reply["error"]["retry"]) == (False, "quarantined", "never")
            event = await plant.document(OUTCOME, lambda _: True)
            assert event["request_id"] == "u/c/a"
            assert (await plant.call("r1", SET, TIGHT, id="b"))["stage"] == "applied"
        assert len(journal(data, ITEM)) == 1

    play(scenario)


def unclean_ends(data: Path, count: int) -> None:
    """So many starts that end before anything of them is done."""
    for _ in range(count):
        store = Store.open(data, lambda: START_US)
        store.load()
        store.close(clean=False)


def test_a_change_that_the_arm_took_is_applied_however_many_ends_left_it_open(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        data = await crash(folder, (SET, TIGHT), fault="lose_answer")
        assert journal(data, ITEM) == [[1, 1]]
        unclean_ends(data, 20)
        async with Plant(data) as plant:
            reply = await plant.reply("a")
            assert (reply["ok"], reply["stage"]) == (True, "applied")
            (event,) = plant.events()
            assert (event["request_id"], event["cause"]) == ("u/c/a", "applied")
            assert (await plant.call("r1", SET, TIGHT, id="a"))["stage"] == "applied"

    play(scenario)


def test_a_change_that_nobody_can_read_is_given_up_in_the_end(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        data = await crash(folder, (SET, TIGHT), fault="lose_answer")
        unclean_ends(data, STARTS)
        store = Store.open(data, lambda: START_US)
        (change,) = store.load().open_changes
        store.batch.set_meta(READS_KEY, json.dumps({change.n: STARTS}))
        store.close(clean=False)
        async with Plant(data) as plant:
            reply = await plant.reply("a")
            assert (reply["ok"], reply["error"]["kind"]) == (False, "quarantined")
            assert "nobody could read whether the arm took it" in reply["error"]["message"]
            foreign = await plant.document(CHANGED, lambda event: event["cause"] == "foreign")
            assert foreign["change"]["after"] == 0.25

    play(scenario)


def test_warnings_of_a_change_outlive_a_crash(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        heavy = {"payload_mass": 30.0}
        async with Plant(folder / "sane") as plant:
            expected = (await plant.call("r1", "SetPayloadInformation", heavy))["warnings"]
        data = await crash(folder, ("SetPayloadInformation", heavy))
        async with Plant(data) as plant:
            reply = await plant.reply("a")
            assert reply["stage"] == "applied"
            assert reply["warnings"] == expected != []
            assert (await plant.call("r1", "SetPayloadInformation", heavy, id="a"))["warnings"] == expected

    play(scenario)


def test_a_removed_arm_is_cleared_and_its_open_changes_stay_unknown(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        data = await crash(folder, (SET, TIGHT))
        async with Plant(data, arms=["r2"]) as plant:
            cleared = {each.topic for each in plant.link.published if each.retained and each.document is None}
            assert {"state/r1/config", "state/r1/presence", "meta/factsheet/r1"} <= cleared
            reply = await plant.call("r1", SET, TIGHT, id="a")
            assert (reply["error"]["kind"], reply["stage"], reply["final"]) == ("outcome_unknown", "stored", False)
        async with Plant(data) as plant:
            assert (await plant.reply("a"))["stage"] == "applied"

    play(scenario)
