"""A connection, a session or the room of the store is lost while the service runs, in virtual time."""

from pathlib import Path

import pytest

from tests.memory_link import Published
from tests.virtual_plant import Plant, play, run

SET = "SetTwistLinearSoftLimit"
ITEM = "twist_linear_soft_limit"
MODE = {"control_mode": "CARTESIAN_JOYSTICK"}
TIGHT, TIGHTER = {**MODE, ITEM: 0.25}, {**MODE, ITEM: 0.2}


def only_events_and_replies(published: list[Published]) -> list[str]:
    """Topics, without documents and presence of the service."""
    return [each.topic for each in published if each.topic.split("/")[0] in ("evt", "res")]


def test_what_a_lost_connection_swallowed_is_sent_again_in_order(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.link.silent = True
        for request_id, params in (("a", TIGHT), ("b", TIGHTER)):
            plant.send("r1", SET, params, id=request_id)
            await plant.reply(request_id)
        told = only_events_and_replies(plant.link.published)
        after = len(plant.link.published)
        plant.link.lose()
        plant.link.silent = False
        plant.link.restore(present=True)
        await plant.reply("b", after)
        assert only_events_and_replies(plant.link.published[after:]) == told

    play(tmp_path, scenario)


def test_a_lost_store_brings_every_document_again(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, TIGHT)
        await plant.turn(5.0)
        retained = {each.topic for each in plant.link.published if each.retained}
        after = len(plant.link.published)
        plant.link.lose()
        plant.link.retained.clear()
        plant.link.restore(present=False)
        await plant.turn(5.0)
        again = {each.topic for each in plant.link.published[after:] if each.retained}
        assert again == retained
        assert {"meta/service", "meta/errors", "meta/factsheet/r1", "svc/main", "state/r2/config"} <= again

    play(tmp_path, scenario)


@pytest.mark.parametrize("present", [True, False])
def test_where_nothing_retained_was_lost_only_the_presence_comes_again(tmp_path: Path, present: bool) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(5.0)
        after = len(plant.link.published)
        plant.link.lose()
        plant.link.restore(present=present)
        await plant.turn(5.0)
        assert [each.topic for each in plant.link.published[after:]] == ["svc/main"]

    play(tmp_path, scenario)


def test_a_full_store_refuses_once_and_acknowledges_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Plant(tmp_path / "data") as plant:
            await plant.call("r1", SET, TIGHT)
            plant.fill_disk()
            acked = len(plant.link.acked)
            numbers = range(400)
            for number in numbers:
                plant.send("r1" if number % 2 else "r2", SET, {**MODE, ITEM: 0.1 + number / 1000}, id=f"f{number}")
            await plant.ended.wait()
            replies = [await plant.reply(f"f{number}") for number in numbers]
        refused = [reply for reply in replies if reply["error"]["kind"] == "store_unavailable"]
        assert refused
        assert len(refused) + len(plant.link.acked) - acked == len(numbers)
        for reply in refused:
            assert (reply["stage"], reply["final"], reply["error"]["retry"]) == ("refused", False, "same_id")
        async with Plant(tmp_path / "data") as plant:
            for reply in refused:
                again = plant.send(reply["arm"], SET, {**MODE, ITEM: 0.1 + int(reply["id"][1:]) / 1000}, id=reply["id"])
                assert (await plant.reply(again))["stage"] == "applied"

    run(scenario)
