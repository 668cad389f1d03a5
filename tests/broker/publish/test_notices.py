"""Notification handles over time, crashes and races."""

import sqlite3
from pathlib import Path
from typing import Any

from tests.memory_link import Published
from tests.virtual_plant import Plant, play, run

SET = "SetTwistLinearSoftLimit"
VALUE = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}
OTHER = {**VALUE, "twist_linear_soft_limit": 0.2}
DAY_S = 24 * 3600.0


async def opened(plant: Plant) -> int:
    """The number of a new handle of configuration events of arm r1."""
    reply = await plant.call("r1", "ControlConfigurationTopic", {})
    identifier: int = reply["result"]["identifier"]
    return identifier


def notices(published: list[Published], handle: int) -> list[dict[str, Any]]:
    """What a handle got."""
    return [each.document for each in published if each.topic == f"ntf/u/c/{handle}"]


def test_notices_count_on_their_own(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, VALUE)
        first = await opened(plant)
        await plant.call("r1", SET, OTHER)
        second = await opened(plant)
        await plant.call("r1", SET, VALUE)
        await plant.call("r2", SET, VALUE)
        assert [(each["seq"], each["prev"]) for each in notices(plant.link.published, first)] == [(2, 0), (3, 2)]
        assert [(each["seq"], each["prev"]) for each in notices(plant.link.published, second)] == [(3, 0)]

    play(tmp_path, scenario)


def test_a_silent_connection_loses_its_handle_with_a_last_notice(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        handle = await opened(plant)
        await plant.turn(DAY_S - 3600)
        await plant.call("r1", "WhoAmI")
        await plant.turn(DAY_S - 3600)
        assert notices(plant.link.published, handle) == []
        await plant.turn(2 * 3600)
        (last,) = notices(plant.link.published, handle)
        assert (last["event"], last["notification"], last["seq"]) == ("HANDLE_EXPIRED", None, 1)
        reply = await plant.call("r1", "Unsubscribe", {"identifier": handle})
        assert reply["error"]["kind"] == "unknown_handle"

    play(tmp_path, scenario)


def test_a_last_notice_does_not_mark_the_events_before_it(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        handle = await opened(plant)
        await plant.turn(1.0)
        plant.link.silent = True
        await plant.call("r1", SET, VALUE)
        entry = plant.service._notices.handles[handle]
        plant.service._settler.endings.expire_handle(plant.session(), entry)
        await plant.turn(1.0)
        rows = sqlite3.connect(tmp_path / "store.sqlite3")
        assert rows.execute("SELECT seq FROM published WHERE arm = 'r1'").fetchall() == []
        rows.close()

    play(tmp_path, scenario)


def test_a_handle_that_ends_twice_at_once_ends_once(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        handle = await opened(plant)
        entry = plant.service._notices.handles[handle]
        plant.service._settler.endings.expire_handle(plant.session(), entry)
        plant.service._notices.close(handle)
        await plant.turn(1.0)
        assert (await plant.call("r1", SET, VALUE))["ok"]
        assert plant.store.error is None

    play(tmp_path, scenario)


def test_after_a_crash_a_handle_gets_what_it_missed_and_goes_on(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path / "first") as plant:
            handle = await opened(plant)
            await plant.call("r1", SET, VALUE)
            await plant.turn(1.0)
            plant.link.silent = True
            await plant.call("r1", SET, OTHER)
            await plant.committed()
            data = plant.copy(tmp_path / "copy")
        async with Plant(data) as plant:
            await plant.call("r1", SET, VALUE)
            got = notices(plant.link.published, handle)
            assert [(each["seq"], each["prev"]) for each in got] == [(2, 1), (3, 2)]
            assert await opened(plant) == handle + 1

    run(whole)
