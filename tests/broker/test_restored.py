"""The drill: a backup, changes that go on, a restore; what monitors and arms see of it."""

from pathlib import Path
from typing import Any

import pytest

from broker.store.backup import back_up, restore
from tests.broker.settle.test_settler import ITEM, SET, commands, value
from tests.virtual_plant import START_US, Plant, play

REAPPLYING = [{"id": arm, "adapter": "simulated", "model": "gen3_7dof", "drift": "reapply"} for arm in ("r1", "r2")]
Told = dict[tuple[str, int, int], Any]


class Drill:
    """A plant's data, and every event that was ever told."""

    def __init__(self, folder: Path) -> None:
        self.data, self.copy = folder / "data", folder / "copy"
        self.told: Told = {}

    def note(self, plant: Plant) -> None:
        """Keep the events of a run; none may be told with other content."""
        for arm in ("r1", "r2"):
            for event in plant.events(arm):
                place = (arm, event["epoch"], event["seq"])
                assert self.told.setdefault(place, event) == event

    def run(self, scenario: Any, **options: Any) -> None:
        async def noted(plant: Plant) -> None:
            await scenario(plant)
            await plant.committed()
            self.note(plant)

        play(self.data, noted, arm=REAPPLYING, **options)


@pytest.fixture
def drill(tmp_path: Path) -> Drill:
    """A store that was restored: the arms went on with changes, starts and new handles that it does not know."""
    drill = Drill(tmp_path)

    async def before(plant: Plant) -> None:
        assert (await plant.call("r1", SET, value(0.2), id="known"))["stage"] == "applied"
        await plant.fault("r2", "offline", for_ms=1_000)
        assert (await plant.call("r2", SET, value(0.15), id="waits"))["stage"] == "stored"
        await plant.committed()
        back_up(drill.data, drill.copy, START_US)
        assert (await plant.call("r1", SET, value(0.3), id="lost"))["stage"] == "applied"
        await plant.turn(5)

    async def meanwhile(plant: Plant) -> None:
        assert (await plant.call("r1", SET, value(0.2 + plant.loaded.epoch / 100)))["stage"] == "applied"
        assert (await plant.call("r2", SET, value(0.2 + plant.loaded.epoch / 100)))["stage"] == "applied"

    drill.run(before)
    for number in range(3):
        drill.run(meanwhile, start_us=START_US + (number + 1) * 60_000_000)
    restore(drill.copy, drill.data, START_US + 600_000_000)
    return drill


def test_what_the_arms_have_is_told_and_nothing_is_sent(drill: Drill) -> None:
    sent = commands(drill.data, ITEM)

    async def scenario(plant: Plant) -> None:
        config = await plant.document("state/r1/config", lambda one: one["differs"])
        assert config["differs"] == [f"{ITEM}/CARTESIAN_JOYSTICK"]
        assert config["items"][ITEM]["CARTESIAN_JOYSTICK"] == 0.2
        reported = await plant.document("state/r1/reported", lambda one: one["seq"] == config["seq"])
        assert reported["items"][ITEM]["CARTESIAN_JOYSTICK"] == 0.24
        (event,) = [one for one in plant.events() if one["epoch"] == plant.loaded.epoch]
        assert (event["cause"], event["by"]["user"], event["change"]["after"]) == ("foreign", "@arm", 0.24)
        waiting = await plant.document("state/r2/config", lambda one: one["pending"])
        assert [one["state"] for one in waiting["pending"]] == ["held"]
        await plant.turn(600)
        assert [pair for pair in commands(drill.data, ITEM) if pair not in sent] == []

    drill.run(scenario, start_us=START_US + 700_000_000)


def test_monitors_are_told_no_pair_twice_with_other_content(drill: Drill) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(5):
            assert (await plant.call("r1", SET, value(0.1 + number / 100)))["stage"] == "applied"
            assert (await plant.call("r2", SET, value(0.1 + number / 100)))["ok"]

    drill.run(scenario, start_us=START_US + 700_000_000)
    epochs = {epoch for _, epoch, _ in drill.told}
    assert len(epochs) == 5
    newest = {seq for arm, epoch, seq in drill.told if epoch == max(epochs) and arm == "r1"}
    older = {seq for arm, epoch, seq in drill.told if epoch < max(epochs) and arm == "r1"}
    assert newest & older


def test_a_person_decides_what_becomes_of_what_waited(drill: Drill) -> None:
    async def scenario(plant: Plant) -> None:
        after = len(plant.link.published)
        assert (await plant.call("r2", "ConfirmPending", {"all": True}))["ok"]
        config = await plant.document("state/r2/config", lambda one: not one["pending"] and not one["differs"], after)
        assert config["items"][ITEM]["CARTESIAN_JOYSTICK"] == 0.15
        repeated = await plant.call("r2", SET, value(0.15), id="waits")
        assert (repeated["duplicate"], repeated["stage"], repeated["in_force"]) == (True, "applied", True)

    drill.run(scenario, start_us=START_US + 700_000_000)


def test_requests_after_the_backup_are_forgotten_and_those_before_are_not(drill: Drill) -> None:
    async def scenario(plant: Plant) -> None:
        known = await plant.call("r1", SET, value(0.2), id="known")
        assert (known["duplicate"], known["in_force"]) == (True, False)
        lost = await plant.call("r1", SET, value(0.3), id="lost")
        assert (lost.get("duplicate"), lost["stage"]) == (None, "applied")

    drill.run(scenario, start_us=START_US + 700_000_000)


def test_what_is_set_anew_is_reapplied_again(drill: Drill) -> None:
    """Somebody wished for it after the restore."""

    async def scenario(plant: Plant) -> None:
        assert (await plant.call("r1", SET, value(0.1)))["stage"] == "applied"
        sent = commands(drill.data, ITEM)
        await plant.fault("r1", "foreign_change", item=ITEM, slot="CARTESIAN_JOYSTICK", value=0.4)
        await plant.turn(600)
        assert len([pair for pair in commands(drill.data, ITEM) if pair not in sent]) == 1

    drill.run(scenario, start_us=START_US + 700_000_000)
