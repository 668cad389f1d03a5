"""What a start does with changes whose command the run before may have sent."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from broker.accept.quarantine import STARTS
from broker.service import Service
from devices.adapter import ArmAwayError, Command
from devices.guard import GuardedFaultyArm
from schema.arms import Fault
from schema.messages import Message
from tests.broker.settle.killed_pass import CHANGES
from tests.broker.settle.test_overtaken import kill_in_pass
from tests.broker.settle.test_settler import commands
from tests.virtual_plant import START_US, Plant, run

SET, ITEM, SLOT = "SetTwistLinearSoftLimit", "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
TIGHTER, LOOSER = 0.25, 0.4
UNSENT = "r1 still has the value it had before"
DAY_US = 86_400_000_000
Then = Callable[[Plant], Awaitable[None]]


class AwayArm(GuardedFaultyArm):
    """Answers reads, and has just gone away for whoever writes."""

    async def write(self, command: Command) -> Message | None:
        """See `ArmAdapter.write`."""
        raise ArmAwayError(f"gone before {command.cmd_seq}")


def injected(*faults: Fault) -> Callable[[Service], None]:
    """What happens at arm r1 before a run reaches it."""

    def prepare(service: Service) -> None:
        adapter: Any = service.sessions["r1"].adapter
        for fault in faults:
            adapter.inject(fault)

    return prepare


def goes_away(service: Service) -> None:
    """Let arm r1 be gone for writes."""
    service.sessions["r1"].adapter.__class__ = AwayArm


async def left_writing(folder: Path, limit: float = TIGHTER, *, took: bool = False, then: Then | None = None) -> Path:
    """What a kill leaves of a change in writing, whose command the arm `took` or never saw."""
    async with Plant(folder / "first") as plant:
        assert (await plant.call("r1", SET, {"control_mode": SLOT, ITEM: 0.3}))["stage"] == "applied"
        await plant.fault("r1", "lose_answer")
        if not took:
            await plant.fault("r1", "hang")
        else:
            await plant.fault("r1", "delay", delay_ms=500)
        plant.send("r1", SET, {"control_mode": SLOT, ITEM: limit}, id="left")
        await plant.document("state/r1/config", lambda one: [each["state"] for each in one["pending"]] == ["writing"])
        if took:
            while len(commands(folder / "first", ITEM)) == 1:
                await plant.turn(0.1)
        if then is not None:
            await then(plant)
        await plant.committed()
        return plant.copy(folder / "left")


def sent(data: Path) -> int:
    """How many commands for the item the arm carried out in this run: before it the file told of the last one alone."""
    return len(commands(data, ITEM)) - 1


def test_what_the_arm_took_is_applied_and_not_sent_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        data = await left_writing(tmp_path, took=True)
        async with Plant(data) as plant:
            assert (await plant.reply("left"))["stage"] == "applied"
            assert sent(data) == 0

    run(scenario)


def test_what_the_arm_never_saw_is_sent_once_under_its_number(tmp_path: Path) -> None:
    async def scenario() -> None:
        data = await left_writing(tmp_path)
        assert sent(data) == 0
        async with Plant(data) as plant:
            assert (await plant.reply("left"))["stage"] == "applied"
            assert commands(data, ITEM) == [[1, 1], [1, 2]]

    run(scenario)


def test_what_the_arm_refuses_when_it_is_sent_again_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        data = await left_writing(tmp_path)
        async with Plant(data, prepare=injected(Fault("refuse"))) as plant:
            reply = await plant.reply("left")
            assert reply["error"]["message"] == "the arm refused: simulated fault: refuse"
            assert sent(data) == 1

    run(scenario)


def test_an_arm_that_goes_away_before_the_command_is_sent_again_is_read_and_not_written(tmp_path: Path) -> None:
    async def scenario() -> None:
        data = await left_writing(tmp_path)
        async with Plant(data, prepare=goes_away) as plant:
            reply = await plant.reply("left")
            assert reply["error"]["message"] == UNSENT
            assert sent(data) == 0

    run(scenario)


def test_an_arm_that_is_not_ready_is_only_read(tmp_path: Path) -> None:
    async def scenario() -> None:
        data = await left_writing(tmp_path)
        async with Plant(data, prepare=injected(Fault("moving"))) as plant:
            reply = await plant.reply("left")
            assert reply["error"]["message"] == UNSENT
            assert sent(data) == 0

    run(scenario)


def test_an_old_change_that_loosens_is_not_sent_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        data = await left_writing(tmp_path, LOOSER)
        async with Plant(data, start_us=START_US + DAY_US) as plant:
            reply = await plant.reply("left")
            assert reply["error"]["message"] == UNSENT
            assert sent(data) == 0

    run(scenario)


def test_an_old_change_that_tightens_is_sent_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        data = await left_writing(tmp_path)
        async with Plant(data, start_us=START_US + DAY_US) as plant:
            assert (await plant.reply("left"))["stage"] == "applied"
            assert sent(data) == 1

    run(scenario)


async def _lock(plant: Plant) -> None:
    assert (await plant.call("r1", "HoldArm", {"reason": "work"}, user="bob"))["ok"]


def test_what_the_arm_never_saw_waits_while_somebody_else_holds_the_arm(tmp_path: Path) -> None:
    async def scenario() -> None:
        data = await left_writing(tmp_path, then=_lock)
        async with Plant(data) as plant:
            assert (await plant.reply("left"))["stage"] == "stored"
            assert sent(data) == 0
            after = len(plant.link.published)
            await plant.call("r1", "ReleaseArm", user="bob")
            await plant.document(f"evt/r1/config/{ITEM.upper()}_CHANGED", lambda one: one["cause"] == "applied", after)
            assert sent(data) == 1

    run(scenario)


def test_what_the_arm_took_ends_though_somebody_else_holds_the_arm(tmp_path: Path) -> None:
    async def scenario() -> None:
        data = await left_writing(tmp_path, took=True, then=_lock)
        async with Plant(data) as plant:
            assert (await plant.reply("left"))["stage"] == "applied"

    run(scenario)


async def started_often(data: Path, folder: Path) -> Path:
    """What so many unclean ends leave, in none of which the arm could be read, that what is open is given up."""
    for number in range(STARTS - 1):
        async with Plant(data, prepare=injected(Fault("hang"))) as plant:
            await plant.turn(1.0)
            await plant.committed()
            data = plant.copy(folder / f"start {number}")
    return data


@pytest.mark.parametrize(("took", "came"), [(True, "applied"), (False, "quarantined")])
def test_what_is_given_up_ends_as_what_the_arm_has_and_is_never_sent_again(
    tmp_path: Path, took: bool, came: str
) -> None:
    async def scenario() -> None:
        data = await started_often(await left_writing(tmp_path, took=took), tmp_path)
        async with Plant(data) as plant:
            reply = await plant.reply("left")
            assert (reply["stage"] if reply["ok"] else reply["error"]["kind"]) == came
            assert sent(data) == 0

    run(scenario)


def test_what_is_given_up_and_was_never_sent_ends_unread(tmp_path: Path) -> None:
    kill_in_pass(tmp_path / "first", after=1)

    async def scenario() -> None:
        data = await started_often(tmp_path / "first", tmp_path)
        async with Plant(data) as plant:
            came = {}
            for name, _, _ in CHANGES:
                reply = await plant.reply(name)
                came[name] = reply["stage"] if reply["ok"] else reply["error"]["kind"]
            assert came == {"j1": "applied"} | dict.fromkeys([name for name, _, _ in CHANGES[1:]], "quarantined")
            assert len(commands(data, ITEM)) == 1

    run(scenario)


def test_what_was_numbered_and_never_sent_begins_anew_and_what_was_overtaken_ends(tmp_path: Path) -> None:
    kill_in_pass(tmp_path / "first", after=3)

    async def scenario() -> None:
        async with Plant(tmp_path / "first") as plant:
            replies = {name: await plant.reply(name) for name, _, _ in CHANGES}
            assert replies["j1"]["error"]["kind"] == "overwritten"
            assert all(reply["ok"] for name, reply in replies.items() if name != "j1")
            epochs = [epoch for epoch, _ in commands(tmp_path / "first", ITEM)]
            assert epochs == [1, 2, 2, 2]

    run(scenario)


def test_what_an_overtaken_change_left_is_no_value_of_another_writer(tmp_path: Path) -> None:
    kill_in_pass(tmp_path / "first", after=3, refused=3)

    async def scenario() -> None:
        async with Plant(tmp_path / "first") as plant:
            replies = {name: await plant.reply(name) for name, _, _ in CHANGES}
            assert [replies[name]["error"]["kind"] for name in ("j1", "j2")] == ["overwritten", "arm_refused"]
            assert "foreign" not in [event["cause"] for event in plant.events()]

    run(scenario)
