"""Stage 2: what reaches the arm, and when."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from broker.life import State
from devices.adapter import ArmTimeoutError, Command
from devices.guard import GuardedFaultyArm
from schema.arms import Fault
from schema.enums import ControlMode
from schema.messages import GravityVector, Message, TwistLinearSoftLimit
from tests.stored import changes
from tests.virtual_plant import Plant, play

RESET = "ResetTwistLinearSoftLimit"
SET = "SetTwistLinearSoftLimit"
ITEM, SLOT = "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
MODE = ControlMode.CARTESIAN_JOYSTICK
CHANGED = "evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED"
GRAVITY = {"x": 0.0, "y": 0.0, "z": -9.7}


def value(limit: float) -> dict[str, Any]:
    """Params of the Set."""
    return {"control_mode": SLOT, ITEM: limit}


def commands(data: Path, key: str) -> list[Any]:
    """The pairs of the commands that the arms carried out on an item."""
    lines = (data / "adapters" / "simulated" / "simulated_arms.jsonl").read_text().splitlines()
    return [entry[4] for entry in map(json.loads, lines) if entry[1] == key and entry[4] is not None]


def inject(plant: Plant, fault: Fault) -> None:
    """Let something happen at arm r1 that no request asks for."""
    adapter: Any = plant.session().adapter
    adapter.inject(fault)


def test_nothing_goes_to_the_arm_before_commit_1(tmp_path: Path) -> None:
    """Not even when something else sets the queue of the arm going meanwhile."""

    async def scenario(plant: Plant) -> None:
        await plant.turn(1.0)
        blocker = sqlite3.connect(tmp_path / "store.sqlite3", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        request = plant.send("r1", SET, value(0.25))
        while not plant.session().unsettled():
            await plant.turn()
        assert plant.session().unsettled()[0].state is State.WRITING
        inject(plant, Fault("foreign_change", slot=("gravity_vector", 0), value=GravityVector(0.0, 0.0, -9.0)))
        for _ in range(20):
            await plant.turn()
        assert len(plant.session().jobs) == len(("the change", "what the arm told"))
        assert commands(tmp_path, ITEM) == []
        blocker.execute("COMMIT")
        blocker.close()
        assert (await plant.reply(request))["stage"] == "applied"
        assert commands(tmp_path, ITEM) == [[1, 1]]

    play(tmp_path, scenario)


def test_the_command_number_is_committed_before_the_command(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        for limit in (0.25, 0.2):
            plant.send("r1", SET, value(limit))
        await plant.document("state/r1/config", lambda document: len(document["pending"]) == 2)
        found = [(one.state, one.epoch, one.cmd_seq) for one in changes(tmp_path / "store.sqlite3")]
        assert found == [("writing", 1, 1), ("accepted", 0, 0)]

    play(tmp_path, scenario)


def test_the_next_change_is_marked_with_the_end_of_the_one_before(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "delay", delay_ms=1000)
        first = plant.send("r1", SET, value(0.25))
        plant.send("r1", SET, value(0.2))
        await plant.reply(first)
        found = [(one.state, one.cmd_seq) for one in changes(tmp_path / "store.sqlite3")]
        assert found == [("settled", 1), ("writing", 2)]

    play(tmp_path, scenario)


def test_the_next_command_waits_for_the_commit_of_its_mark(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "delay", delay_ms=5000)
        plant.send("r1", SET, value(0.25))
        second = plant.send("r1", SET, value(0.2))
        await plant.document("state/r1/config", lambda document: len(document["pending"]) == 2)
        await plant.turn(1.0)
        blocker = sqlite3.connect(tmp_path / "store.sqlite3", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        inject(plant, Fault("none"))
        while not plant.store.committing:
            await plant.turn()
        for _ in range(20):
            await plant.turn()
        assert [job.state for job in plant.session().unsettled()] == [State.WRITING]
        assert commands(tmp_path, ITEM) == [[1, 1]]
        blocker.execute("COMMIT")
        blocker.close()
        assert (await plant.reply(second))["stage"] == "applied"
        assert commands(tmp_path, ITEM) == [[1, 1], [1, 2]]

    play(tmp_path, scenario)


def test_an_unchanged_change_reads_and_does_not_write(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.25))
        reply = await plant.call("r1", SET, value(0.25))
        assert (reply["stage"], reply["rev"], reply["seq"]) == ("applied", 2, 2)
        assert plant.events()[-1]["cause"] == "unchanged"
        assert commands(tmp_path, ITEM) == [[1, 1]]

    play(tmp_path, scenario)


def test_an_unchanged_change_that_is_wrong_after_all_is_written(tmp_path: Path) -> None:
    """Another writer changed the slot while the request waited; a later wish for the slot stays the last."""

    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.25))
        await plant.fault("r1", "hang")
        plant.send("r1", "SetGravityVector", GRAVITY)
        unchanged = plant.send("r1", SET, value(0.25))
        await plant.document("state/r1/config", lambda document: len(document["pending"]) == 2)
        foreign = TwistLinearSoftLimit(MODE, 0.125)
        inject(plant, Fault("foreign_change", slot=(ITEM, int(MODE)), value=foreign))
        later = plant.send("r1", SET, value(0.2))
        await plant.document("state/r1/config", lambda document: len(document["pending"]) == 3)
        await plant.fault("r1", "none")
        assert (await plant.reply(unchanged))["stage"] == "applied"
        assert (await plant.reply(later))["stage"] == "applied"
        told = [
            (event["cause"], event["change"]["after"]) for event in plant.events() if event["change"]["item"] == ITEM
        ]
        assert told == [("applied", 0.25), ("foreign", 0.125), ("applied", 0.25), ("applied", 0.2)]
        head = plant.events()[-1]["seq"]
        config = await plant.document("state/r1/config", lambda document: document["seq"] == head)
        assert (config["items"][ITEM][SLOT], config["differs"], config["pending"]) == (0.2, [], [])

    play(tmp_path, scenario)


def test_a_tighter_value_of_another_writer_is_no_clamping(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "lose_answer")
        request = plant.send("r1", SET, value(0.3))
        await plant.document("state/r1/config", lambda document: bool(document["pending"]))
        inject(plant, Fault("foreign_change", slot=(ITEM, int(MODE)), value=TwistLinearSoftLimit(MODE, 0.2)))
        assert (await plant.reply(request))["error"]["kind"] == "overwritten"

    play(tmp_path, scenario)


class DeafArm(GuardedFaultyArm):
    """Answers every command, and carries out no Set of 0.3."""

    def exchange_now(self, command: Command) -> Message | None:
        """See `PromptArm.exchange_now`."""
        return self.read_now(command.slot) if _is_of(command, 0.3) else super().exchange_now(command)


class SlowArm(GuardedFaultyArm):
    """Carries out a Reset and gives no answer in time."""

    async def write(self, command: Command) -> Message | None:
        """See `ArmAdapter.write`."""
        await super().write(command)
        raise ArmTimeoutError("late")


def _is_of(command: Command, limit: float) -> bool:
    return isinstance(command.value, TwistLinearSoftLimit) and command.value.twist_linear_soft_limit == limit


def test_what_an_arm_ignores_is_refused_also_behind_a_change_that_it_took(tmp_path: Path) -> None:
    """Both have their numbers at once: what was there before the second is what the first left."""

    async def scenario(plant: Plant) -> None:
        plant.session().adapter.__class__ = DeafArm
        requests = [plant.send("r1", SET, value(limit)) for limit in (0.1, 0.3)]
        first, second = [await plant.reply(request) for request in requests]
        assert first["stage"] == "applied"
        assert (second["stage"], second["error"]["kind"]) == ("refused", "arm_refused")
        assert plant.session().state.desired[ITEM, int(MODE)] == TwistLinearSoftLimit(MODE, 0.1)

    play(tmp_path, scenario)


def test_a_reset_without_an_answer_is_told_from_what_was_there_when_it_was_sent(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.session().adapter.__class__ = SlowArm
        requests = plant.send("r1", SET, value(0.1)), plant.send("r1", RESET, {"control_mode": SLOT})
        first, second = [await plant.reply(request) for request in requests]
        assert (first["stage"], second["stage"]) == ("applied", "applied")
        assert second["result"][ITEM] == 0.5

    play(tmp_path, scenario)


def test_an_arm_with_another_serial_number_is_not_asked_how_a_change_ended(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "lose_answer")
        request = plant.send("r1", SET, value(0.25))
        await plant.document("state/r1/config", lambda document: bool(document["pending"]))
        session = plant.session()
        session.serial, known = "ANOTHER", session.serial
        await plant.fault("r1", "offline", for_ms=1000)
        assert (await plant.reply(request))["error"]["kind"] == "outcome_unknown"
        assert "ANOTHER" in session.state.distrust
        waits = await plant.call("r1", SET, value(0.2))
        assert (waits["stage"], [one["name"] for one in waits["warnings"]]) == ("stored", ["DEVICE_NOT_READY"])
        session.serial = known
        event = await plant.document(CHANGED, lambda _: True)
        assert (event["request_id"], event["cause"]) == (f"u/c/{request}", "applied")
        assert session.state.distrust == ""

    play(tmp_path, scenario)


def test_a_clamped_limit_is_applied_with_a_warning_and_becomes_what_is_desired(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "clamp")
        reply = await plant.call("r1", SET, value(0.3))
        assert (reply["stage"], [warning["name"] for warning in reply["warnings"]]) == ("applied", ["CLAMPED"])
        assert plant.session().state.desired[ITEM, int(MODE)] == TwistLinearSoftLimit(MODE, 0.15)
        reply = await plant.call("r1", "SetGravityVector", GRAVITY)
        assert (reply["stage"], reply["warnings"]) == ("applied", [])

    play(tmp_path, scenario)


def test_unreadable_answers_leave_the_outcome_unknown_until_the_arm_can_be_read(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "garbage")
        request = plant.send("r1", SET, value(0.25))
        await plant.document("state/r1/config", lambda each: [one["state"] for one in each["pending"]] == ["unknown"])
        reply = await plant.reply(request)
        assert (reply["stage"], reply["error"]["kind"]) == ("stored", "outcome_unknown")
        await plant.fault("r1", "none")
        event = await plant.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda _: True)
        assert (event["cause"], event["change"]["after"]) == ("applied", 0.25)

    play(tmp_path, scenario)


@pytest.mark.parametrize("hang_s", [3, 20, 120])
def test_an_arm_that_hung_is_read_back_soon_after_it_answers_again(tmp_path: Path, hang_s: int) -> None:
    async def scenario(plant: Plant) -> None:
        begun = plant.loop.time()
        await plant.fault("r1", "hang", for_ms=hang_s * 1_000)
        plant.send("r1", SET, value(0.25))
        event = await plant.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda _: True)
        assert (event["cause"], event["change"]["after"]) == ("applied", 0.25)
        assert plant.loop.time() - begun < hang_s + 10.0
        await plant.document("state/r1/presence", lambda each: (each["state"], each["ready"]) == ("online", True))

    play(tmp_path, scenario)


def test_an_arm_that_was_away_is_read_back_as_soon_as_its_link_is_up(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "lose_answer")
        plant.send("r1", SET, value(0.25))
        await plant.document("state/r1/config", lambda document: bool(document["pending"]))
        begun = plant.loop.time()
        await plant.fault("r1", "offline", for_ms=20_000)
        event = await plant.document(CHANGED, lambda _: True)
        assert (event["cause"], event["change"]["after"]) == ("applied", 0.25)
        assert 20.0 <= plant.loop.time() - begun < 20.5

    play(tmp_path, scenario)


def test_what_expires_while_nobody_knows_who_serves_leaves_the_queue_by_itself(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        sure = plant.service._presence._sure
        await plant.fault("r1", "delay", delay_ms=1_000)
        first, second = plant.send("r1", SET, value(0.2)), plant.send("r1", SET, value(0.1), ttl_ms=4_000)
        await plant.turn(1.0)
        sure.clear()
        assert (await plant.reply(first))["ok"]
        await plant.turn(5.0)
        sure.set()
        assert (await plant.reply(second))["error"]["kind"] == "expired"
        assert (await plant.call("r1", SET, value(0.3)))["ok"]
        assert not plant.session().jobs

    play(tmp_path, scenario)
