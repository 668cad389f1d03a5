"""Who asks for more than the service can do."""

from pathlib import Path

from broker.accept.rates import ALONE_S, FEW, MOST, MOST_ALONE, STUCK, Backlog, Rates
from broker.publish.outbox import Publication
from broker.settings import from_document
from tests.virtual_plant import Plant, play

SET = "SetTwistLinearSoftLimit"


def owe(plant: Plant, user: str, count: int) -> None:
    for _ in range(count):
        plant.service._replies.owe(user)


def backlog_of(plant: Plant, rate: float = 2000) -> Backlog:
    service = plant.service
    rates = Rates(from_document({"rates": {"rate": rate}}))
    return Backlog(service._replies, service._queues, rates, service._outbox)


def test_a_user_who_is_alone_may_wait_with_more_than_one_among_others(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        backlog = backlog_of(plant)
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
        replies, backlog = plant.service._replies, backlog_of(plant)
        assert replies.owed["u"] > MOST + 40
        assert not backlog.exceeds("u", plant.clock.monotonic())
        assert not backlog.exceeds("other", plant.clock.monotonic())
        assert not backlog.exceeds("u", plant.clock.monotonic())
        await plant.fault("r1", "none")

    play(tmp_path, scenario)


def test_a_user_without_a_bound_may_wait_among_others_with_as_much_as_one_who_is_alone(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        backlog = backlog_of(plant, rate=0)
        owe(plant, "u", MOST_ALONE - 1)
        assert [backlog.exceeds(user, 0.0) for user in ("u", "other", "u")] == [False] * 3
        owe(plant, "u", 1)
        assert backlog.exceeds("u", 0.0)
        plant.service._replies.owed.clear()

    play(tmp_path, scenario)


def test_few_may_wait_while_far_too_many_replies_wait_for_the_mqtt_server(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        backlog = backlog_of(plant)
        plant.link.answer()
        plant.link.silent = True
        owe(plant, "u", FEW)
        owe(plant, "other", FEW - 1)
        assert not backlog.exceeds("u", 0.0)
        for _ in range(STUCK):
            plant.service._outbox.send(Publication("res/u/c/1", b""))
        assert backlog.exceeds("u", 0.0)
        assert not backlog.exceeds("other", 0.0)
        plant.link.answer()
        plant.service._outbox.pump()
        plant.service._replies.owed.clear()

    play(tmp_path, scenario)
