"""Another arm under a known name: held, then confirmed, or gone again."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import structlog

from broker.service import Service
from broker.store.rows import ArmRow
from devices.adapter import LinkState
from devices.simulated.firmware import serial_number
from handlers.state.limit_sources import LimitSources
from schema.arms import Description, Fault, JointInfo
from schema.enums import ControlMode
from schema.messages import TwistLinearSoftLimit
from tests.virtual_plant import Plant, play, run

SET, ITEM, SLOT = "SetTwistLinearSoftLimit", "twist_linear_soft_limit", ("twist_linear_soft_limit", 2)
MODE = ControlMode.CARTESIAN_JOYSTICK
GRAVITY = {"x": 0.0, "y": 0.0, "z": -9.7}


def value(limit: float) -> dict[str, Any]:
    """Params of the Set."""
    return {"control_mode": "CARTESIAN_JOYSTICK", ITEM: limit}


def adapter_of(plant: Plant) -> Any:
    """The adapter of arm r1."""
    return plant.session().adapter


def describes(plant: Plant, change: Callable[[Description], Description]) -> None:
    """Let arm r1 tell something else of itself from now on."""
    firmware = adapter_of(plant)._arm._firmware
    told = firmware.describe()
    firmware.describe = lambda: change(told)


def swapped(told: Description) -> Description:
    """The same arm with another serial number."""
    return msgspec.structs.replace(told, serial="ANOTHER")


async def swap(plant: Plant, limit: float = 0.15, change: Callable[[Description], Description] = swapped) -> None:
    """Put another arm, with another limit, in the place of r1."""
    describes(plant, change)
    await plant.fault("r1", "offline")
    firmware = adapter_of(plant)._arm._firmware
    firmware.change_by_another(SLOT, TwistLinearSoftLimit(MODE, limit))
    await plant.fault("r1", "none")
    await plant.document("state/r1/presence", lambda one: one["state"] == "held")


def test_the_arm_that_answers_is_adopted_and_what_was_pending_is_discarded(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.3))
        await swap(plant)
        waits = await plant.call("r1", SET, value(0.25), id="a")
        assert (waits["stage"], waits["final"], waits["warnings"][0]["name"]) == ("stored", False, "DEVICE_NOT_READY")
        assert (await plant.call("r1", "SetJointLimit", {"joint": "joint_1", "update": {"max_velocity": 0.5}}, id="b"))[
            "stage"
        ] == "stored"
        reply = await plant.call("r1", "ConfirmArm")
        assert (reply["ok"], reply["stage"], reply["final"], reply["result"]) == (True, "stored", True, {})
        state = plant.session().state
        assert (state.distrust, plant.session().serial, state.rev) == ("", "ANOTHER", 5)
        assert state.desired[SLOT] == state.reported[SLOT] == TwistLinearSoftLimit(MODE, 0.15)
        assert {state.desired_rev[slot] for slot in state.reported} == {5}
        assert [(event["cause"], event["request_id"]) for event in plant.events()[1:]] == [
            ("discarded", "u/c/a"),
            ("discarded", "u/c/b"),
            ("applied", f"u/c/{reply['id']}"),
        ]
        assert (plant.events()[-1]["event"], plant.events()[-1]["change"]["after"]) == ("ARM_CONFIRMED", "ANOTHER")
        again = await plant.call("r1", SET, value(0.25), id="a")
        assert (again["stage"], again["error"]["kind"]) == ("refused", "held")
        assert "u/c, who confirmed another arm, discarded it" in again["error"]["message"]
        presence = await plant.document("state/r1/presence", lambda one: one["state"] == "online" and one["ready"])
        assert presence["serial"] == "ANOTHER"
        assert (await plant.call("r1", SET, value(0.25)))["stage"] == "applied"
        again = await plant.call("r1", "ConfirmArm")
        assert again["error"]["kind"] == "revision_conflict"

    play(tmp_path, scenario)


def test_a_confirmed_arm_stays_known_over_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Plant(tmp_path) as plant:
            await swap(plant)
            await plant.call("r1", "ConfirmArm")
            await plant.turn(1.0)
        rows = sqlite3.connect(tmp_path / "store.sqlite3")
        assert rows.execute("SELECT serial FROM arm WHERE arm = 'r1'").fetchone() == ("ANOTHER",)
        rows.close()

        def other(service: Service) -> None:
            firmware: Any = service.sessions["r1"].adapter
            told = firmware._arm._firmware.describe()
            firmware._arm._firmware.describe = lambda: swapped(told)

        async with Plant(tmp_path, prepare=other) as plant:
            assert plant.session().state.distrust == ""
            assert plant.events() == []

    run(scenario)


def test_when_the_known_arm_is_back_what_waited_goes_out(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        firmware = adapter_of(plant)._arm._firmware
        known = firmware.describe
        await plant.call("r1", SET, value(0.3))
        await swap(plant, 0.3)
        await plant.call("r1", SET, value(0.25), id="a")
        await plant.call("r1", "SetJointLimit", {"joint": "joint_1", "update": {"max_velocity": 0.5}}, id="b")
        adapter_of(plant)._sink(LinkState(online=True, ready=False))
        adapter_of(plant)._sink(LinkState(online=True, ready=True))
        firmware.change_by_another(("gravity_vector", 0), plant.session().state.reported["gravity_vector", 0])
        await plant.turn(5.0)
        assert plant.session().state.distrust
        assert len(plant.events()) == 1
        firmware.describe = known
        await plant.fault("r1", "offline")
        refused = await plant.call("r1", "ConfirmArm")
        assert refused["error"]["kind"] == "arm_away"
        await plant.fault("r1", "none")
        await plant.document("evt/r1/config/JOINT_LIMITS_CHANGED", lambda one: one["cause"] == "applied")
        told = [(event["request_id"], event["cause"]) for event in plant.events()[1:]]
        assert sorted(told) == [("u/c/a", "applied"), ("u/c/b", "applied")]

    play(tmp_path, scenario)


def test_other_joints_start_with_limits_of_their_own(tmp_path: Path) -> None:
    def renamed(told: Description) -> Description:
        joints = tuple(JointInfo(f"axis_{number}", joint.type) for number, joint in enumerate(told.joints))
        return msgspec.structs.replace(told, serial="ANOTHER", joints=joints)

    async def scenario(plant: Plant) -> None:
        await plant.call("r1", "SetJointLimit", {"joint": "joint_1", "update": {"max_velocity": 0.5}})
        await swap(plant, change=renamed)
        assert (await plant.call("r1", "ConfirmArm"))["ok"]
        limits = (await plant.call("r1", "GetJointLimits"))["result"]
        assert limits["max_velocity"]["values"][0] > 1.0

    play(tmp_path, scenario)


def test_an_arm_whose_limits_do_not_fit_stays_held(tmp_path: Path) -> None:
    def shorter(told: Description) -> Description:
        return msgspec.structs.replace(told, serial="ANOTHER", joints=told.joints[:6])

    async def scenario(plant: Plant) -> None:
        sources = LimitSources(site_caps={"velocity": [1.0] * 7})
        plant.session().state.sources = sources
        await swap(plant, change=shorter)
        reply = await plant.call("r1", "ConfirmArm")
        assert reply["error"]["kind"] == "held"
        assert "its limits cannot be used: site_caps, velocity" in reply["error"]["message"]
        description = plant.session().state.description
        assert description is not None
        assert len(description.joints) == 7
        assert (await plant.call("r1", "GetGravityVector"))["ok"]

    play(tmp_path, scenario)


def test_an_arm_that_was_not_read_yet_cannot_be_confirmed(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await swap(plant)
        plant.session().found = None
        assert (await plant.call("r1", "ConfirmArm"))["error"]["kind"] == "arm_away"

    play(tmp_path, scenario)


def test_a_change_whose_outcome_the_other_arm_cannot_tell_is_discarded_too(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "lose_answer")
        lost = plant.send("r1", SET, value(0.25))
        behind = plant.send("r1", "SetGravityVector", GRAVITY)
        await plant.document("state/r1/config", lambda one: len(one["pending"]) == 2)
        await swap(plant)
        assert (await plant.reply(lost))["error"]["kind"] == "outcome_unknown"
        await plant.call("r1", "ConfirmArm")
        told = [(event["request_id"], event["cause"]) for event in plant.events() if event["cause"] == "discarded"]
        assert told == [(f"u/c/{lost}", "discarded"), (f"u/c/{behind}", "discarded")]
        await plant.turn(10.0)
        assert (plant.session().jobs, plant.session().state.unsettled) == (type(plant.session().jobs)(), 0)
        assert (await plant.call("r1", SET, value(0.2)))["stage"] == "applied"

    play(tmp_path, scenario)


def test_a_limit_that_cannot_be_checked_is_refused(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.session().state.sources = LimitSources(site_caps={"velocity": [1.0, 2.0]})
        await plant.fault("r1", "offline", for_ms=1000)
        await plant.document("state/r1/presence", lambda one: one["state"] == "held")
        for method, params in ((SET, value(0.2)), ("ConfirmArm", {}), ("RestoreFactory", {})):
            assert (await plant.call("r1", method, params))["error"]["kind"] == "held"
        plant.session().state.sources = LimitSources()
        adapter_of(plant).inject(Fault("offline", for_ms=1000))
        await plant.turn(5.0)
        assert (await plant.call("r1", SET, value(0.2)))["stage"] == "applied"

    play(tmp_path, scenario)


def test_an_arm_that_is_known_by_another_name_is_told(tmp_path: Path) -> None:
    def said(logs: list[Any]) -> list[tuple[str, str]]:
        return [(log["arm"], log["other"]) for log in logs if log["event"] == "arm_known_by_another_name"]

    async def whole() -> None:
        with structlog.testing.capture_logs() as logs:
            async with Plant(tmp_path, ["r1"]) as plant:
                serial = plant.session().serial
                plant.store.batch.put_arm(ArmRow(arm="r9", serial=serial_number("r2", "gen3_7dof"), adopted=True))
                plant.store.flush_soon()
                await plant.committed()
            assert said(logs) == []
            async with Plant(tmp_path, ["r1", "r2"]) as plant:
                assert plant.session("r2").state.adopted
                assert plant.session().serial == serial
            assert said(logs) == [("r2", "r9")]
            async with Plant(tmp_path, ["r1", "r2"]):
                pass
        assert said(logs) == [("r2", "r9")]

    run(whole)
