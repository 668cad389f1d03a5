"""Rollouts in virtual time: waves, soaks, gates, reversal, confirmation, restarts."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from devices.simulated.firmware import serial_number
from devices.simulated.store import JOURNAL, Entry
from tests.broker.plans.test_plans import SET, TWIST, plan_events, steer, told, twist
from tests.broker.plans.test_reversing import ended, limit
from tests.virtual_plant import START_US, Plant, play, run

ARMS = tuple(f"a{number:02}" for number in range(1, 11))
SOAK_S = 60.0


async def roll_out(plant: Plant, limit: float = 0.2, **params: Any) -> dict[str, Any]:
    fields = params.pop("fields", {})
    asked = {"method": SET, "params": twist(limit), "on_failure": "reverse", **params}
    return await plant.call("@all", "Rollout", asked, **fields)


def counts(plan: dict[str, Any]) -> dict[str, int]:
    return {name: count for name, count in plan["counts"].items() if name != "total"}


async def state(plant: Plant, wanted: str, plan: int = 1) -> dict[str, Any]:
    """The plan once it is in a state."""
    for _ in range(2_000):
        found = await told(plant, plan, limit=500)
        if found["state"] == wanted:
            return found
        await plant.turn(1.0)
    raise AssertionError(found)


def test_waves_follow_each_other_after_their_soaks(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        began = plant.loop.time()
        reply = await roll_out(plant, canary=["a03"], waves=[50, 100])
        assert (reply["ok"], reply["stage"], reply["final"], reply["plan"]) == (True, "stored", False, 1)
        result = reply["result"]
        assert (result["kind"], result["state"], result["wave"]) == ("rollout", "running", 0)
        assert [(wave["n"], wave["arms"]) for wave in result["waves"]] == [(0, 1), (1, 5), (2, 4)]
        await plant.turn(SOAK_S / 2)
        found = await told(plant, 1)
        assert (counts(found), found["waves"][0]["state"]) == ({"applied": 1, "waiting": 9}, "soaking")
        assert plant.session("a03").state.rev == 2
        await plant.turn(SOAK_S)
        assert counts(await told(plant, 1)) == {"applied": 6, "waiting": 4}
        plan = await state(plant, "ended")
        assert 3 * SOAK_S <= plant.loop.time() - began <= 3 * SOAK_S + 10
        assert (plan["outcome"], counts(plan)) == ("done", {"applied": 10})
        names = [event for event, _ in plan_events(plant)]
        assert names == ["PLAN_STARTED", *["PLAN_WAVE_ENDED"] * 3, "PLAN_ENDED"]
        wave = plant.events("@all")[1]
        assert (wave["cause"], wave["details"]["wave"]) == ("soaked", 0)

    play(tmp_path, scenario, arms=ARMS)


def test_a_wave_begins_as_soon_as_the_one_before_has_soaked(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        began = plant.loop.time()
        await roll_out(plant, canary=["a03"], waves=[50, 100], soak_ms=1_000)
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_ENDED")
        assert plant.loop.time() - began <= 12.0

    play(tmp_path, scenario, arms=ARMS)


def test_what_an_arm_refuses_takes_everything_back(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        before = limit(plant, "a01")
        await plant.fault("a02", "refuse")
        await roll_out(plant, canary=["a01"], waves=[100], soak_ms=1_000)
        plan = await ended(plant)
        assert plan["outcome"] == "reversed"
        assert counts(plan)["refused"] == 1
        assert {limit(plant, arm) for arm in ARMS} == {before}
        assert "a02 arm_refused" in [event["details"] for event in plant.events("@all")][-2]["why"]

    play(tmp_path, scenario, arms=ARMS)


def test_ruling_30_what_the_limits_refuse_only_pauses(tmp_path: Path) -> None:
    arms = [{"id": arm, "adapter": "simulated", "model": "gen3_7dof"} for arm in ARMS]
    arms[5]["site_caps"] = {"twist_linear": 0.25}  # type: ignore[assignment]

    async def scenario(plant: Plant) -> None:
        refused = await roll_out(plant, 0.3, canary=["a01"])
        assert (refused["ok"], refused["error"]["kind"], refused["result"]["outcome"]) == (
            False,
            "out_of_limits",
            "refused",
        )
        assert {plant.session(arm).state.rev for arm in ARMS} == {1}
        await roll_out(plant, 0.3, canary=["a01"], max_failed=1, soak_ms=1_000)
        plan = await ended(plant, 2)
        assert (plan["outcome"], counts(plan)) == ("partial", {"applied": 9, "refused": 1})

    play(tmp_path, scenario, arms=(), arm=arms)


def test_ruling_36_lost_links_only_pause_and_not_while_our_own_is_down(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await roll_out(plant, canary=["a01"], soak_ms=600_000)
        await plant.turn(40.0)
        await plant.fault("a01", "offline", for_ms=5_000)
        await plant.turn(20.0)
        assert (await told(plant, 1))["state"] == "running"
        await plant.fault("a01", "offline")
        plan = await state(plant, "paused")
        assert plan["why"] == "a01 offline"
        assert counts(plan) == {"applied": 1, "waiting": 9}
        await plant.fault("a01", "none")
        assert (await steer(plant, 1, "resume"))["result"]["state"] == "running"
        await plant.turn(5.0)
        assert (await told(plant, 1))["state"] == "running"

    play(tmp_path, scenario, arms=ARMS)


@pytest.mark.parametrize(("gates", "outcome"), [(None, "reversed"), (["offline"], "done")])
def test_a_fault_after_its_row_takes_everything_back_where_that_is_a_gate(
    tmp_path: Path, gates: list[str] | None, outcome: str
) -> None:
    async def scenario(plant: Plant) -> None:
        more: dict[str, Any] = {} if gates is None else {"gates": gates}
        await roll_out(plant, canary=["a01"], soak_ms=5_000, **more)
        await plant.turn(1.0)
        await plant.fault("a01", "fault", for_ms=2_000)
        plan = await ended(plant)
        assert plan["outcome"] == outcome

    play(tmp_path, scenario, arms=ARMS[:3])


def test_what_somebody_else_changes_pauses(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await roll_out(plant, canary=["a01"], soak_ms=600_000)
        await plant.turn(1.0)
        await plant.call("a01", SET, twist(0.1), user="bob")
        plan = await state(plant, "paused")
        assert plan["why"] == "a01 touched"
        await steer(plant, 1, "abort")
        plan = await ended(plant)
        assert (plan["outcome"], counts(plan)) == ("aborted", {"applied": 1, "skipped": 9})

    play(tmp_path, scenario, arms=ARMS)


@pytest.mark.parametrize("by", ["a person", "the pendant"])
def test_what_was_changed_just_before_a_kill_or_while_the_service_was_down_pauses(tmp_path: Path, by: str) -> None:
    async def whole() -> None:
        async with Plant(tmp_path / "a", ARMS) as plant:
            await roll_out(plant, canary=["a01"], soak_ms=600_000)
            await plant.turn(2.5)
            if by == "a person":
                assert (await plant.call("a01", SET, twist(0.1), user="bob"))["stage"] == "applied"
            await plant.committed()
            left = plant.copy(tmp_path / "b")
        if by == "the pendant":
            line = Entry(serial_number("a01", "gen3_7dof"), TWIST, 2, twist(0.1) | {"control_mode": 2}, None)
            with (left / "adapters" / "simulated" / JOURNAL).open("ab") as journal:
                journal.write(msgspec.json.encode(line) + b"\n")
        async with Plant(left, ARMS, start_us=START_US + 30_000_000) as plant:
            assert (await state(plant, "paused"))["why"] == "a01 touched"

    run(whole)


def test_a_rollout_takes_no_away_that_waits(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await roll_out(plant, fields={"group": {"away": "wait"}})
        assert reply["error"]["kind"] == "unsupported_option"
        assert "group.away: a Rollout takes skip or refuse, not wait" in reply["error"]["message"]
        for number, away in enumerate(("skip", "refuse"), 1):
            assert (await roll_out(plant, fields={"group": {"away": away}}))["ok"]
            await steer(plant, number, "abort")

    play(tmp_path, scenario, arms=ARMS[:2])


def test_an_arm_that_takes_less_than_was_asked_is_a_failure(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("a01", "clamp")
        await roll_out(plant, canary=["a01"], on_failure="pause", soak_ms=1_000)
        plan = await state(plant, "paused")
        assert plan["why"] == "a01 clamped"

    play(tmp_path, scenario, arms=ARMS[:3])


def test_a_row_without_an_end_in_time_is_a_failure(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("a01", "hang", for_ms=120_000)
        await roll_out(plant, canary=["a01"], on_failure="pause", row_within_ms=5_000)
        plan = await state(plant, "paused")
        assert plan["why"] in ("a01 late", "a01 outcome_unknown")

    play(tmp_path, scenario, arms=ARMS[:3])


def test_a_rollout_pauses_after_the_waves_that_were_named(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await roll_out(plant, canary=["a01"], waves=[50, 100], pause_after=[0], soak_ms=1_000)
        plan = await state(plant, "paused")
        assert plan["why"] == "after wave 0, as it was asked for"
        await steer(plant, 1, "resume")
        plan = await ended(plant)
        assert plan["outcome"] == "done"

    play(tmp_path, scenario, arms=ARMS)


@pytest.mark.parametrize(("confirmed", "outcome"), [(True, "done"), (False, "reversed")])
def test_what_nobody_confirms_in_time_is_taken_back(tmp_path: Path, confirmed: bool, outcome: str) -> None:
    async def scenario(plant: Plant) -> None:
        await roll_out(plant, canary=["a01"], soak_ms=1_000, confirm_within_ms=60_000)
        plan = await state(plant, "confirming")
        assert "expires" in plan
        if confirmed:
            assert (await steer(plant, 1, "resume"))["result"]["state"] == "ended"
        plan = await ended(plant)
        assert plan["outcome"] == outcome

    play(tmp_path, scenario, arms=ARMS[:3])


def test_an_arm_is_in_one_rollout_at_a_time_and_arms_that_are_away_take_no_part(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("a05", "offline")
        await plant.turn(1.0)
        reply = await roll_out(plant, canary=2, soak_ms=1_000, fields={"group": {"only": list(ARMS[:6])}})
        assert [wave["arms"] for wave in reply["result"]["waves"]] == [2, 3]
        assert reply["result"]["counts"] == {"total": 6, "waiting": 5, "skipped": 1}
        held = await roll_out(plant)
        assert (held["error"]["kind"], "plan" in held) == ("held", False)
        assert "a01, a02, a03, a04, a05, a06 are in rollout 1" in held["error"]["message"]
        plan = await ended(plant)
        assert (plan["outcome"], counts(plan)) == ("done", {"applied": 5, "skipped": 1})
        assert (await roll_out(plant))["ok"]

    play(tmp_path, scenario, arms=ARMS)


def test_a_dry_run_says_the_waves(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await roll_out(plant, canary=["a02"], waves=[50, 100], fields={"dry_run": True})
        assert (reply["ok"], reply["stage"]) == (True, "checked")
        assert [wave["arms"] for wave in reply["result"]["waves"]] == [1, 5, 4]
        assert (await plant.call("@all", "ListPlans"))["result"]["plans"] == []
        away = await roll_out(plant, canary=["x"])
        assert away["error"]["kind"] == "unknown_arm"
        modes = await roll_out(plant, method="SetControlMode", params={"control_mode": "IDLE"})
        assert modes["error"]["kind"] == "unsupported_option"
        wrong = await roll_out(plant, params={TWIST: "fast"})
        assert wrong["error"]["kind"] == "malformed"
        timed = await roll_out(plant, fields={"ttl_ms": 5})
        assert timed["error"]["kind"] == "unsupported_option"

    play(tmp_path, scenario, arms=ARMS)


@pytest.mark.parametrize(("down_s", "first"), [(10, "running"), (3_600, "paused")])
def test_ruling_31_a_rollout_goes_on_after_a_restart_its_soak_anew(tmp_path: Path, down_s: int, first: str) -> None:
    async def whole() -> None:
        async with Plant(tmp_path / "a", ARMS) as plant:
            await roll_out(plant, canary=["a01"])
            await plant.turn(SOAK_S / 2)
            assert (await told(plant, 1))["waves"][0]["state"] == "soaking"
            await plant.committed()
            left = plant.copy(tmp_path / "b")
        late_us = START_US + int((SOAK_S + down_s) * 1e6)
        async with Plant(left, ARMS, start_us=late_us) as plant:
            found = await told(plant, 1)
            assert found["state"] == first
            if first == "paused":
                assert found["why"] == "restart"
                await steer(plant, 1, "resume")
            await plant.turn(SOAK_S - 10)
            assert counts(await told(plant, 1)) == {"applied": 1, "waiting": 9}
            plan = await ended(plant)
            assert (plan["outcome"], counts(plan)) == ("done", {"applied": 10})

    run(whole)


def test_a_document_that_a_kill_kept_from_being_published_follows_after_the_start(tmp_path: Path) -> None:
    async def whole() -> None:
        rolled = {"method": SET, "params": twist(0.2), "on_failure": "pause", "soak_ms": 600_000}
        async with Plant(tmp_path / "a", ARMS) as plant:
            await plant.call("@all", "Rollout", rolled)
            await plant.turn(5.0)
            await steer(plant, 1, "pause")
            await plant.document("state/@all/plan-1", lambda each: each["state"] == "paused")
            await steer(plant, 1, "abort")
            await plant.committed()
            left = plant.copy(tmp_path / "b")
            shown = [each.document["state"] for each in plant.link.published if each.topic == "state/@all/plan-1"]
            assert shown[-1] == "paused"
        async with Plant(left, ARMS, start_us=START_US + 30_000_000) as plant:
            document = await plant.document("state/@all/plan-1", lambda _: True)
            assert (document["state"], document["outcome"]) == ("ended", "aborted")
            await plant.turn(5.0)
            left = plant.copy(tmp_path / "c")
        async with Plant(left, ARMS, start_us=START_US + 300_000_000) as plant:
            await plant.turn(5.0)
            await plant.call("r11", SET, twist(0.1))
            await plant.turn(5.0)
            left = plant.copy(tmp_path / "d")
        async with Plant(left, ARMS, start_us=START_US + 600_000_000) as plant:
            await plant.turn(5.0)
            assert not [each for each in plant.link.published if each.topic == "state/@all/plan-1"]

    run(whole)


@pytest.mark.parametrize("method", [SET, "Rollout"])
def test_the_document_of_a_plan_is_owed_after_the_end_of_a_row_long_after_its_own(tmp_path: Path, method: str) -> None:
    rolled = {"method": SET, "params": twist(0.2), "on_failure": "pause", "canary": ["a01"], "soak_ms": 0}

    async def whole() -> None:
        async with Plant(tmp_path / "a", ARMS[:3]) as plant:
            if method == SET:
                await plant.fault("a03", "offline")
                plant.send("@all", SET, twist(0.2))
            else:
                await plant.fault("a03", "hang", for_ms=500_000)
                await plant.call("@all", "Rollout", rolled | {"max_failed": 9, "row_within_ms": 2_000})
            await plant.turn(300.0)
            shown = await plant.document("state/@all/plan-1", lambda each: each["state"] == "ended")
            assert shown["counts"]["applied"] == 2
            await plant.fault("a03", "none")
            await plant.document("state/@all/plan-1", lambda each: each["counts"].get("applied") == 3)
            await plant.committed()
            left = plant.copy(tmp_path / "b")
        async with Plant(left, ARMS[:3], start_us=START_US + 400_000_000) as plant:
            document = await plant.document("state/@all/plan-1", lambda _: True)
            assert document["counts"] == {"total": 3, "applied": 3}

    run(whole)
