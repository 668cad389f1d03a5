"""The summaries of groups: what they count, how often they are sent, what is kept and cleared of them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from broker.publish.documents import LOADED
from broker.publish.outbox import SWEEP_S
from broker.publish.summaries import GAP_S
from tests.broker.test_groups import cell, follow
from tests.memory_link import BASE
from tests.virtual_plant import Plant, play, run

SET = "SetTwistLinearSoftLimit"
TOPIC = "state/@cell-4/fleet"


def twist(value: float) -> dict[str, Any]:
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": value}


def sent(plant: Plant, topic: str = TOPIC) -> list[Any]:
    """What was published of a summary."""
    return [each.document for each in plant.link.published if each.topic == topic]


def test_a_summary_tells_of_the_arms_of_its_group_once_they_were_met(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        told = await plant.document(TOPIC, lambda each: each["online"] == 2)
        assert told == {
            "arm": "@cell-4", "svc": "main", "epoch": 1, "rev": 0, "seq": 0, "at": told["at"],
            "arms": 2, "online": 2, "ready": 2, "held": 0, "locked": 0, "faults": 0, "pending": 0, "held_changes": 0,
            "differs": 0, "overrides": 0, "overdue": 0, "recipe_drift": 0, "recipes": {},
            "authority": {"observe": 0, "advise": 0, "control": 2},
            "attention": [], "plans": [],
        }  # fmt: skip
        assert (await plant.document("state/@all/fleet", lambda each: each["online"] == 3))["arms"] == 3

    play(tmp_path, scenario, arm=cell(r1=["cell-4"], r2=["cell-4"], r3=[]))


def test_a_summary_follows_its_arms_at_most_once_in_two_seconds(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.document(TOPIC, lambda each: each["online"] == 2)
        await plant.call("r1", "HoldArm", {"reason": "a look"})
        await plant.call("r2", "SetAuthority", {"authority": "observe"})
        told = await plant.document(TOPIC, lambda each: each["locked"] == 1)
        assert told["authority"] == {"observe": 1, "advise": 0, "control": 1}
        before, began_s = len(sent(plant)), plant.loop.time()
        for number in range(40):
            await plant.call(
                "r1", "ReleaseArm" if number % 2 == 0 else "HoldArm", {"reason": "x"} if number % 2 else {}
            )
            await plant.turn(0.25)
        assert len(sent(plant)) - before <= (plant.loop.time() - began_s) / GAP_S + 1
        plant.service.fleet_events.stream.state.seq = 7
        await plant.call("r2", "HoldArm", {"reason": "a look"})
        assert (await plant.document(TOPIC, lambda each: each["locked"] == 2))["seq"] == 7

    play(tmp_path, scenario, arm=cell(r1=["cell-4"], r2=["cell-4"]))


def test_what_says_the_same_is_not_sent_again(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.document(TOPIC, lambda each: each["online"] == 1)
        before = len(sent(plant))
        for number in range(5):
            assert (await plant.call("r1", SET, twist(0.1 + number / 100)))["stage"] == "applied"
            await plant.turn(5)
        assert len(sent(plant)) == before

    play(tmp_path, scenario, arm=cell(r1=["cell-4"]))


def test_an_arm_that_needs_somebody_is_named(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r2", "fault")
        await plant.fault("r1", "foreign_change", item="payload_information", value={"payload_mass": 1.0})
        told = await plant.document(TOPIC, lambda each: len(each["attention"]) == 2)
        assert told["attention"] == [{"arm": "r2", "why": "fault"}, {"arm": "r1", "why": "differs"}]
        assert (told["faults"], told["differs"], told["ready"]) == (1, 1, 1)
        await plant.fault("r2", "none")
        assert await plant.document(TOPIC, lambda each: len(each["attention"]) == 1 and each["faults"] == 0)

    play(tmp_path, scenario, arm=cell(r1=["cell-4"], r2=["cell-4"]))


def test_groups_that_come_are_summarised_and_those_that_go_are_cleared(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.document(TOPIC, lambda each: each["online"] == 2)
        await follow(plant, r1=["line"], r3=["line"])
        told = await plant.document("state/@line/fleet", lambda each: each["online"] == 2)
        assert (told["arms"], told["ready"]) == (2, 2)
        assert sent(plant)[-1] is None
        assert (await plant.document("state/@all/fleet", lambda each: each["arms"] == 2))["online"] == 2
        await plant.turn(10)
        assert sent(plant)[-1] is None

    play(tmp_path, scenario, arm=cell(r1=["cell-4"], r2=["cell-4"]))


def test_a_plan_is_named_while_it_is_live(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        summaries = plant.service.summaries
        summaries.live_plans = lambda: [("cell-4", number) for number in range(1, 20)] + [("all", 20)]
        summaries.plans_changed()
        told = await plant.document(TOPIC, lambda each: each["plans"] != [])
        assert told["plans"] == list(range(4, 20))

    play(tmp_path, scenario, arm=cell(r1=["cell-4"]))


def test_a_start_leaves_right_summaries_and_clears_those_of_groups_that_are_gone(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path, arm=cell(r1=["cell-4"], r2=["old"])) as plant:
            await plant.document("state/@old/fleet", lambda each: each["online"] == 1)
            await plant.document("state/@all/fleet", lambda each: each["online"] == 2)
            retained = dict(plant.link.retained)
        elsewhere = {**json.loads(retained[f"{BASE}/state/@old/fleet"]), "arm": "@far", "svc": "other"}
        retained |= {
            f"{BASE}/state/@far/fleet": json.dumps(elsewhere).encode(),
            f"{BASE}/state/@no/fleet": b"{",
            f"{BASE}/{TOPIC}": b"\xff",
        }
        async with Plant(tmp_path, arm=cell(r1=["cell-4"], r2=[]), retained=retained) as plant:
            await plant.document(TOPIC, lambda each: each["online"] == 1)
            await plant.turn(10)
            assert sent(plant, "state/@old/fleet") == [None]
            assert sent(plant, "state/@far/fleet") == sent(plant, "state/@no/fleet") == []
            counts = [told["online"] for told in sent(plant, "state/@all/fleet")]
            assert counts in ([], [2]), "what was retained said the same"

    run(whole)


def test_lost_summaries_are_sent_again_after_a_reading(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.document(TOPIC, lambda each: each["online"] == 1)
        await plant.turn(10)
        before = len(sent(plant))
        del plant.link.retained[f"{BASE}/{TOPIC}"]
        plant.service._readback.ask()
        async with asyncio.timeout(60):
            while len(sent(plant)) == before:
                await plant.turn(0.5)
        assert sent(plant, "state/@all/fleet")[-1]["online"] == 1

    play(tmp_path, scenario, arm=cell(r1=["cell-4"]))


def test_a_change_of_a_group_is_named_until_it_has_ended(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.document(TOPIC, lambda each: each["online"] == 2)
        await plant.fault("r2", "hang")
        plant.send("@cell-4", SET, twist(0.1), id="slow")
        told = await plant.document(TOPIC, lambda each: each["plans"] != [])
        (number,) = told["plans"]
        await plant.fault("r2", "none")
        assert (await plant.reply("slow"))["plan"] == number
        after = len(plant.link.published)
        assert await plant.document(TOPIC, lambda each: each["plans"] == [], after)

    play(tmp_path, scenario, arm=cell(r1=["cell-4"], r2=["cell-4"]))


def test_while_the_server_takes_nothing_it_is_hardly_looked_for_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    while_s, turns = 60, 0

    async def scenario(plant: Plant) -> None:
        def counted() -> None:
            nonlocal turns
            turns += 1
            run_once()

        await plant.document(TOPIC, lambda each: each["online"] == 1)
        plant.link.silent = True
        for _ in range(2 * LOADED):
            plant.send("r1", "WhoAmI")
        plant.service.summaries.live_plans = lambda: [("cell-4", 1)]
        plant.service.summaries.plans_changed()
        await plant.turn(10)
        run_once = getattr(plant.loop, "_run_once")  # noqa: B009 - no part of what the loop shows
        monkeypatch.setattr(plant.loop, "_run_once", counted)
        await plant.turn(while_s)
        assert turns <= 1.1 * while_s / SWEEP_S
        plant.link.silent = False
        plant.link.lose()
        plant.link.restore(present=True)
        assert (await plant.document(TOPIC, lambda each: each["plans"] == [1]))["online"] == 1

    play(tmp_path, scenario, arm=cell(r1=["cell-4"]))
