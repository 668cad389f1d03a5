"""What a row costs beside what any request costs, counted, and what a plan stores when."""

from pathlib import Path

from tests.broker.plans.test_plans import SET, told, twist
from tests.broker.plans.test_work import SLOW
from tests.counted_calls import CallCounter
from tests.virtual_plant import Plant, play

ARMS = tuple(f"a{number:03}" for number in range(128))
OWN_MOST = 240
"""Calls of a row into plans, at most; stands a little above what is counted now."""
LIMITS_MOST, WHOLE_MOST = 360, 1_600
"""The same of what its arm is limited by, and of all that a row takes with the documents of its arm."""


def counted(folder: Path, documents_s: float) -> CallCounter:
    """The calls of a plan over all arms, and of what follows for so many seconds of the plant's own time."""
    loop = CallCounter()

    async def scenario(plant: Plant) -> None:
        for limit in (0.2, 0.21):
            await plant.call("@all", SET, twist(limit))
            await plant.turn(10.0)
        loop.start()
        await plant.call("@all", SET, twist(0.22), group={"parallel": 256})
        if documents_s:
            await plant.turn(documents_s)
        loop.stop()

    play(folder, scenario, arms=ARMS)
    return loop


def test_calls_of_a_row(tmp_path: Path) -> None:
    loop = counted(tmp_path, 0.0)
    own = loop.rooms["broker/plans"] + loop.rooms["handlers/plans"]
    assert 0 < own / len(ARMS) <= OWN_MOST, own / len(ARMS)


def test_calls_of_a_row_with_its_documents(tmp_path: Path) -> None:
    """Of arms that are alike what their limits come to is worked out once, not once an arm."""
    loop = counted(tmp_path, 10.0)
    limits = loop.rooms["handlers/stack"] + loop.rooms["limits/stack"]
    assert 0 < limits / len(ARMS) <= LIMITS_MOST, limits / len(ARMS)
    assert 0 < loop.total / len(ARMS) <= WHOLE_MOST, loop.total / len(ARMS)


def test_ruling_40_commit_1_holds_the_list_of_arms_and_rows_are_written_as_they_begin(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("@all", SET, twist(0.2), wait="stored", group={"parallel": 1})
        assert len(plant.store.plan_arms(1)) <= 1
        row = plant.store.plan(1)
        assert row is not None
        assert row.asked.count(b"\xa4a") >= len(ARMS)
        await plant.turn(2.0)
        await plant.committed()
        assert 0 < len(plant.store.plan_arms(1)) < len(ARMS)

    play(tmp_path, scenario, arms=ARMS, **SLOW)


def test_ruling_28_an_arm_that_is_taken_out_is_skipped_and_new_members_get_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("@all", SET, twist(0.2), wait="stored", group={"parallel": 1, "only": list(ARMS[:10])})
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_STARTED")
        gone = plant.service.sessions.pop("a009")
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_ENDED")
        plant.service.sessions["a009"] = gone
        found = await told(plant, 1)
        last = found["rows"][-1]
        assert (last["arm"], last["state"]) == ("a009", "skipped")
        assert last["message"] == "a009 was taken out of the settings"
        assert found["counts"] == {"total": 10, "applied": 9, "skipped": 1}
        assert plant.session("a011").state.rev == 1

    play(tmp_path, scenario, arms=ARMS[:12], **SLOW)
