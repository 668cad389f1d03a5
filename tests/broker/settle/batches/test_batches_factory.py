"""RestoreFactory: one request, one revision, one event; every slot reset, read back and told."""

import json
from pathlib import Path
from typing import Any

import pytest

from devices.adapter import LinkState
from schema.arms import Fault
from schema.enums import ControlMode
from schema.messages import TwistLinearSoftLimit
from tests.stored import changes
from tests.virtual_plant import Plant, play, run

SET, ITEM, SLOT = "SetTwistLinearSoftLimit", "twist_linear_soft_limit", ("twist_linear_soft_limit", 2)
RESTORED = "evt/r1/config/CONTROL_CONFIGURATION_FACTORY_RESTORED"
GAINS = {"soft_upper_limit": 2.0, "soft_lower_limit": -2.0, "k_position": 20.0, "k_velocity": 5.0}
GRAVITY = {"x": 0.0, "y": 0.0, "z": -9.7}


def value(limit: float) -> dict[str, Any]:
    """Params of the Set."""
    return {"control_mode": "CARTESIAN_JOYSTICK", ITEM: limit}


def pairs(data: Path) -> list[tuple[int, int]]:
    """The pairs of all commands that arms carried out, in order."""
    lines = (data / "adapters" / "simulated" / "simulated_arms.jsonl").read_text().splitlines()
    return [tuple(entry[4]) for entry in map(json.loads, lines) if entry[4] is not None]


async def change_much(plant: Plant) -> None:
    """Change items of all kinds."""
    for method, params in (
        (SET, value(0.25)),
        ("SetGravityVector", GRAVITY),
        ("SetDesiredLinearTwist", {"linear": 0.05}),
        ("SetJointSafety", {"joints": {"joint_2": GAINS}}),
    ):
        assert (await plant.call("r1", method, params))["stage"] == "applied"


def test_everything_goes_back_in_one_revision_with_one_event(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        fresh = dict(plant.session().state.reported)
        await change_much(plant)
        reply = await plant.call("r1", "RestoreFactory", {}, reason="handed over")
        assert (reply["ok"], reply["stage"], reply["final"], reply["rev"], reply["seq"]) == (
            True,
            "applied",
            True,
            6,
            5,
        )
        items = reply["result"]["items"]
        changed = {"twist_linear_soft_limit", "gravity_vector", "desired_linear_twist", "joint_safety"}
        assert {item for item, outcome in items.items() if outcome == "applied"} == changed
        assert set(items.values()) == {"applied", "unchanged"}
        assert len(items) == 14
        event = plant.events()[-1]
        assert (event["event"], event["cause"], event["rev"], event["change"]) == (
            "CONTROL_CONFIGURATION_FACTORY_RESTORED", "reset", 6, None,
        )  # fmt: skip
        assert (event["notification"]["event"], event["reason"]) == (
            "CONTROL_CONFIGURATION_FACTORY_RESTORED", "handed over",
        )  # fmt: skip
        state = plant.session().state
        assert state.reported == state.desired == fresh
        assert (state.rev, state.unsettled, state.open) == (6, 0, {})
        config = await plant.document("state/r1/config", lambda one: one["seq"] == 5 and not one["pending"])
        assert (config["rev"], config["differs"]) == (6, [])
        (entry,) = (await plant.call("r1", "GetHistory", {"after_rev": 5}))["result"]["changes"]
        assert (entry["method"], entry["item"], entry["outcome"]) == (
            "RestoreFactory",
            "control_configuration",
            "applied",
        )
        assert entry["after"][f"{ITEM}/CARTESIAN_JOYSTICK"] == entry["after"]["gravity_vector"] == "applied"
        assert len(entry["after"]) == 23
        again = await plant.call("r1", "RestoreFactory", {}, id=reply["id"])
        assert (again["duplicate"], again["in_force"], again["result"]) == (True, True, reply["result"])
        await plant.call("r1", SET, value(0.2))
        assert (await plant.call("r1", "RestoreFactory", {}, id=reply["id"]))["in_force"] is False

    play(tmp_path, scenario)


def test_each_command_has_a_number_of_its_own(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", "RestoreFactory")
        await plant.call("r1", SET, value(0.2))
        found = pairs(tmp_path)
        assert found == sorted(set(found))
        assert len(found) == 16 + 1

    play(tmp_path, scenario)


def test_it_waits_its_turn_and_supersedes_what_is_held(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.2))
        await plant.fault("r1", "offline")
        await plant.call("r1", SET, value(0.4), id="held")
        await plant.turn(1000.0)
        await plant.fault("r1", "none")
        await plant.document("state/r1/config", lambda one: [each["state"] for each in one["pending"]] == ["held"])
        await plant.fault("r1", "delay", delay_ms=100)
        before = plant.send("r1", "SetGravityVector", GRAVITY)
        restore = plant.send("r1", "RestoreFactory", {})
        after = plant.send("r1", SET, value(0.3))
        entries = await plant.document("state/r1/config", lambda one: len(one["pending"]) == 3)
        assert entries["pending"][1]["item"] == "control_configuration"
        for request in (before, restore, after):
            assert (await plant.reply(request))["stage"] == "applied", request
        causes = [event["cause"] for event in plant.events()]
        assert causes == ["applied", "superseded", "applied", "reset", "applied"]
        state = plant.session().state
        assert state.desired[SLOT] == TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.3)
        assert state.desired == state.reported

    play(tmp_path, scenario)


def test_what_the_arm_refuses_is_told_and_the_rest_restored(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await change_much(plant)
        await plant.fault("r1", "refuse", item=ITEM, slot="CARTESIAN_JOYSTICK")
        reply = await plant.call("r1", "RestoreFactory", {}, id="a")
        assert (reply["ok"], reply["stage"], reply["final"], reply["error"]["kind"]) == (
            False,
            "refused",
            True,
            "arm_refused",
        )
        assert (
            "22 of 23 slots were restored; not restored: twist_linear_soft_limit/CARTESIAN_JOYSTICK refused"
            in (reply["error"]["message"])
        )
        event = plant.events()[-1]
        assert (event["event"], event["reason"]) == (
            "CONTROL_CONFIGURATION_FACTORY_RESTORED",
            reply["error"]["message"],
        )
        state = plant.session().state
        assert state.desired == state.reported
        assert state.desired[SLOT] == TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.25)
        (entry,) = (await plant.call("r1", "GetHistory", {"after_rev": 5}))["result"]["changes"]
        assert (entry["outcome"], entry["after"][f"{ITEM}/CARTESIAN_JOYSTICK"], entry["after"]["gravity_vector"]) == (
            "refused",
            "refused",
            "applied",
        )

    play(tmp_path, scenario)


def test_when_nothing_could_be_restored_nothing_is_said_to_be(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "refuse")
        reply = await plant.call("r1", "RestoreFactory")
        assert reply["error"]["kind"] == "arm_refused"
        event = plant.events()[-1]
        assert (event["event"], event["cause"]) == ("CHANGE_NOT_APPLIED", "refused")

    play(tmp_path, scenario)


def test_an_arm_that_goes_away_in_the_middle_is_read_before_anything_is_said(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await change_much(plant)
        await plant.fault("r1", "delay", delay_ms=300)
        request = plant.send("r1", "RestoreFactory", {})
        await plant.turn(1.0)
        assert plant.service._documents.build(plant.session(), "config")["pending"][0]["state"] == "writing"
        await plant.fault("r1", "offline")
        late = await plant.reply(request)
        assert (late["error"]["kind"], late["stage"], late["final"]) == ("outcome_unknown", "stored", False)
        assert plant.service._documents.build(plant.session(), "config")["pending"][0]["state"] == "unknown"
        await plant.fault("r1", "none")
        event = await plant.document(RESTORED, lambda _: True)
        assert event["request_id"] == f"u/c/{request}"
        state = plant.session().state
        assert state.desired == state.reported
        assert (await plant.call("r1", "RestoreFactory", {}, id=request))["stage"] == "applied"

    play(tmp_path, scenario)


@pytest.mark.parametrize(("how", "kind"), [("away", "arm_away"), ("moving", "arm_not_ready")])
def test_slots_whose_turn_does_not_come_are_told(tmp_path: Path, how: str, kind: str) -> None:
    async def scenario(plant: Plant) -> None:
        await change_much(plant)
        adapter: Any = plant.session().adapter
        write, done = adapter.write, []

        async def write_some(command: Any) -> Any:
            done.append(command)
            if len(done) == 3 and how == "away":
                adapter._arm._link.online = False
            answer = await write(command)
            if len(done) == 3:
                adapter._sink(LinkState(online=True, ready=False))
            return answer

        adapter.write = write_some
        reply = await plant.call("r1", "RestoreFactory")
        assert reply["error"]["kind"] == kind
        assert f"gravity_vector {kind}" not in reply["error"]["message"]
        assert f"{ITEM}/CARTESIAN_JOYSTICK {kind}" in reply["error"]["message"]
        assert len(done) == 3
        state = plant.session().state
        assert state.desired == state.reported

    play(tmp_path, scenario)


def test_another_writer_in_the_middle_is_told(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await change_much(plant)
        adapter: Any = plant.session().adapter
        write = adapter.write

        async def write_and_disturb(command: Any) -> Any:
            answer = await write(command)
            if command.slot == SLOT:
                limit = TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.11)
                adapter.inject(Fault("foreign_change", slot=SLOT, value=limit))
            return answer

        adapter.write = write_and_disturb
        reply = await plant.call("r1", "RestoreFactory")
        assert reply["error"]["kind"] == "overwritten"
        told = [(event["cause"], event["event"]) for event in plant.events()[4:]]
        assert told == [
            ("foreign", "TWIST_LINEAR_SOFT_LIMIT_CHANGED"),
            ("reset", "CONTROL_CONFIGURATION_FACTORY_RESTORED"),
        ]

    play(tmp_path, scenario)


def test_it_is_not_started_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Plant(tmp_path / "first") as plant:
            await plant.fault("r1", "hang")
            plant.send("r1", "SetGravityVector", GRAVITY, id="a")
            plant.send("r1", "RestoreFactory", {}, id="b")
            await plant.document("state/r1/config", lambda one: len(one["pending"]) == 2)
            await plant.committed()
            data = plant.copy(tmp_path / "copy")
        async with Plant(data) as plant:
            reply = await plant.reply("b")
            assert (reply["ok"], reply["stage"], reply["error"]["kind"]) == (False, "refused", "expired")
            event = plant.events()[-1]
            assert (event["event"], event["cause"], event["change"]) == ("CHANGE_NOT_APPLIED", "expired", None)
            state = plant.session().state
            assert (state.desired, state.unsettled) == (state.reported, 0)

    run(scenario)


def test_what_was_restored_before_a_crash_is_read_and_the_rest_left(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Plant(tmp_path / "first") as plant:
            await change_much(plant)
            await plant.fault("r1", "delay", delay_ms=300)
            plant.send("r1", "RestoreFactory", {}, id="b")
            await plant.turn(1.0)
            await plant.committed()
            data = plant.copy(tmp_path / "copy")
        async with Plant(data) as plant:
            reply = await plant.reply("b")
            assert (reply["ok"], reply["stage"], reply["error"]["kind"]) == (False, "refused", "expired")
            assert f"{ITEM}/CARTESIAN_JOYSTICK expired" in reply["error"]["message"]
            assert "gravity_vector" not in reply["error"]["message"]
            event = plant.events()[-1]
            assert (event["event"], event["request_id"]) == ("CONTROL_CONFIGURATION_FACTORY_RESTORED", "u/c/b")
            assert [one["cause"] for one in plant.events()] == ["reset"]
            state = plant.session().state
            assert state.desired == state.reported
            assert (await plant.call("r1", "GetGravityVector"))["result"]["z"] == pytest.approx(-9.81)
            assert {epoch for epoch, _ in pairs(data)} == {1}
        assert [one.state for one in changes(data / "store.sqlite3") if one.verb == "restore"] == ["settled"]

    run(scenario)


def test_an_earlier_wish_counts_again_when_it_expires_in_the_queue(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        first = plant.send("r1", SET, value(0.25))
        assert (await plant.call("r1", "RestoreFactory", {}, ttl_ms=500))["error"]["kind"] == "expired"
        state = plant.session().state
        assert state.desired_rev[SLOT] == 2
        assert state.desired[SLOT] == TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.25)
        await plant.fault("r1", "none")
        assert (await plant.reply(first))["stage"] == "applied"

    play(tmp_path, scenario)


def test_the_second_of_two_leaves_what_is_desired_as_it_is_reported(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await change_much(plant)
        await plant.fault("r1", "delay", delay_ms=50)
        first, second = plant.send("r1", "RestoreFactory", {}), plant.send("r1", "RestoreFactory", {})
        for request in (first, second):
            assert (await plant.reply(request))["ok"]
        state = plant.session().state
        assert state.desired == state.reported

    play(tmp_path, scenario)
