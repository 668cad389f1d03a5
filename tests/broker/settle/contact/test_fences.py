"""Arms that remember higher numbers than we do: ours go on above them."""

import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker.service import Service
from broker.store.errors import HistoryLostError
from devices.adapter import ArmAwayError
from tests.broker.settle.test_settler import ITEM, SET, commands, value
from tests.stored import audited
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


def test_the_epoch_goes_above_that_of_an_arm_not_to_it(tmp_path: Path) -> None:
    """Who gave it commands in the same epoch told events in it, too."""

    async def scenario(plant: Plant) -> None:
        assert (await plant.call("r1", SET, value(0.25)))["stage"] == "applied"
        assert commands(tmp_path, ITEM) == [[2, 1]]
        assert [event["epoch"] for event in plant.events()] == [2]

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


# ---------------------------------------------------------------------- arms that know more than the store


def test_a_start_ends_when_an_arm_had_commands_that_the_store_does_not_know(tmp_path: Path) -> None:
    play(tmp_path, changed)

    async def scenario() -> None:
        with pytest.raises(ExceptionGroup) as caught:
            async with Plant(tmp_path, prepare=lambda service: fence(service, (1, 9))):
                pass
        (error,) = caught.value.exceptions
        assert isinstance(error, HistoryLostError)
        assert (
            "r1: it was given command (1, 9), of which this store does not know: its last was 1 in epoch 1 or before"
            in str(error)
        )
        assert "r2" not in str(error)
        assert "armbroker restore" in str(error)
        assert "--accept-lost-history" in str(error)

    run(scenario)
    play(tmp_path, changed)  # the arm as it was


async def changed(plant: Plant) -> None:
    assert (await plant.call("r1", SET, value(0.2 + plant.loaded.epoch / 100)))["stage"] == "applied"


def test_an_arm_that_knows_no_more_than_the_store_is_served(tmp_path: Path) -> None:
    for _ in range(3):
        play(tmp_path, changed)


def test_what_arms_know_is_accepted_once_somebody_says_so(tmp_path: Path) -> None:
    play(tmp_path, changed)

    async def scenario(plant: Plant) -> None:
        assert (await plant.call("r1", SET, value(0.3)))["stage"] == "applied"
        assert commands(tmp_path, ITEM)[-1] == [8, 2]
        assert [event["epoch"] for event in plant.events()] == [8]
        entries = [*map(msgspec.json.decode, audit(tmp_path))]
        (accepted,) = [entry for entry in entries if entry["decision"] == "fence_accepted"]
        assert (accepted["arm"], accepted["fence"], accepted["known"]) == ("r1", [7, 1], [1, 1])
        assert accepted["by"]

    play(tmp_path, scenario, prepare=lambda service: fence(service, (7, 1)), accept_lost=True)
    play(tmp_path, changed)


def audit(data: Path) -> list[bytes]:
    return audited(data / "store.sqlite3")


def late(service: Service) -> None:
    """The arm is away during the start, and knows more when it comes."""
    fence(service, (1, 9))
    adapter: Any = service.sessions["r1"].adapter
    connect = adapter.connect
    tries = iter((True,))

    async def away_first() -> Any:
        if next(tries, False):
            raise ArmAwayError("not yet")
        return await connect()

    adapter.connect = away_first


def test_an_arm_that_is_met_later_is_held_until_it_is_confirmed(tmp_path: Path) -> None:
    play(tmp_path, changed)

    async def held(plant: Plant) -> None:
        presence = await plant.document("state/r1/presence", lambda one: one["state"] == "held")
        assert "it was given command (1, 9), of which this store does not know" in presence["why"]
        assert (await plant.call("r2", SET, value(0.2 + plant.loaded.epoch / 100)))["stage"] == "applied"
        assert (await plant.call("r1", SET, value(0.35)))["stage"] == "stored"

    async def confirmed(plant: Plant) -> None:
        await held(plant)
        assert (await plant.call("r1", "ConfirmArm"))["ok"]
        assert (await plant.call("r1", SET, value(0.4)))["stage"] == "applied"

    play(tmp_path, held, prepare=late)
    play(tmp_path, confirmed, prepare=lambda service: fence(service, (1, 9)))
    play(tmp_path, changed)
