"""Batches, recipes and overrides of groups."""

import json
from pathlib import Path
from typing import Any

from tests.broker.plans.test_plans import ARMS, SET, TWIST, rows, told, twist
from tests.virtual_plant import Plant, play

MASS = "tool_mass"
TOOL = {"tool_configuration": {"tool_mass": 0.8}, TWIST: {"CARTESIAN_JOYSTICK": 0.2}}


def test_a_batch_of_a_group_is_one_revision_of_each_arm(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@all", "ApplyConfig", {"items": TOOL})
        assert (reply["stage"], rows(reply)) == ("applied", dict.fromkeys(ARMS, "applied"))
        assert {row["rev"] for row in reply["result"]["rows"]} == {2}
        assert {event["plan"] for event in plant.events("r12")} == {1}
        again = await plant.call("@all", "ApplyConfig", {"items": TOOL})
        assert rows(again) == dict.fromkeys(ARMS, "unchanged")
        bad = {"items": {**TOOL, "twist_angular_soft_limit": {"CARTESIAN_JOYSTICK": 1e6}}}
        refused = await plant.call("@all", "ApplyConfig", bad, group={"all_or_nothing": True})
        assert refused["error"]["kind"] == "out_of_limits"

    play(tmp_path, scenario, arms=ARMS)


def test_a_batch_leaves_out_what_was_changed_after_the_plan(tmp_path: Path) -> None:
    arms = tuple(f"a{number:02}" for number in range(20))

    async def scenario(plant: Plant) -> None:
        plant.send("@all", "ApplyConfig", {"items": TOOL}, id="plan", group={"parallel": 1})
        assert (await plant.call("a19", SET, twist(0.1)))["ok"]
        reply = await plant.reply("plan")
        state = plant.session("a19").state
        assert abs(getattr(state.reported[(TWIST, 2)], TWIST) - 0.1) < 1e-6
        assert abs(getattr(state.reported[("tool_configuration", 0)], MASS) - 0.8) < 1e-6
        assert rows(reply)["a19"] == "applied"

    play(tmp_path, scenario, arms=arms, sim={"faults": True, "latency_ms": 20})


def test_ruling_29_a_plan_keeps_the_values_of_the_recipe_that_it_was_given(tmp_path: Path) -> None:
    arms = tuple(f"a{number:02}" for number in range(10))

    async def scenario(plant: Plant) -> None:
        assert (await plant.call("@all", "PutRecipe", {"name": "weld", "items": TOOL}))["ok"]
        plant.send("@all", "ApplyRecipe", {"recipe": "weld"}, id="plan", group={"parallel": 1})
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_STARTED")
        other = {"tool_configuration": {"tool_mass": 0.1}}
        assert (await plant.call("@all", "PutRecipe", {"name": "weld", "items": other}))["result"]["version"] == 2
        assert (await plant.call("@all", "DeleteRecipe", {"name": "weld"}))["ok"]
        reply = await plant.reply("plan")
        assert reply["result"]["counts"] == {"total": 10, "applied": 10}
        masses = {getattr(plant.session(arm).state.reported[("tool_configuration", 0)], MASS) for arm in arms}
        assert {round(mass, 3) for mass in masses} == {0.8}
        assert (await told(plant, 1))["params"] == {"recipe": "weld", "version": 1}
        gone = await plant.call("@all", "ApplyRecipe", {"recipe": "weld"})
        assert (gone["error"]["kind"], "plan" in gone) == ("unknown_recipe", False)

    play(tmp_path, scenario, arms=arms, sim={"faults": True, "latency_ms": 50})


def test_ruling_43_an_override_of_a_group_has_one_end(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@all", SET, twist(0.2), valid_for_ms=600_000)
        ends = {json.dumps(event["until"]) for arm in ARMS for event in plant.events(arm)}
        assert len(ends) == 1
        assert json.loads(ends.pop()) == reply["until"] == (await told(plant, 1))["until"]
        ended = await plant.call("@all", "EndOverride", {"plan": 1})
        assert rows(ended) == dict.fromkeys(ARMS, "stored")
        await plant.turn(1.0)
        again = await plant.call("@all", "EndOverride", {"plan": 1})
        assert (again["stage"], rows(again)) == ("checked", dict.fromkeys(ARMS, "skipped"))

    play(tmp_path, scenario, arms=ARMS)


def test_ruling_43_a_row_whose_turn_comes_after_the_end_expires(tmp_path: Path) -> None:
    arms = tuple(f"a{number:02}" for number in range(20))

    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@all", SET, twist(0.2), valid_for_ms=1_000, group={"parallel": 1})
        kinds: dict[Any, int] = {}
        for row in reply["result"]["rows"]:
            kinds[row.get("kind")] = kinds.get(row.get("kind"), 0) + 1
        assert set(kinds) == {None, "expired"}

    play(tmp_path, scenario, arms=arms, sim={"faults": True, "latency_ms": 100})
