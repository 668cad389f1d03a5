"""Events stay in the store while the MQTT server is away, and are told in order when it is back."""

from pathlib import Path

import pytest

from broker.record import backfill
from broker.record.backfill import WINDOW
from tests.virtual_plant import Plant, play

MANY = 3 * WINDOW


def raise_events(plant: Plant, arm: str, count: int) -> None:
    """Let an arm raise so many events that carry no value."""
    for _ in range(count):
        plant.service._settler.endings.record_raised(plant.session(arm), "ANGLE_UNIT_CHANGED", "")


def seqs(plant: Plant, arm: str = "r1") -> list[int]:
    return [event["seq"] for event in plant.events(arm)]


async def all_told(plant: Plant, count: int, *arms: str) -> None:
    for arm in arms or ("r1",):
        await plant.document(f"evt/{arm}/config/ANGLE_UNIT_CHANGED", lambda event: event["seq"] == count)


def test_memory_is_bounded_and_everything_is_told_once_in_order(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.link.lose()
        for _ in range(30):
            raise_events(plant, "r1", MANY // 30)
            raise_events(plant, "r2", 1)
            await plant.committed()
        outbox = plant.service._outbox
        assert outbox.backlog <= WINDOW + 100
        plant.link.restore(present=True)
        raise_events(plant, "r1", 5)
        await all_told(plant, MANY + 5)
        assert seqs(plant) == list(range(1, MANY + 6))
        assert seqs(plant, "r2") == list(range(1, 31))
        await plant.turn(1.0)
        assert plant.session().published_seq == MANY + 5
        assert plant.service._ledger.backfill.late == {}

    play(tmp_path, scenario)


def test_a_start_reads_no_more_than_fits_and_tells_the_rest_before_anything_new(tmp_path: Path) -> None:
    async def away(plant: Plant) -> None:
        plant.link.lose()
        raise_events(plant, "r1", MANY)
        await plant.committed()

    async def back(plant: Plant) -> None:
        outbox = plant.service._outbox
        assert 0 < outbox.backlog <= WINDOW + 100
        raise_events(plant, "r1", 3)
        await plant.committed()
        assert outbox.backlog <= WINDOW + 100
        plant.link.answer()
        await all_told(plant, MANY + 3)
        assert seqs(plant) == list(range(1, MANY + 4))

    play(tmp_path, away)
    play(tmp_path, back, silent=True)


def test_documents_come_after_the_events_that_they_contain(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.link.lose()
        raise_events(plant, "r1", MANY)
        plant.service._documents.mark(plant.session(), "config")
        await plant.committed()
        plant.link.restore(present=True)
        await plant.document("state/r1/config", lambda document: document["seq"] == MANY)
        topics = [each.topic for each in plant.link.published]
        events = [number for number, topic in enumerate(topics) if topic.startswith("evt/r1/")]
        documents = [
            number
            for number, each in enumerate(plant.link.published)
            if each.topic == "state/r1/config" and each.document["seq"] == MANY
        ]
        assert events[-1] < documents[0]

    play(tmp_path, scenario)


def test_a_handle_gets_every_notice_in_order(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        handle = (await plant.call("r1", "ControlConfigurationTopic"))["result"]["identifier"]
        plant.link.lose()
        raise_events(plant, "r1", MANY)
        await plant.committed()
        plant.link.restore(present=True)
        topic = f"ntf/u/c/{handle}"
        await plant.document(topic, lambda event: event["seq"] == MANY)
        notices = [each.document for each in plant.link.published if each.topic == topic]
        assert [notice["seq"] for notice in notices] == list(range(1, MANY + 1))
        assert [notice["prev"] for notice in notices] == list(range(MANY))

    play(tmp_path, scenario)


def test_the_last_notice_of_a_handle_waits_for_those_before_it(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        handle = (await plant.call("r1", "ControlConfigurationTopic"))["result"]["identifier"]
        plant.link.lose()
        raise_events(plant, "r1", MANY)
        await plant.committed()
        entry = plant.service._notices.handles[handle]
        plant.service._settler.endings.expire_handle(plant.session(), entry)
        await plant.committed()
        assert handle in plant.service._notices.handles
        plant.link.restore(present=True)
        topic = f"ntf/u/c/{handle}"
        await plant.document(topic, lambda event: event["event"] == "HANDLE_EXPIRED")
        notices = [each.document for each in plant.link.published if each.topic == topic]
        assert [notice["seq"] for notice in notices] == list(range(1, MANY + 2))
        assert handle not in plant.service._notices.handles

    play(tmp_path, scenario)


SET = "SetTwistLinearSoftLimit"
REFUSED = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 99.0}


def value(number: int) -> dict[str, object]:
    return {**REFUSED, "twist_linear_soft_limit": 0.1 + number / 10_000}


def test_replies_that_are_owed_are_read_from_the_store_as_they_fit_and_each_is_given_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of changes go with their events, refusals before all of them; those of an arm that is gone go, too."""
    many = 60
    monkeypatch.setattr(backfill, "WINDOW", 20)
    monkeypatch.setattr(backfill, "PAGE", 7)

    async def away(plant: Plant) -> None:
        for number in range(many):
            for arm in ("r1", "r2"):
                plant.send(arm, SET, value(number), id=f"{arm}-{number}")
            plant.send("r1", SET, REFUSED, id=f"refused-{number}")
            await plant.turn(1.0)
        assert not plant.session("r1").unsettled() + plant.session("r2").unsettled()

    async def back(plant: Plant) -> None:
        assert plant.loaded.open_requests == []
        assert 0 < plant.service._outbox.backlog < 60
        plant.link.answer()
        while plant.service._outbox.backlog or plant.service._ledger.backfill.late:
            await plant.turn(0.1)
        replies = [each.document["id"] for each in plant.link.published if each.topic.startswith("res/")]
        assert sorted(replies) == sorted(f"{kind}-{n}" for kind in ("r1", "r2", "refused") for n in range(many))
        assert replies[:many] == [f"refused-{number}" for number in range(many)]
        assert seqs(plant) == list(range(1, many + 1))
        await plant.turn(1.0)

    async def nothing(plant: Plant) -> None:
        await plant.turn(1.0)
        assert [each.topic for each in plant.link.published if each.topic.startswith("res/")] == []

    play(tmp_path, away, silent=True)
    play(tmp_path, back, silent=True, arms=("r1",))
    play(tmp_path, nothing)
