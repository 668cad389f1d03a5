"""Arms that remember higher numbers than we do: ours go on above them."""

import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from broker.service import Service
from tests.broker.settle.test_settler import ITEM, SET, commands, value
from tests.virtual_plant import Plant, play, run


def fence(service: Service, pair: tuple[int, int], arm: str = "r1") -> None:
    """Let an arm tell that it was given this pair."""
    adapter: Any = service.sessions[arm].adapter
    connect = adapter.connect

    async def connect_and_tell() -> Any:
        return msgspec.structs.replace(await connect(), fence=pair)

    adapter.connect = connect_and_tell


def test_a_higher_epoch_raises_ours_for_good(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Plant(tmp_path, prepare=lambda service: fence(service, (41, 7))) as plant:
            svc = await plant.document("svc/main", lambda one: one["epoch"] == 42)
            assert svc["state"] == "online"
            await plant.document("meta/service", lambda one: one["epoch"] == 42)
            assert (await plant.call("r1", SET, value(0.25)))["stage"] == "applied"
            (event,) = plant.events()
            assert event["epoch"] == 42
            config = await plant.document("state/r1/config", lambda one: one["seq"] == 1)
            assert config["epoch"] == 42
            assert commands(tmp_path, ITEM) == [[42, 1]]
        rows = sqlite3.connect(tmp_path / "store.sqlite3")
        assert rows.execute("SELECT epoch FROM service").fetchone() == (42,)
        rows.close()
        async with Plant(tmp_path) as plant:
            assert plant.loaded.epoch == 43

    run(scenario)


def test_a_higher_number_of_the_same_epoch_is_passed(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        assert (await plant.call("r1", SET, value(0.25)))["stage"] == "applied"
        assert commands(tmp_path, ITEM) == [[1, 10]]

    play(tmp_path, scenario, prepare=lambda service: fence(service, (1, 9)))


def test_lower_numbers_change_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        assert (await plant.call("r1", SET, value(0.25)))["stage"] == "applied"
        assert commands(tmp_path, ITEM) == [[1, 1]]

    play(tmp_path, scenario, prepare=lambda service: fence(service, (0, 9)))


def test_what_was_numbered_but_not_sent_is_numbered_again(tmp_path: Path) -> None:
    """The change has its number when the arm is found to know a higher one."""

    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "delay", delay_ms=1_000)
        first, second = plant.send("r1", SET, value(0.25)), plant.send("r1", SET, value(0.2))
        await plant.turn(0.5)
        fence(plant.service, (6, 1))
        plant.service._reconciler.contact_soon(plant.session(), "test")
        for request in (first, second):
            assert (await plant.reply(request))["stage"] == "applied"
        assert commands(tmp_path, ITEM) == [[1, 1], [7, 2]]

    play(tmp_path, scenario)
