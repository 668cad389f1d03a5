"""Plans that are accepted all at once: `parallel` rows at a time are settled."""

import asyncio
from pathlib import Path
from typing import Any

from broker.life import SENT
from handlers.plans.rows import RowState
from tests.broker.plans.test_plans import SET, steer, told, twist
from tests.virtual_plant import Plant, play, run

ARMS = tuple(f"a{number:02}" for number in range(20))
SLOW: dict[str, Any] = {"sim": {"faults": True, "latency_ms": 200}}


def all_at_once(parallel: int) -> dict[str, Any]:
    """The option of a request."""
    return {"group": {"all_or_nothing": True, "parallel": parallel}}


def begun(plant: Plant) -> int:
    """How many arms are at work on a change."""
    return sum(job.state in SENT for arm in ARMS for job in plant.session(arm).unsettled())


def row_states(plant: Plant, n: int = 1) -> dict[RowState, int]:
    """How many rows of a plan are in each state."""
    return {state: count for state, count in plant.service._stage_1.plans.book.find(n).plan.counts.items() if count}


async def accepted(plant: Plant) -> None:
    """Wait until every arm has its change."""
    while not all(plant.session(arm).state.rev == 2 for arm in ARMS):  # noqa: ASYNC110 - nobody announces it
        await asyncio.sleep(0.01)


def test_all_rows_are_accepted_at_once_and_settled_as_many_at_a_time_as_is_said(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        task = asyncio.ensure_future(plant.call("@all", SET, twist(0.2), **all_at_once(5)))
        await accepted(plant)
        assert sum(len(plant.session(arm).jobs) for arm in ARMS) == len(ARMS)
        most = 0
        while not task.done():
            most = max(most, begun(plant))
            await asyncio.sleep(0.02)
        assert most == 5
        assert (await task)["result"]["counts"] == {"total": 20, "applied": 20}
        assert {len(plant.events(arm)) for arm in ARMS} == {1}

    play(tmp_path, scenario, arms=ARMS, **SLOW)


def test_a_request_behind_a_row_does_not_wait_for_the_turn_of_the_row(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("a00", "hang", for_ms=60_000)
        plant.send("@all", SET, twist(0.2), id="plan", **all_at_once(1))
        await accepted(plant)
        began = plant.loop.time()
        assert (await plant.call("a19", SET, twist(0.1)))["stage"] == "applied"
        assert plant.loop.time() - began < 1.0
        assert plant.session("a18").unsettled()[0].waits_turn
        causes = [event["cause"] for event in plant.events("a19")]
        assert causes == ["applied", "applied"]

    play(tmp_path, scenario, arms=ARMS, **SLOW)


def test_a_row_that_goes_early_and_gets_no_answer_is_told_as_unknown_after_10_s(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for arm in ("a00", "a19"):
            await plant.fault(arm, "hang", for_ms=60_000)
        plant.send("@all", SET, twist(0.2), id="plan", wait="stored", **all_at_once(1))
        await accepted(plant)
        plant.send("a19", SET, twist(0.1), wait="stored")
        await plant.turn(5.0)
        assert row_states(plant) == {RowState.WAITING: 20}
        await plant.turn(7.0)
        assert row_states(plant)[RowState.UNKNOWN] == 2

    play(tmp_path, scenario, arms=ARMS, **SLOW)


def test_rows_wait_for_their_turn_longer_than_a_reply_does_and_an_arm_that_hangs_keeps_nobody(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("a00", "hang", for_ms=60_000)
        reply = await plant.call("@all", SET, twist(0.2), **all_at_once(1))
        assert (reply["final"], reply["result"]["counts"]["waiting"] >= 19) == (False, True)
        document = await plant.document("state/@all/plan-1", lambda one: one["state"] == "ended")
        assert document["counts"] == {"total": 20, "applied": 19, "unknown": 1}
        await plant.document("state/@all/plan-1", lambda one: one["counts"].get("applied") == 20)

    play(tmp_path, scenario, arms=ARMS, **SLOW)


def test_no_further_row_begins_while_the_plan_is_paused(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.send("@all", SET, twist(0.2), id="plan", wait="stored", **all_at_once(2))
        await accepted(plant)
        await steer(plant, 1, "pause")
        await plant.turn(3.0)
        done = row_states(plant)[RowState.APPLIED]
        assert done < len(ARMS)
        await plant.turn(20.0)
        assert row_states(plant) == {RowState.APPLIED: done, RowState.WAITING: len(ARMS) - done}
        await steer(plant, 1, "resume")
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_ENDED")
        assert (await told(plant, 1))["counts"] == {"total": 20, "applied": 20}

    play(tmp_path, scenario, arms=ARMS, **SLOW)


def test_what_is_taken_out_of_its_turn_waits_for_its_arm_alone(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.send("@all", SET, twist(0.2), id="plan", wait="stored", **all_at_once(1))
        await accepted(plant)
        assert (await plant.call("a19", "SetAuthority", {"authority": "observe"}))["ok"]
        assert [job.why for job in plant.session("a19").parked] != []
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_ENDED")
        assert row_states(plant) == {RowState.APPLIED: 19, RowState.STORED: 1}
        await plant.call("a19", "SetAuthority", {"authority": "control"})
        await plant.turn(5.0)
        assert row_states(plant) == {RowState.APPLIED: 20}

    play(tmp_path, scenario, arms=ARMS, **SLOW)


def test_after_a_kill_rows_go_on_in_turns(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Plant(tmp_path / "one", arms=ARMS, **SLOW) as plant:
            plant.send("@all", SET, twist(0.2), id="plan", wait="stored", **all_at_once(2))
            await accepted(plant)
            await plant.turn(0.7)
            await plant.committed()
            other = plant.copy(tmp_path / "two")
        async with Plant(other, arms=ARMS, **SLOW) as plant:
            most = 0
            while row_states(plant) != {RowState.APPLIED: 20}:
                waits = [job for arm in ARMS for job in plant.session(arm).unsettled() if job.waits_turn]
                most = max(most, sum(len(plant.session(arm).unsettled()) for arm in ARMS) - len(waits))
                await asyncio.sleep(0.05)
            assert most <= 4

    run(scenario)
