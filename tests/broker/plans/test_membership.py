"""Who is in a plan: the members of its group when it began, whatever the settings say later."""

from pathlib import Path
from typing import Any

from tests.broker.test_groups import cell, follow
from tests.virtual_plant import Plant, play

SET = "SetTwistLinearSoftLimit"
TWIST = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}


async def ended(plant: Plant, number: int) -> dict[str, Any]:
    """The plan once it has ended."""
    await plant.document("evt/@all/plan", lambda each: each["event"] == "PLAN_ENDED" and each["plan"] == number)
    found: dict[str, Any] = (await plant.call("@all", "GetPlan", {"plan": number}))["result"]
    return found


def test_ruling_28_members_are_those_of_the_beginning(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        plant.send("@cell-4", SET, TWIST, id="slow", group={"parallel": 1}, wait="stored")
        number = (await plant.reply("slow"))["plan"]
        await plant.turn(0.5)
        await follow(plant, r2=[], r4=["cell-4"])
        plan = await ended(plant, number)
        states = {row["arm"]: row["state"] for row in plan["rows"]}
        assert states == {"r1": "unknown", "r2": "applied", "r3": "skipped"}
        assert plant.events("r4") == []
        assert (await plant.call("@cell-4", "FindArms"))["result"]["count"] == 1
        again = (await plant.call("@cell-4", SET, TWIST, id="next"))["result"]
        assert [row["arm"] for row in again["rows"]] == ["r4"]

    play(tmp_path, scenario, arm=cell(r1=["cell-4"], r2=["cell-4"], r3=["cell-4"]))


def test_ruling_28_an_arm_that_comes_back_gets_nothing_that_it_missed(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        plant.send("@cell-4", SET, TWIST, id="slow", group={"parallel": 1}, wait="stored")
        number = (await plant.reply("slow"))["plan"]
        await plant.turn(0.5)
        await follow(plant, r1=["cell-4"])
        await plant.fault("r1", "none")
        plan = await ended(plant, number)
        await follow(plant, r1=["cell-4"], r2=["cell-4"])
        await plant.turn(60.0)
        assert {row["arm"]: row["state"] for row in plan["rows"]} == {"r1": "applied", "r2": "skipped"}
        assert plant.events("r2") == []

    play(tmp_path, scenario, arm=cell(r1=["cell-4"], r2=["cell-4"]))


def test_ruling_40_of_many_arms_one_row_is_stored_at_first_and_the_reply_does_not_wait_for_all(tmp_path: Path) -> None:
    count, rate = 400, 20

    async def scenario(plant: Plant) -> None:
        def stored() -> tuple[int, int]:
            tables = ("plan", "plan_row")
            plans, rows = (
                plant.store._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
                for table in tables
            )
            return plans, rows

        await plant.call("a000", "GetGravityVector")  # others come, so that the rate counts
        first = len(plant.link.acked)
        plant.send("@all", SET, TWIST, id="many")
        while len(plant.link.acked) == first:
            await plant.turn()
        began_s, (plans, done) = plant.loop.time(), stored()
        assert (plans, done < count) == (1, True)
        while plant.loop.time() < began_s + 11.0:
            await plant.call("a000", "GetGravityVector")
            await plant.turn(0.1)
            plans, begun = stored()
            assert plans == 1
            assert begun <= rate * (plant.loop.time() - began_s + 2) + 1
            assert begun >= done
            done = begun
        assert 0 < done < count
        reply = await plant.reply("many")
        assert plant.loop.time() - began_s <= 12.0
        assert (reply["ok"], reply["final"], reply["plan"], reply["result"]["counts"]["total"]) == (
            True,
            False,
            1,
            count,
        )
        document = await plant.document("state/@all/plan-1", lambda each: each["state"] == "ended")
        assert document["counts"] == {"total": count, "applied": count}
        assert stored() == (1, count)

    arms = [f"a{number:03d}" for number in range(count)]
    play(tmp_path, scenario, arms=arms, fleet={"rate": rate})
