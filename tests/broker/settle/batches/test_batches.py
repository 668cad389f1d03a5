"""ApplyConfig on the arm: order, failures, reversal, absence, restarts; one revision, one end."""

import json
from pathlib import Path
from typing import Any

import pytest

from devices.adapter import ArmRefusedError
from schema.enums import ControlMode
from schema.messages import GravityVector, PayloadInformation, TwistLinearSoftLimit
from tests.stored import changes
from tests.virtual_plant import START_US, Plant, play, run

TWIST, SLOT = "twist_linear_soft_limit", ("twist_linear_soft_limit", 2)
PATH = f"{TWIST}/CARTESIAN_JOYSTICK"
ITEMS = {
    TWIST: {"CARTESIAN_JOYSTICK": 0.2},
    "payload_information": {"payload_mass": 2.1},
    "tool_configuration": {"tool_mass": 0.8},
}
GRAVITY = {"x": 0.0, "y": 0.0, "z": -9.7}


def twist(limit: float) -> dict[str, Any]:
    """Items with one soft limit."""
    return {TWIST: {"CARTESIAN_JOYSTICK": limit}}


async def apply(plant: Plant, items: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Send an ApplyConfig; its reply. `partial`, `on_failure` are params."""
    params = {"items": items} | {name: more.pop(name) for name in ("partial", "on_failure") if name in more}
    return await plant.call("r1", "ApplyConfig", params, **more)


def commands(data: Path) -> list[str]:
    """The items of all commands that arms carried out, in order."""
    lines = (data / "adapters" / "simulated" / "simulated_arms.jsonl").read_text().splitlines()
    return [entry for entry in map(json.loads, lines) if entry[4] is not None]


def test_several_slots_are_one_change_with_one_revision(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await apply(plant, ITEMS, reason="new gripper")
        assert (reply["ok"], reply["stage"], reply["final"], reply["rev"], reply["seq"]) == (
            True, "applied", True, 2, 4,
        ), reply  # fmt: skip
        assert reply["result"] == {
            "items": {PATH: "applied", "tool_configuration": "applied", "payload_information": "applied"}
        }
        assert list(reply["result"]["items"]) == [PATH, "tool_configuration", "payload_information"]
        told = [(event["event"], event["cause"], event["rev"]) for event in plant.events()]
        assert told == [
            ("TWIST_LINEAR_SOFT_LIMIT_CHANGED", "applied", 2),
            ("TOOL_CONFIGURATION_CHANGED", "applied", 2),
            ("PAYLOAD_CONFIGURATION_CHANGED", "applied", 2),
            ("CONFIG_APPLIED", "applied", 2),
        ]
        whole = plant.events()[-1]
        assert (whole["change"], whole["notification"], whole["details"]) == (None, None, reply["result"])
        state = plant.session().state
        assert state.desired == state.reported
        assert (state.rev, state.unsettled, state.open, state.unread) == (2, 0, {}, {})
        again = await apply(plant, ITEMS, id=reply["id"])
        assert (again["duplicate"], again["in_force"], again["result"]) == (True, True, reply["result"])
        await plant.call("r1", "SetPayloadInformation", {"payload_mass": 1.0})
        assert (await apply(plant, ITEMS, id=reply["id"]))["in_force"] is False

    play(tmp_path, scenario)


def test_all_that_is_there_already_takes_no_revision(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, ITEMS)
        sent = len(commands(tmp_path))
        reply = await apply(plant, ITEMS)
        assert (reply["ok"], reply["rev"], set(reply["result"]["items"].values())) == (True, 2, {"unchanged"})
        event = plant.events()[-1]
        assert (event["event"], event["cause"], event["rev"], event["seq"]) == ("CONFIG_APPLIED", "unchanged", 2, 5)
        assert len(plant.events()) == 5
        assert len(commands(tmp_path)) == sent
        mixed = await apply(plant, ITEMS | {"payload_information": {"payload_mass": 1.0}})
        assert mixed["result"]["items"] == {
            PATH: "unchanged", "tool_configuration": "unchanged", "payload_information": "applied",
        }  # fmt: skip
        assert [event["event"] for event in plant.events()[5:]] == ["PAYLOAD_CONFIGURATION_CHANGED", "CONFIG_APPLIED"]
        assert plant.session().state.desired_rev[SLOT] == 2
        again = await apply(plant, ITEMS, id=reply["id"])
        assert (again["duplicate"], again["in_force"]) == (True, False)

    play(tmp_path, scenario)


def test_what_the_arm_has_otherwise_after_all_is_written_too(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, ITEMS)
        limit = TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.1)
        adapter: Any = plant.session().adapter
        adapter._arm._firmware._memory.items[SLOT] = limit
        reply = await apply(plant, ITEMS)
        assert reply["ok"], reply
        assert reply["result"]["items"][PATH] == "applied"
        told = [(event["event"], event["cause"], event["rev"]) for event in plant.events()[4:]]
        assert told == [
            ("TWIST_LINEAR_SOFT_LIMIT_CHANGED", "foreign", 3),
            ("TWIST_LINEAR_SOFT_LIMIT_CHANGED", "applied", 4),
            ("CONFIG_APPLIED", "applied", 4),
        ]
        assert reply["rev"] == 4

    play(tmp_path, scenario)


def test_ruling_02_what_the_arm_refuses_stops_what_is_looser_and_nothing_else(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        await plant.call("r1", "SetDesiredLinearTwist", {"linear": 0.05})
        await plant.fault("r1", "refuse", item="payload_information")
        items = twist(0.1) | {
            "payload_information": {"payload_mass": 3.0},
            "gravity_vector": GRAVITY,
            "desired_linear_twist": {"linear": 0.15},
        }
        reply = await apply(plant, items)
        assert (reply["ok"], reply["stage"], reply["final"], reply["error"]["kind"]) == (
            False, "refused", True, "partial",
        )  # fmt: skip
        assert reply["error"]["message"].startswith(
            "r1: 1 of 4 slots took effect; not: payload_information refused ("
        ), reply["error"]["message"]
        assert reply["result"]["items"] == {
            PATH: "applied",
            "payload_information": "refused",
            "gravity_vector": "not_begun",
            "desired_linear_twist": "not_begun",
        }
        told = [(event["event"], event["cause"], event["rev"]) for event in plant.events()[3:]]
        assert told == [
            ("TWIST_LINEAR_SOFT_LIMIT_CHANGED", "applied", 4),
            ("CONFIG_APPLIED", "partial", 4),
            ("CHANGE_NOT_APPLIED", "refused", 4),
        ]
        details = plant.events()[-1]["details"]["items"]
        assert details == {
            "payload_information": "refused", "gravity_vector": "not_begun", "desired_linear_twist": "not_begun",
        }  # fmt: skip
        assert reply["seq"] == plant.events()[-1]["seq"]
        state = plant.session().state
        assert state.desired == state.reported
        assert (state.rev, state.open, state.unread) == (4, {}, {})
        (entry,) = (await plant.call("r1", "GetHistory", {"after_rev": 3}))["result"]["changes"]
        assert (entry["item"], entry["outcome"], entry["outcomes"]) == (
            "control_configuration", "partial", reply["result"]["items"],
        )  # fmt: skip
        assert (entry["before"][PATH], entry["after"][PATH]) == (pytest.approx(0.2), pytest.approx(0.1))
        again = await apply(plant, items, id=reply["id"])
        assert (again["duplicate"], again["in_force"], again["result"], again["error"]["kind"]) == (
            True, False, reply["result"], "partial",
        )  # fmt: skip

    play(tmp_path, scenario)


def test_what_took_effect_is_written_back_if_that_is_asked_for(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        await plant.fault("r1", "refuse", item="gravity_vector")
        before = dict(plant.session().state.reported)
        items = ITEMS | twist(0.1) | {"gravity_vector": GRAVITY}
        reply = await apply(plant, items, on_failure="reverse")
        assert (reply["ok"], reply["error"]["kind"], reply["rev"]) == (False, "arm_refused", 3), reply
        assert reply["result"]["items"] == {
            PATH: "reversed",
            "tool_configuration": "reversed",
            "payload_information": "reversed",
            "gravity_vector": "refused",
        }
        state = plant.session().state
        assert state.reported == before == state.desired
        assert (state.rev, state.open, state.unread) == (3, {}, {})
        told = [(event["event"], event["cause"], event["rev"]) for event in plant.events()[2:]]
        assert told == [("CHANGE_NOT_APPLIED", "refused", 3)]

    play(tmp_path, scenario)


def test_a_slot_that_cannot_be_written_back_stays_changed(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        adapter: Any = plant.session().adapter
        firmware, done = adapter._arm._firmware, []
        take = firmware.execute

        def execute(command: Any) -> Any:
            done.append(command.slot)
            if command.slot[0] == "gravity_vector" or done.count(SLOT) > 1:
                raise ArmRefusedError(3, 1, "METHOD_FAILED", "no")
            return take(command)

        firmware.execute = execute
        reply = await apply(plant, twist(0.1) | {"gravity_vector": GRAVITY}, on_failure="reverse")
        assert reply["result"]["items"] == {PATH: "applied", "gravity_vector": "refused"}
        assert reply["error"]["kind"] == "partial"
        state = plant.session().state
        assert state.desired == state.reported
        assert state.reported[SLOT] == TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.1)

    play(tmp_path, scenario)


def test_a_refused_slot_refuses_the_whole_and_all_violations_are_listed(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        speeds = {"joint_speed": [1.0, 2.0, 3000.0, 4.0, 5.0, 6.0, 9000.0]}
        items = twist(0.9) | {"gravity_vector": GRAVITY, "desired_joint_speeds": speeds}
        reply = await apply(plant, items)
        assert (reply["ok"], reply["error"]["kind"]) == (False, "out_of_limits"), reply
        paths = [one["path"] for one in reply["error"]["violations"]]
        assert paths == [
            "items.twist_linear_soft_limit.CARTESIAN_JOYSTICK",
            "items.desired_joint_speeds.joint_speed[2]",
            "items.desired_joint_speeds.joint_speed[6]",
        ]
        assert reply["error"]["message"].startswith("items.twist_linear_soft_limit.CARTESIAN_JOYSTICK: 0.9 m/s > 0.5 ")
        assert "Also: desired_joint_speeds out_of_limits." in reply["error"]["message"]
        assert plant.session().state.rev == 1
        some = await apply(plant, items, partial=True)
        assert (some["ok"], some["result"]["items"]) == (True, {"gravity_vector": "applied"}), some
        assert set(some["result"]["left_out"]) == {PATH, "desired_joint_speeds"}
        assert [one["name"] for one in some["warnings"]] == ["LEFT_OUT"]
        none = await apply(plant, twist(0.9), partial=True)
        assert none["error"]["kind"] == "out_of_limits"

    play(tmp_path, scenario)


def test_a_dry_run_tells_direction_and_order(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, ITEMS)
        loads = {"payload_information": {"payload_mass": 1.0}, "tool_configuration": {"tool_mass": 0.8}}
        reply = await apply(plant, loads | twist(0.1), dry_run=True)
        assert (reply["ok"], reply["stage"]) == (True, "checked")
        told = {path: (one["direction"], one["step"]) for path, one in reply["result"]["items"].items()}
        assert told == {
            "tool_configuration": ("unchanged", 0), PATH: ("tightening", 1), "payload_information": ("unordered", 2),
        }  # fmt: skip
        assert reply["result"]["items"][PATH]["before"] == pytest.approx(0.2)
        assert reply["result"]["items"]["payload_information"]["after"]["payload_mass"] == 1.0
        assert plant.session().state.rev == 2

    play(tmp_path, scenario)


def in_document(plant: Plant) -> list[dict[str, Any]]:
    """What the arm's config says is pending."""
    pending: list[dict[str, Any]] = plant.service._documents.build(plant.session(), "config")["pending"]
    return pending


def test_a_batch_waits_for_its_arm_as_a_whole(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        await plant.fault("r1", "offline")
        reply = await apply(plant, ITEMS | twist(0.1), id="a")
        assert (reply["ok"], reply["stage"], reply["final"], reply["rev"]) == (True, "stored", False, 3)
        assert [one["name"] for one in reply["warnings"]] == ["DEVICE_DISCONNECTED"]
        (entry,) = in_document(plant)
        assert (entry["item"], entry["items"], entry["rev"]) == (
            "control_configuration", [PATH, "tool_configuration", "payload_information"], 3,
        )  # fmt: skip
        assert plant.session().state.unsettled == 1
        known = await apply(plant, ITEMS | twist(0.1), id="a")
        assert (known["duplicate"], known["stage"], known["in_force"]) == (True, "stored", False)
        await plant.fault("r1", "none")
        event = await plant.document("evt/r1/config/CONFIG_APPLIED", lambda one: one["request_id"] == "u/c/a")
        assert (event["rev"], event["cause"], set(event["details"]["items"].values())) == (3, "applied", {"applied"})
        again = await apply(plant, ITEMS | twist(0.1), id="a")
        assert (again["stage"], again["in_force"], again["result"]) == ("applied", True, event["details"])

    play(tmp_path, scenario)


def test_ruling_01_after_a_long_absence_tightenings_go_out_and_the_rest_is_held(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        await plant.fault("r1", "offline")
        await apply(plant, ITEMS | twist(0.1), id="a")
        await plant.turn(1000.0)
        await plant.fault("r1", "none")
        config = await plant.document(
            "state/r1/config", lambda one: [each["state"] for each in one["pending"]] == ["held"]
        )
        assert config["pending"][0]["items"] == ["tool_configuration", "payload_information"]
        state = plant.session().state
        assert state.reported[SLOT] == TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.1)
        assert state.open == {("tool_configuration", 0): 1, ("payload_information", 0): 1}
        assert plant.events()[-1]["rev"] == 2
        await plant.call("r1", "ConfirmPending", {"rev": 3})
        event = await plant.document("evt/r1/config/CONFIG_APPLIED", lambda one: one["request_id"] == "u/c/a")
        assert (event["rev"], set(event["details"]["items"].values())) == (3, {"applied"})
        assert state.desired == state.reported
        assert not in_document(plant)

    play(tmp_path, scenario)


def test_what_is_held_can_be_discarded(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        await plant.fault("r1", "offline")
        await apply(plant, ITEMS | twist(0.1), id="a")
        await plant.turn(1000.0)
        await plant.fault("r1", "none")
        await plant.document("state/r1/config", lambda one: [each["state"] for each in one["pending"]] == ["held"])
        await plant.call("r1", "DiscardPending", {"rev": 3})
        told = [(event["event"], event["cause"]) for event in plant.events()[2:]]
        assert told == [
            ("TWIST_LINEAR_SOFT_LIMIT_CHANGED", "applied"),
            ("CONFIG_APPLIED", "partial"),
            ("CHANGE_NOT_APPLIED", "discarded"),
        ]
        reply = await apply(plant, ITEMS | twist(0.1), id="a")
        assert (reply["error"]["kind"], reply["result"]["items"]) == (
            "partial", {PATH: "applied", "tool_configuration": "held", "payload_information": "held"},
        )  # fmt: skip
        state = plant.session().state
        assert state.desired == state.reported
        assert state.unread == {}

    play(tmp_path, scenario)


def test_ruling_03_a_newer_change_takes_its_slot_out_of_a_waiting_batch(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "offline")
        await apply(plant, ITEMS, id="a")
        await plant.call("r1", "SetPayloadInformation", {"payload_mass": 0.5}, id="b")
        assert [entry.get("items", entry["item"]) for entry in in_document(plant)] == [
            [PATH, "tool_configuration"], "payload_information",
        ]  # fmt: skip
        await plant.fault("r1", "none")
        await plant.document("evt/r1/config/PAYLOAD_CONFIGURATION_CHANGED", lambda one: one["request_id"] == "u/c/b")
        reply = await apply(plant, ITEMS, id="a")
        assert reply["result"]["items"] == {
            PATH: "applied", "tool_configuration": "applied", "payload_information": "superseded",
        }  # fmt: skip
        assert (reply["ok"], reply["error"]["kind"]) == (False, "partial")
        state = plant.session().state
        assert state.desired == state.reported
        payload = state.reported["payload_information", 0]
        assert isinstance(payload, PayloadInformation)
        assert payload.payload_mass == 0.5
        causes = [event["cause"] for event in plant.events() if event["event"] == "CHANGE_NOT_APPLIED"]
        assert causes == ["superseded"]

    play(tmp_path, scenario)


def test_a_newer_batch_takes_the_place_of_older_changes(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "offline")
        await plant.call("r1", "SetPayloadInformation", {"payload_mass": 0.5}, id="a")
        await apply(plant, ITEMS, id="b")
        await apply(plant, ITEMS | twist(0.1), id="c")
        assert [entry["rev"] for entry in in_document(plant)] == [4]
        gone = await apply(plant, ITEMS, id="b")
        assert (gone["error"]["kind"], set(gone["result"]["items"].values())) == ("overwritten", {"superseded"})
        await plant.fault("r1", "none")
        await plant.document("evt/r1/config/CONFIG_APPLIED", lambda one: one["request_id"] == "u/c/c")
        state = plant.session().state
        assert state.desired == state.reported
        assert (state.unsettled, state.open, state.unread) == (0, {}, {})

    play(tmp_path, scenario)


def test_a_batch_that_expires_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "offline")
        await apply(plant, ITEMS, id="a", ttl_ms=500)
        await plant.turn(1.0)
        reply = await apply(plant, ITEMS, id="a", ttl_ms=500)
        assert (reply["error"]["kind"], set(reply["result"]["items"].values())) == ("expired", {"expired"})
        event = plant.events()[-1]
        assert (event["event"], event["cause"], event["change"]) == ("CHANGE_NOT_APPLIED", "expired", None)
        state = plant.session().state
        assert state.desired == state.reported
        assert state.open == {}

    play(tmp_path, scenario)


def test_what_the_service_holds_needs_no_arm(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "offline")
        gains = {"soft_upper_limit": 2.0, "soft_lower_limit": -2.0, "k_position": 20.0, "k_velocity": 5.0}
        limits = {"max_velocity": {"values": [0.5] * 7}}
        reply = await apply(plant, {"joint_safety": {"joints": {"joint_2": gains}}, "joint_limits": limits})
        assert (reply["stage"], reply["result"]["items"]) == (
            "applied", {"joint_limits": "applied", "joint_safety": "applied"},
        )  # fmt: skip
        assert [event["event"] for event in plant.events()] == [
            "JOINT_LIMITS_CHANGED", "JOINT_SAFETY_CHANGED", "CONFIG_APPLIED",
        ]  # fmt: skip
        state = plant.session().state
        assert (state.unsettled, state.open, state.unread) == (0, {}, {})

    play(tmp_path, scenario)


def test_ruling_05_a_limit_and_the_soft_limit_below_it_are_loosened_in_one_change(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        tight = {"joint_limits": {"max_velocity": {"values": [0.2] * 7}}}
        soft = {"joint_speed_soft_limits": {"ANGULAR_JOYSTICK": [10.0] * 7}}
        assert (await apply(plant, tight | soft))["ok"]
        looser = {"joint_speed_soft_limits": {"ANGULAR_JOYSTICK": [20.0] * 7}}
        assert (await apply(plant, looser))["error"]["kind"] == "out_of_limits"
        reply = await apply(plant, looser | {"joint_limits": {"max_velocity": {"values": [0.5] * 7}}})
        assert reply["ok"], reply
        assert list(reply["result"]["items"]) == ["joint_limits", "joint_speed_soft_limits/ANGULAR_JOYSTICK"]

    play(tmp_path, scenario)


def test_an_arm_that_goes_away_in_the_middle_is_read_and_the_rest_goes_on(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        await plant.fault("r1", "delay", delay_ms=300)
        request = plant.send("r1", "ApplyConfig", {"items": ITEMS | twist(0.1)})
        await plant.turn(0.5)
        await plant.fault("r1", "offline")
        late = await plant.reply(request)
        assert (late["error"]["kind"], late["stage"], late["final"]) == ("outcome_unknown", "stored", False), late
        await plant.fault("r1", "none")
        event = await plant.document("evt/r1/config/CONFIG_APPLIED", lambda one: one["request_id"] == f"u/c/{request}")
        assert (event["rev"], set(event["details"]["items"].values())) == (3, {"applied"})
        state = plant.session().state
        assert state.desired == state.reported
        assert (state.open, state.unread) == ({}, {})

    play(tmp_path, scenario)


def test_a_lock_in_the_middle_lets_the_rest_wait(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        await plant.fault("r1", "delay", delay_ms=300)
        request = plant.send("r1", "ApplyConfig", {"items": ITEMS | twist(0.1)})
        await plant.turn(0.5)
        await plant.call("r1", "HoldArm", {"reason": "I look"}, user="v")
        reply = await plant.reply(request)
        assert (reply["ok"], reply["stage"]) == (True, "stored")
        assert in_document(plant)[0]["items"]
        await plant.call("r1", "ReleaseArm", {}, user="v")
        event = await plant.document("evt/r1/config/CONFIG_APPLIED", lambda one: one["request_id"] == f"u/c/{request}")
        assert set(event["details"]["items"].values()) == {"applied"}

    play(tmp_path, scenario)


@pytest.mark.parametrize("moment", [0.05, 0.2, 0.4, 0.55, 0.7, 0.85, 1.0, 1.15])
def test_ruling_04_a_batch_goes_on_after_a_crash_at_any_moment(tmp_path: Path, moment: float) -> None:
    async def scenario() -> None:
        async with Plant(tmp_path / "first") as plant:
            await apply(plant, twist(0.2))
            await plant.fault("r1", "delay", delay_ms=150)
            plant.send("r1", "ApplyConfig", {"items": ITEMS | twist(0.1) | {"gravity_vector": GRAVITY}}, id="b")
            await plant.turn(moment)
            await plant.committed()
            data = plant.copy(tmp_path / "copy")
        async with Plant(data) as plant:
            event = await plant.document("evt/r1/config/CONFIG_APPLIED", lambda one: one["request_id"] == "u/c/b")
            assert (event["rev"], set(event["details"]["items"].values())) == (3, {"applied"}), event
            assert (await plant.reply("b"))["result"] == event["details"]
            told = {
                one["seq"]: one for one in (await plant.call("r1", "GetEvents", {"after_seq": 2}))["result"]["events"]
            }
            changes_told = {one["event"]: one["change"] for one in told.values() if one["rev"] == 3 and one["change"]}
            assert changes_told["TWIST_LINEAR_SOFT_LIMIT_CHANGED"]["before"] == pytest.approx(0.2)
            assert changes_told["TWIST_LINEAR_SOFT_LIMIT_CHANGED"]["after"] == pytest.approx(0.1)
            assert len(changes_told) == 4
            state = plant.session().state
            assert state.desired == state.reported
            assert state.reported[SLOT] == TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.1)
            assert (state.rev, state.unsettled, state.open, state.unread) == (3, 0, {}, {})
        assert [one.state for one in changes(data / "store.sqlite3") if one.verb == "batch"] == ["settled"] * 2
        pairs = [entry[4] for entry in commands(data)]
        assert pairs == sorted(pairs)

    run(scenario)


@pytest.mark.parametrize("moment", [0.1, 0.4, 0.7, 1.0])
def test_an_old_batch_found_by_a_start_only_tightens(tmp_path: Path, moment: float) -> None:
    async def scenario() -> None:
        async with Plant(tmp_path / "first") as plant:
            await apply(plant, twist(0.2))
            await plant.fault("r1", "delay", delay_ms=150)
            items = {"gravity_vector": GRAVITY} | twist(0.1)
            plant.send("r1", "ApplyConfig", {"items": items}, id="b")
            await plant.turn(moment)
            await plant.committed()
            data = plant.copy(tmp_path / "copy")
        async with Plant(data, start_us=START_US + 3_600_000_000) as plant:
            await plant.document("state/r1/config", lambda _: True)
            await plant.turn(5.0)
            state = plant.session().state
            assert state.reported[SLOT] == TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.1)
            held = [entry["items"] for entry in in_document(plant)]
            gravity = state.reported["gravity_vector", 0]
            assert isinstance(gravity, GravityVector)
            assert held in ([["gravity_vector"]], []), held
            assert (held == []) is (gravity.z == pytest.approx(-9.7))

    run(scenario)
