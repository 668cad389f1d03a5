"""The events of the fleet: a seq of their own, published once they are committed, also by the next start."""

from pathlib import Path
from typing import Any

from schema.envelope import Author
from schema.events import FleetEvent
from tests.broker.test_damaged_rows import alter
from tests.stored import event_bodies
from tests.virtual_plant import Plant, play, run

ALICE = Author("alice", "desk", proven=True)


def emit(plant: Plant, name: FleetEvent, cause: str = "put") -> None:
    plant.service.fleet_events.emit(
        name, cause=cause, by=ALICE, request_id="alice/desk/7", reason="because", plan=3, details={"name": "weld"}
    )


async def events(plant: Plant, after: int = 0) -> dict[str, Any]:
    result: dict[str, Any] = (await plant.call("@all", "GetEvents", {"after_seq": after}))["result"]
    return result


def test_an_event_is_published_in_its_order_and_can_be_read_again(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        emit(plant, FleetEvent.RECIPE_CHANGED)
        emit(plant, FleetEvent.PLAN_STARTED, "started")
        emit(plant, FleetEvent.RECIPE_CHANGED, "deleted")
        last = await plant.document("evt/@all/recipe", lambda each: each["cause"] == "deleted")
        assert (last["arm"], last["seq"], last["prev"], last["rev"]) == ("@all", 3, 1, 0)
        assert (last["event"], last["request_id"], last["reason"]) == ("RECIPE_CHANGED", "alice/desk/7", "because")
        assert last["plan"] == 3
        assert last["details"] == {"name": "weld"}
        assert last["by"] == {"user": "alice", "connection": "desk", "proven": True}
        assert [each["event"] for each in plant.events("@all")] == ["RECIPE_CHANGED", "PLAN_STARTED", "RECIPE_CHANGED"]
        told = await events(plant)
        assert (told["events"], told["head_seq"], told["more"]) == (plant.events("@all"), 3, False)
        assert (await plant.call("@all", "GetEvents", {}))["seq"] == 3

    play(tmp_path, scenario)


def test_a_start_goes_on_where_the_events_stood_and_publishes_what_is_owed(tmp_path: Path) -> None:
    data, left = tmp_path / "data", tmp_path / "left"

    async def whole() -> None:
        async with Plant(data) as plant:
            emit(plant, FleetEvent.GROUPS_CHANGED)
            await plant.document("evt/@all/settings", lambda each: each["seq"] == 1)
            await plant.committed()
            plant.link.silent = True
            emit(plant, FleetEvent.PLAN_ENDED, "done")
            await plant.committed()
            plant.copy(left)
        async with Plant(left) as plant:
            owed = await plant.document("evt/@all/plan", lambda each: each["seq"] == 2)
            assert (owed["cause"], owed["prev"]) == ("done", 0)
            emit(plant, FleetEvent.GROUPS_CHANGED)
            event = await plant.document("evt/@all/settings", lambda each: each["seq"] == 3)
            assert event["prev"] == 1
            assert event["epoch"] == owed["epoch"] + 1
            assert [each["seq"] for each in (await events(plant, 1))["events"]] == [2, 3]
            assert not [each for each in plant.link.published if each.topic.startswith("state/@all/")]

    run(whole)


def test_a_damaged_row_of_the_fleet_is_counted_anew_and_holds_no_arm(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            emit(plant, FleetEvent.RECIPE_CHANGED)
            emit(plant, FleetEvent.PLAN_STARTED)
            await plant.turn(1.0)
        alter(tmp_path, "UPDATE arm SET seq = 0 WHERE arm = '@all'")
        async with Plant(tmp_path) as plant:
            assert plant.service.fleet_events.stream.state.seq == 2
            emit(plant, FleetEvent.RECIPE_CHANGED)
            event = await plant.document("evt/@all/recipe", lambda each: each["seq"] == 3)
            assert event["prev"] == 1
            assert [session.state.distrust for session in plant.service.sessions.values()] == ["", ""]
            assert len(event_bodies(plant.store._connection, "@all")) == 3

    run(whole)
