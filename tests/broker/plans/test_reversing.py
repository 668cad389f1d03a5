"""Plans that are taken back: only what is as they left it."""

from pathlib import Path
from typing import Any

from tests.broker.plans.test_plans import ARMS, SET, TWIST, plan_events, steer, told, twist
from tests.broker.plans.test_work import SLOW
from tests.virtual_plant import START_US, Plant, play, run

MASS = "tool_mass"
SLOT = (TWIST, 2)


def limit(plant: Plant, arm: str) -> float:
    value: float = getattr(plant.session(arm).state.reported[SLOT], TWIST)
    return round(value, 3)


async def ended(plant: Plant, plan: int = 1) -> dict[str, Any]:
    before = len(plant.link.published)
    if (await told(plant, plan))["state"] != "ended":
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_ENDED", before)
    return await told(plant, plan)


def states(plan: dict[str, Any]) -> dict[str, str]:
    return {row["arm"]: row["state"] for row in plan["rows"]}


def test_a_plan_is_taken_back(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r11", SET, twist(0.3))
        before = {arm: limit(plant, arm) for arm in ARMS}
        await plant.call("@all", SET, twist(0.2))
        reply = await steer(plant, 1, "reverse", reason="too slow")
        assert (reply["stage"], reply["result"]) == ("stored", {"plan": 1, "state": "reversing"})
        plan = await ended(plant)
        assert (plan["outcome"], plan["counts"]) == ("reversed", {"total": 3, "reversed": 3})
        assert {arm: limit(plant, arm) for arm in ARMS} == before
        assert [event for event, _ in plan_events(plant)] == [
            "PLAN_STARTED", "PLAN_ENDED", "PLAN_REVERSING", "PLAN_ENDED",
        ]  # fmt: skip
        changes = (await plant.call("r12", "GetHistory"))["result"]["changes"]
        assert [change["method"] for change in changes] == ["Reverse", SET]
        again = await steer(plant, 1, "reverse")
        assert again["result"]["state"] in ("reversing", "ended")

    play(tmp_path, scenario, arms=ARMS)


def test_ruling_37_what_somebody_changed_since_is_kept(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("@all", SET, twist(0.2))
        await plant.call("r12", SET, twist(0.1), user="bob")
        await steer(plant, 1, "reverse")
        plan = await ended(plant)
        assert (plan["outcome"], states(plan)["r12"]) == ("partial", "kept")
        assert "it was set in revision 3" in plan["rows"][1]["message"]
        assert limit(plant, "r12") == 0.1
        assert plan["counts"] == {"total": 3, "reversed": 2, "kept": 1}

    play(tmp_path, scenario, arms=ARMS)


def test_a_batch_is_taken_back_slot_by_slot(tmp_path: Path) -> None:
    items = {TWIST: {"CARTESIAN_JOYSTICK": 0.2}, "tool_configuration": {"tool_mass": 0.8}}

    async def scenario(plant: Plant) -> None:
        first = limit(plant, "r11")
        await plant.call("@all", "ApplyConfig", {"items": items})
        await plant.call("r12", SET, twist(0.1))
        await steer(plant, 1, "reverse")
        plan = await ended(plant)
        assert states(plan) == {"r11": "reversed", "r12": "kept", "r13": "reversed"}
        assert (limit(plant, "r11"), limit(plant, "r12")) == (first, 0.1)
        mass = [plant.session(arm).state.reported[("tool_configuration", 0)] for arm in ARMS]
        assert [round(getattr(one, MASS), 3) for one in mass] == [0.0, 0.0, 0.0]

    play(tmp_path, scenario, arms=ARMS)


def test_ruling_38_of_an_arm_that_is_away_what_waits_is_dropped_and_what_was_done_waits(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        first = limit(plant, "r11")
        await plant.fault("r12", "offline")
        await plant.turn(1.0)
        await plant.call("@all", SET, twist(0.2))
        await plant.fault("r13", "offline")
        await plant.turn(1.0)
        await steer(plant, 1, "reverse")
        plan = await ended(plant)
        assert states(plan) == {"r11": "reversed", "r12": "reversed", "r13": "stored"}
        assert plant.session("r12").parked == []
        await plant.fault("r13", "none")
        await plant.document("evt/r13/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda event: event["rev"] > 2)
        assert limit(plant, "r13") == first
        assert states(await told(plant, 1))["r13"] == "reversed"

    play(tmp_path, scenario, arms=ARMS)


def test_an_override_of_a_group_is_ended_instead(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        first = limit(plant, "r11")
        await plant.call("@all", SET, twist(0.2), valid_for_ms=3_600_000)
        await steer(plant, 1, "reverse")
        plan = await ended(plant)
        assert plan["outcome"] == "reversed"
        await plant.turn(1.0)
        assert {limit(plant, arm) for arm in ARMS} == {first}

    play(tmp_path, scenario, arms=ARMS)


def test_authority_and_locks_keep_what_was_changed(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("@all", SET, twist(0.2))
        await plant.call("r11", "HoldArm", {"reason": "inspection"}, user="bob")
        await plant.call("r12", "SetAuthority", {"authority": "advise"})
        await steer(plant, 1, "reverse")
        plan = await ended(plant)
        assert states(plan) == {"r11": "kept", "r12": "kept", "r13": "reversed"}

    play(tmp_path, scenario, arms=ARMS)


def test_what_changes_no_item_cannot_be_taken_back_nor_what_ended_long_ago(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("@all", "HoldArm", {"reason": "inspection"})
        refused = await steer(plant, 1, "reverse")
        assert refused["error"]["kind"] == "unsupported_option"
        await plant.call("@all", SET, twist(0.2))
        await plant.turn(7 * 86_400.0 + 1)
        refused = await steer(plant, 2, "reverse")
        assert "ended more than 7 days ago" in refused["error"]["message"]

    play(tmp_path, scenario, arms=ARMS)


def test_ruling_31_taking_back_goes_on_after_a_restart(tmp_path: Path) -> None:
    arms = tuple(f"a{number:02}" for number in range(10))

    async def whole() -> None:
        async with Plant(tmp_path / "a", arms, **SLOW) as plant:
            first = limit(plant, arms[0])
            await plant.call("@all", SET, twist(0.2))
            plant.send("@all", "SteerPlan", {"plan": 1, "action": "reverse"}, id="back")
            await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_REVERSING")
            await plant.turn(0.1)
            await plant.committed()
            left = plant.copy(tmp_path / "b")
        async with Plant(left, arms, **SLOW, start_us=START_US + 30_000_000) as plant:
            plan = await ended(plant)
            assert (plan["outcome"], plan["counts"]) == ("reversed", {"total": 10, "reversed": 10})
            assert {limit(plant, arm) for arm in arms} == {first}

    run(whole)


def test_a_dry_run_of_steering_changes_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("@all", SET, twist(0.2))
        before = await told(plant, 1)
        reply = await plant.call("@all", "SteerPlan", {"plan": 1, "action": "reverse"}, dry_run=True)
        assert (reply["ok"], reply["stage"]) == (True, "checked")
        assert reply["result"] == {"plan": 1, "state": "ended"}
        await plant.turn(2.0)
        assert await told(plant, 1) == before
        assert {limit(plant, arm) for arm in ARMS} == {0.2}
        refused = await plant.call("@all", "SteerPlan", {"plan": 1, "action": "pause"}, dry_run=True)
        assert refused["error"]["kind"] == "revision_conflict"

    play(tmp_path, scenario, arms=ARMS)


def test_what_is_kept_of_a_row_is_told_after_a_kill_too(tmp_path: Path) -> None:
    items = {TWIST: {"CARTESIAN_JOYSTICK": 0.2}, "tool_configuration": {"tool_mass": 0.8}}

    async def whole() -> None:
        async with Plant(tmp_path / "a", ARMS) as plant:
            await plant.call("@all", "ApplyConfig", {"items": items})
            await plant.call("r12", SET, twist(0.1), user="bob")
            await plant.fault("r12", "offline")
            await steer(plant, 1, "reverse")
            await plant.turn(5.0)
            assert states(await told(plant, 1)) == {"r11": "reversed", "r12": "stored", "r13": "reversed"}
            await plant.committed()
            left = plant.copy(tmp_path / "b")
        async with Plant(left, ARMS, start_us=START_US + 30_000_000) as plant:
            await plant.turn(5.0)
            plan = await told(plant, 1)
            assert states(plan) == {"r11": "reversed", "r12": "kept", "r13": "reversed"}
            assert "it was set in revision 3" in plan["rows"][1]["message"]
            await plant.call("r12", "ApplyConfig", {"items": items})
            assert states(await told(plant, 1))["r12"] == "kept"

    run(whole)
