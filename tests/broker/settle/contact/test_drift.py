"""What comes of changes by other writers: reported, or undone where an arm says so and that tightens."""

from pathlib import Path
from typing import Any

import pytest

from devices.adapter import LinkState
from handlers.state.limit_sources import LimitSources
from schema.arms import Authority, Fault, Slot
from schema.enums import ControlMode
from schema.messages import GravityVector, Message, TwistLinearSoftLimit
from tests.broker.settle.test_settler import commands
from tests.virtual_plant import Plant, play

SET, ITEM = "SetTwistLinearSoftLimit", "twist_linear_soft_limit"
JOYSTICK, TRAJECTORY = ControlMode.CARTESIAN_JOYSTICK, ControlMode.CARTESIAN_TRAJECTORY
CHANGED = "evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED"
REAPPLYING = {"arm": [{"id": "r1", "adapter": "simulated", "model": "gen3_7dof", "drift": "reapply"}]}


def value(limit: float, mode: ControlMode = JOYSTICK) -> dict[str, Any]:
    """Params of the Set."""
    return {"control_mode": mode.name, ITEM: limit}


def change_by_another(plant: Plant, changed: Message, slot: Slot = (ITEM, 2)) -> None:
    """Another writer changes arm r1."""
    adapter: Any = plant.session().adapter
    adapter.inject(Fault("foreign_change", slot=slot, value=changed))


def limit(number: float, mode: ControlMode = JOYSTICK) -> TwistLinearSoftLimit:
    """A limit as the arm keeps it."""
    return TwistLinearSoftLimit(mode, number)


def causes(plant: Plant) -> list[str]:
    """The causes of the events about values so far."""
    return [event["cause"] for event in plant.events() if event["change"]["item"] != "authority"]


def test_what_another_writer_loosened_is_written_again_as_a_change_of_our_own(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.2))
        change_by_another(plant, limit(0.4))
        event = await plant.document(CHANGED, lambda one: one["by"]["user"] == "@service")
        assert (event["cause"], event["rev"], event["change"]["before"], event["change"]["after"]) == (
            "applied",
            4,
            0.4,
            0.2,
        )
        assert event["reason"] == "another writer loosened it; drift = reapply"
        assert "request_id" not in event
        history = (await plant.call("r1", "GetHistory"))["result"]["changes"]
        assert [(one["rev"], one["outcome"], one["by"]["user"]) for one in history] == [
            (4, "applied", "@service"),
            (3, "foreign", "@arm"),
            (2, "applied", "u"),
        ]
        await plant.turn(600.0)
        assert causes(plant) == ["applied", "foreign", "applied"]

    play(tmp_path, scenario, **REAPPLYING)


def test_it_is_done_once_a_minute_at_most(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.2))
        await plant.call("r1", SET, value(0.2, TRAJECTORY))
        change_by_another(plant, limit(0.4))
        change_by_another(plant, limit(0.4, TRAJECTORY), (ITEM, 5))
        await plant.turn(30.0)
        assert causes(plant).count("applied") == 3
        change_by_another(plant, limit(0.3))
        await plant.turn(20.0)
        assert causes(plant).count("applied") == 3
        await plant.turn(15.0)
        assert causes(plant).count("applied") == 4
        await plant.turn(61.0)
        assert causes(plant).count("applied") == 5
        assert plant.session().state.desired == plant.session().state.reported

    play(tmp_path, scenario, **REAPPLYING)


@pytest.mark.parametrize(
    ("changed", "slot"),
    [(limit(0.1), (ITEM, 2)), (GravityVector(0.0, 0.0, -9.7), ("gravity_vector", 0)), (limit(0.2000001), (ITEM, 2))],
)
def test_what_is_no_tightening_is_only_reported(tmp_path: Path, changed: Message, slot: Slot) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.2))
        change_by_another(plant, changed, slot)
        await plant.turn(600.0)
        assert causes(plant)[1:] in (["foreign"], [])

    play(tmp_path, scenario, **REAPPLYING)


def test_without_a_word_in_the_settings_it_is_only_reported(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.2))
        change_by_another(plant, limit(0.4))
        await plant.turn(600.0)
        assert causes(plant) == ["applied", "foreign"]
        assert len(commands(tmp_path, ITEM)) == 1

    play(tmp_path, scenario)


def test_it_waits_until_the_arm_is_ready(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.2))
        adapter: Any = plant.session().adapter
        adapter._sink(LinkState(online=True, ready=False))
        change_by_another(plant, limit(0.4))
        await plant.turn(120.0)
        assert causes(plant) == ["applied", "foreign"]
        adapter._sink(LinkState(online=True, ready=True))
        await plant.turn(1.0)
        assert causes(plant) == ["applied", "foreign", "applied"]

    play(tmp_path, scenario, **REAPPLYING)


def test_it_is_found_on_return_too(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.2))
        await plant.fault("r1", "offline")
        change_by_another(plant, limit(0.4))
        await plant.turn(120.0)
        await plant.fault("r1", "none")
        await plant.turn(1.0)
        assert causes(plant) == ["applied", "foreign", "applied"]

    play(tmp_path, scenario, **REAPPLYING)


def test_an_arm_that_is_only_observed_is_left_alone(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.2))
        plant.session().state.authority = Authority.OBSERVE
        change_by_another(plant, limit(0.4))
        await plant.turn(120.0)
        assert causes(plant) == ["applied", "foreign"]
        assert (await plant.call("r1", "SetAuthority", {"authority": "control"}))["ok"]
        await plant.turn(1.0)
        assert causes(plant) == ["applied", "foreign", "applied"]

    play(tmp_path, scenario, **REAPPLYING)


def test_what_no_longer_fits_is_not_written(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.2))
        plant.session().state.sources = LimitSources(site_caps={"twist_linear": 0.1})
        change_by_another(plant, limit(0.4))
        await plant.turn(120.0)
        assert causes(plant) == ["applied", "foreign"]

    play(tmp_path, scenario, **REAPPLYING)


def test_a_change_under_way_goes_first(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.2))
        await plant.fault("r1", "delay", delay_ms=500)
        change_by_another(plant, limit(0.4))
        assert (await plant.call("r1", SET, value(0.3)))["stage"] == "applied"
        await plant.turn(120.0)
        assert causes(plant) == ["applied", "foreign", "applied"]

    play(tmp_path, scenario, **REAPPLYING)
