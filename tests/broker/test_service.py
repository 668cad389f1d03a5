"""The upkeep of a run."""

from pathlib import Path

import pytest

from broker.service import DRAIN_S
from tests.memory_link import BASE
from tests.stored import changes
from tests.virtual_plant import Plant, play

HOUR_S = 3600.0
DAY_S = 24 * 3600.0
VALUE = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}


async def read_again(plant: Plant) -> None:
    """Wait for the next reading, and what follows of it."""
    before, began_s = plant.service._readback.readings, plant.loop.time()
    while plant.service._readback.readings == before:
        await plant.turn(60.0)
    assert plant.loop.time() - began_s > HOUR_S - 60.0
    await plant.turn(10.0)


def test_every_hour_what_is_retained_is_compared_and_only_what_is_wrong_is_sent(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(10.0)
        after = len(plant.link.published)
        await read_again(plant)
        assert plant.link.published[after:] == []
        plant.link.retained[f"{BASE}/state/r1/mode"] = b"somebody else"
        del plant.link.retained[f"{BASE}/meta/factsheet/r2"]
        del plant.link.retained[f"{BASE}/meta/errors"]
        await read_again(plant)
        topics = {each.topic for each in plant.link.published[after:]}
        assert topics == {"state/r1/mode", "meta/factsheet/r2", "meta/errors"}

    play(tmp_path, scenario)


def test_what_need_not_be_kept_is_dropped(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for _ in range(3):
            await plant.call("r1", "SetTwistLinearSoftLimit", VALUE)
        await plant.turn(7 * DAY_S)
        while (page := plant.store.events("r1", 0, 10, 10_000)).first_seq != 3:
            await plant.turn(HOUR_S)
        assert (page.head_seq, len(page.events)) == (3, 1)

    play(tmp_path, scenario)


def test_a_start_takes_no_request_before_it_met_its_arms(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for arm in ("r1", "r2"):
            assert plant.session(arm).state.adopted

    play(tmp_path, scenario, sim={"latency_ms": 500})


def test_an_ordered_end_waits_for_a_hanging_arm_but_not_for_ever(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        plant.send("r1", "SetTwistLinearSoftLimit", VALUE, id="h")
        await plant.call("r2", "SetTwistLinearSoftLimit", VALUE)
        began_s = plant.loop.time()
        await plant.service.close(drain=True)
        assert plant.loop.time() - began_s == pytest.approx(DRAIN_S, abs=0.5)
        assert (await plant.reply("h"))["error"]["kind"] == "outcome_unknown"
        last = [each for each in plant.link.published if each.topic == "svc/main"][-1]
        assert last.document["state"] == "offline"

    play(tmp_path, scenario)
    assert [change.state for change in changes(tmp_path / "store.sqlite3") if change.arm == "r1"] == ["writing"]


def test_an_ordered_end_commits_what_is_decided(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.send("r1", "SetTwistLinearSoftLimit", VALUE, id="last")
        while not plant.session().unsettled():
            await plant.turn()
        await plant.service.close(drain=True)
        assert (await plant.reply("last"))["stage"] == "applied"
        assert plant.store.error is None

    play(tmp_path, scenario)
