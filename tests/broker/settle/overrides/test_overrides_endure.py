"""No value stays looser than its ground after the end of an override, once its arm can be reached under control.

Schedules of changes, ends, faults, locks, other writers and restarts from seeds, judged by the events alone.
"""

import random
from pathlib import Path
from typing import Any

import pytest

from broker.settle.overrides.returns import Returns
from schema.arms import Authority
from tests.grounds import NO_MODE, Checker
from tests.virtual_plant import START_US, Plant, run

ITEM, SET = "twist_linear_soft_limit", "SetTwistLinearSoftLimit"
MODES = {"CARTESIAN_JOYSTICK": 2, "CARTESIAN_TRAJECTORY": 5}
LOAD, MASSES = "payload_information", (0.5, 1.0, 2.0)
VALUES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
ENDS_MS = (2_000, 30_000, 400_000)
FAULTS = ("offline", "refuse", "moving", "clamp", "lose_answer", "none", "none", "none")
USERS = ("alice", "bob")
STEPS = 14
SLACK = 1e-6


class Schedule:
    """One seed: what is done, one thing after another."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - a schedule
        self.checker = Checker((*MODES, NO_MODE))
        self.seq = 0
        self.looser: list[str] = []

    async def step(self, plant: Plant) -> None:
        """One thing, and some time."""
        dice = self.dice
        mode, number, user = dice.choice(list(MODES)), dice.choice(VALUES), dice.choice(USERS)
        params = {"control_mode": mode, ITEM: number}
        items = {ITEM: {one: dice.choice(VALUES) for one in MODES}, LOAD: {"payload_mass": dice.choice(MASSES)}}
        ends: dict[str, Any] = {"valid_for_ms": dice.choice(ENDS_MS)}
        match dice.randrange(12):
            case 0 | 1:
                plant.send("r1", SET, params, user=user, **ends)
            case 2 | 9 | 10:
                plant.send("r1", "ApplyConfig", {"items": items}, user=user, **ends)
            case 3:
                plant.send("r1", SET, params, user=user)
            case 11:
                items.pop(dice.choice((ITEM, LOAD)))
                plant.send("r1", "ApplyConfig", {"items": items}, user=user, **dice.choice((ends, {})))
            case 4:
                plant.send("r1", "EndOverride", {"all": True, "keep": dice.random() < 0.3}, user=user)
            case 5:
                plant.send("r1", "SimFault", {"fault": dice.choice(FAULTS)})
            case 6:
                foreign = {"fault": "foreign_change", "item": ITEM, "slot": mode, "value": number}
                plant.send("r1", "SimFault", foreign)
            case 7:
                words = {"reason": "work"} if dice.random() < 0.4 else {}
                plant.send("r1", "HoldArm" if words else "ReleaseArm", words, user=user)
            case _:
                plant.send("r1", "SetAuthority", {"authority": dice.choice(("observe", "control", "control"))})
        await plant.turn(dice.choice((0.0, 0.01, 1.0, 40.0, 500.0)))

    async def settle(self, plant: Plant) -> None:
        """Nothing stands in the way any more, and time passes; then judge."""
        plant.send("r1", "SimFault", {"fault": "none"})
        for user in USERS:
            await plant.call("r1", "ReleaseArm", {}, user=user)
        await plant.call("r1", "SetAuthority", {"authority": "control"})
        await plant.turn(4_000.0)
        await self.take(plant)
        state = plant.session().state
        assert (state.online, state.authority) == (True, Authority.CONTROL)
        assert state.unsettled == len(plant.session().parked)
        for mode, number in MODES.items():
            bound, reported = self.checker.in_force(mode), state.reported[ITEM, number]
            value: float = reported.twist_linear_soft_limit  # type: ignore[attr-defined]
            if bound is not None and mode not in self.checker.touched and value > bound + SLACK:
                self.looser.append(f"{mode}: {value} > {bound}")

    async def take(self, plant: Plant) -> None:
        """Read the events that are new."""
        await plant.committed()
        while (page := (await plant.call("r1", "GetEvents", {"after_seq": self.seq}))["result"])["events"]:
            for event in page["events"]:
                self.checker.take(event)
                self.seq = event["seq"]


def played(data: Path, seed: int) -> Schedule:
    """Three runs of a service on one store and one arm, and a last one in which nothing stands in the way."""
    schedule = Schedule(seed)

    async def whole() -> None:
        start_us = START_US
        for _ in range(3):
            async with Plant(data, arms=("r1",), start_us=start_us) as plant:
                for _ in range(STEPS):
                    await schedule.step(plant)
                if schedule.dice.random() < 0.5:
                    await schedule.settle(plant)
                start_us = plant.clock.now_us() + schedule.dice.choice((1_000_000, 100_000_000, 1_000_000_000))
        async with Plant(data, arms=("r1",), start_us=start_us) as plant:
            await schedule.settle(plant)

    run(whole)
    return schedule


@pytest.mark.parametrize("seed", range(12))
def test_no_value_stays_looser_than_its_ground(tmp_path: Path, seed: int) -> None:
    assert played(tmp_path, seed).looser == []


def test_the_checker_finds_returns_that_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without returns some seed shows it, and ends there were in all."""
    monkeypatch.setattr(Returns, "begin", lambda *_: None)
    monkeypatch.setattr(Returns, "resume", lambda *_: None)
    schedules = [played(tmp_path / str(seed), seed) for seed in range(4)]
    assert any(schedule.looser for schedule in schedules)
    assert all(schedule.checker.ended for schedule in schedules)
