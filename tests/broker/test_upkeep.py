"""What a run does from time to time: arms are compared."""

import asyncio
from pathlib import Path

from broker.upkeep import COMPARE_S, LOOK_S, compare
from tests.virtual_plant import Plant, play, run

CHANGE = {"item": "twist_linear_soft_limit", "slot": "CARTESIAN_JOYSTICK", "value": 0.125}


async def _lose_an_event(plant: Plant, arm: str) -> None:
    """Let another writer change an arm that says nothing of it."""
    plant.session(arm).adapter.watch(lambda _: None)
    await plant.fault(arm, "foreign_change", **CHANGE)


def test_a_change_that_no_event_told_of_is_found_within_five_minutes(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        began_s = plant.loop.time()
        await _lose_an_event(plant, "r2")
        topic = "evt/r2/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED"
        event = await plant.document(topic, lambda _: True)
        assert (event["cause"], event["by"]["user"], event["change"]["after"]) == ("foreign", "@arm", 0.125)
        assert plant.loop.time() - began_s <= COMPARE_S + 1
        assert not plant.events("r1")

    play(tmp_path, scenario)


def test_an_arm_that_is_away_is_left_to_those_who_reach_it(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "offline")
        read_at_us = plant.session("r1").state.read_at_us
        await plant.turn(3 * COMPARE_S)
        assert plant.session("r1").state.read_at_us == read_at_us
        assert plant.session("r2").state.read_at_us > read_at_us

    play(tmp_path, scenario)


def test_a_compare_that_fails_is_tried_again_and_one_without_a_difference_tells_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(10.0)
        before = len(plant.link.published)
        await plant.turn(2 * COMPARE_S)
        assert len(plant.link.published) == before
        await _lose_an_event(plant, "r2")
        await plant.fault("r2", "hang", for_ms=int(2 * COMPARE_S * 1000))
        event = await plant.document("evt/r2/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda _: True)
        assert event["cause"] == "foreign"

    play(tmp_path, scenario)


def test_a_service_without_arms_waits_for_some(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(3 * COMPARE_S)
        assert not plant.ended.is_set()

    play(tmp_path, scenario, arms=())


class Named:
    """What is compared, as far as that asks for it."""

    def __init__(self, arm: str) -> None:
        self.arm = arm


def test_of_many_arms_some_are_read_at_once_each_once_in_five_minutes() -> None:
    async def scenario() -> None:
        loop, read_at = asyncio.get_running_loop(), dict[str, list[float]]()
        arms = {f"r{number}": Named(f"r{number}") for number in range(10_001)}
        work = compare(arms, lambda session: read_at.setdefault(session.arm, []).append(loop.time()))  # type: ignore[arg-type]
        task = asyncio.create_task(work)
        await asyncio.sleep(2 * COMPARE_S + 1)
        task.cancel()
        assert read_at.keys() == arms.keys()
        assert {len(times) for times in read_at.values()} <= {2, 3}
        times = sorted({time for each in read_at.values() for time in each})
        assert len(times) <= (2 * COMPARE_S + 1) / LOOK_S

    run(scenario)
