"""Who asks for more than the service can do."""

from pathlib import Path

from broker.accept.backlog import ALONE_S, MOST, MOST_ALONE, Backlog
from tests.virtual_plant import Plant, play

SET = "SetTwistLinearSoftLimit"


def owe(plant: Plant, user: str, count: int) -> None:
    for _ in range(count):
        plant.service._replies.owe(user)


def test_a_user_who_is_alone_may_wait_with_more_than_one_among_others(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        backlog = Backlog(plant.service._replies, plant.service._queues)
        owe(plant, "u", MOST)
        assert not backlog.exceeds("u", 0.0)
        assert not backlog.exceeds("other", 1.0)
        assert backlog.exceeds("u", 2.0)
        assert not backlog.exceeds("u", 2.0 + ALONE_S)
        owe(plant, "u", MOST_ALONE - MOST)
        assert backlog.exceeds("u", 3.0 + ALONE_S)
        plant.service._replies.owed.clear()

    play(tmp_path, scenario)


def test_changes_that_wait_for_an_arm_are_not_meant(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r2", "WhoAmI", user="other")
        await plant.fault("r1", "hang")
        for number in range(MOST + 50):
            plant.send("r1", SET, {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.1 + number / 1e3})
        await plant.turn(0.5)
        replies, backlog = plant.service._replies, Backlog(plant.service._replies, plant.service._queues)
        assert replies.owed["u"] > MOST + 40
        assert not backlog.exceeds("u", plant.clock.monotonic())
        assert not backlog.exceeds("other", plant.clock.monotonic())
        assert not backlog.exceeds("u", plant.clock.monotonic())
        await plant.fault("r1", "none")

    play(tmp_path, scenario)
