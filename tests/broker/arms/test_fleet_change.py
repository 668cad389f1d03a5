"""Arms follow new settings, in virtual time: added, removed, opened anew; the others go on untouched."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from broker.arms.fleet_check import CheckedFleet, fleet_faults
from broker.arms.limit_files import LimitFiles
from broker.settings import ArmSettings, ClientSettings, Settings
from tests.journey.limit_files import urdf
from tests.virtual_plant import Plant, play

GRAVITY = ("SetGravityVector", {"x": 9.81, "y": 0.0, "z": 0.0})
SPEED = ("SetTwistLinearSoftLimit", {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2})
MODEL = "gen3_7dof"


def arms(**changed: dict[str, Any] | None) -> Callable[[Settings], Settings]:
    """Settings with arms added or changed (a table), or removed (None)."""

    def change(settings: Settings) -> Settings:
        kept = {arm.id: arm for arm in settings.arm}
        for name, table in changed.items():
            if table is None:
                del kept[name]
            else:
                kept[name] = msgspec.structs.replace(kept.get(name, ArmSettings(name, model=MODEL)), **table)
        return msgspec.structs.replace(settings, arm=tuple(kept.values()))

    return change


async def follow(plant: Plant, *changes: Callable[[Settings], Settings]) -> None:
    """Let the service follow changed settings."""
    settings = plant.settings
    for change in changes:
        settings = change(settings)
    files = LimitFiles(plant.clock.now_us())
    assert list(fleet_faults(settings, files)) == []
    plant.settings = await plant.service.follow_settings(CheckedFleet(settings, files))


async def online(plant: Plant, arm: str, after: int = 0) -> Any:
    """The first document that says that an arm is there."""

    def is_online(state: Any) -> bool:
        return bool(state) and state["state"] == "online"

    return await plant.document(f"state/{arm}/presence", is_online, after)


def topics(plant: Plant, arm: str, after: int) -> set[str]:
    """What was published of an arm."""
    return {each.topic for each in plant.link.published[after:] if f"/{arm}" in each.topic}


def test_an_added_arm_is_reached_and_takes_changes(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        assert (await plant.call("r3", *GRAVITY))["error"]["kind"] == "unknown_arm"
        await plant.turn(5)
        after = len(plant.link.published)
        await follow(plant, arms(r3={}))
        await online(plant, "r3", after)
        reply = await plant.call("r3", *GRAVITY)
        assert (reply["stage"], reply["rev"], reply["seq"]) == ("applied", 2, 1)
        await plant.turn(5)
        assert {"state/r3/config", "state/r3/effective", "meta/factsheet/r3"} <= topics(plant, "r3", after)
        assert topics(plant, "r1", after) == topics(plant, "r2", after) == set()

    play(tmp_path, scenario)


def test_a_removed_arm_is_forgotten_and_what_waits_is_discarded(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(5)
        handle = await plant.call("r1", "ControlConfigurationTopic", {"type": "NOTIFICATION_TYPE_EVENT"})
        assert handle["ok"], handle
        await plant.call("r1", *SPEED)
        await plant.fault("r1", "hang")
        first, second = plant.send("r1", *GRAVITY), plant.send("r1", *SPEED)
        await plant.turn(1)
        await plant.fault("r1", "none")
        after = len(plant.link.published)
        await follow(plant, arms(r1=None))
        assert (await plant.reply(first))["stage"] == "applied"
        refused = await plant.reply(second)
        assert (refused["stage"], refused["final"], refused["error"]["kind"]) == ("refused", True, "unknown_arm")
        await plant.turn(5)
        events = plant.events("r1")
        assert [event["seq"] for event in events] == [1, 2, 3]
        assert (events[-1]["event"], events[-1]["cause"]) == ("CHANGE_NOT_APPLIED", "discarded")
        last = {each.topic: each.document for each in plant.link.published if each.retained and "/r1" in each.topic}
        assert set(last.values()) == {None}
        assert len(last) == 6
        assert (await plant.call("r1", "GetGravityVector"))["error"]["kind"] == "unknown_arm"
        assert topics(plant, "r2", after) == set()

    play(tmp_path, scenario)


def test_an_arm_that_hangs_while_it_is_removed_goes_on_when_it_returns(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        written = plant.send("r1", *SPEED)
        await plant.turn(1)
        await follow(plant, arms(r1=None))
        told = await plant.reply(written)
        assert (told["error"]["kind"], told["final"]) == ("outcome_unknown", False)
        assert [event["cause"] for event in plant.events("r1")] == []
        again = await plant.call("r1", *SPEED, id=written)
        assert (again["duplicate"], again["stage"]) == (True, "stored")
        after = len(plant.link.published)
        await follow(plant, arms(r1={}))
        await online(plant, "r1", after)
        await plant.turn(30)
        [event] = plant.events("r1")
        assert (event["cause"], event["request_id"]) == ("applied", f"u/c/{written}")
        assert (await plant.call("r1", *SPEED, id=written))["stage"] == "applied"

    play(tmp_path, scenario)


def test_a_changed_arm_is_opened_anew_and_loses_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(5)
        assert (await plant.call("r1", *GRAVITY))["rev"] == 2
        await plant.fault("r1", "hang")
        sent = [plant.send("r1", *SPEED), plant.send("r1", "SetGravityVector", {"x": 0.0, "y": 9.81, "z": 0.0})]
        await plant.turn(0.5)
        before, after = plant.session("r1").adapter, len(plant.link.published)
        await follow(plant, arms(r1={"options": {"latency_ms": 3}}))
        assert plant.session("r1").adapter is not before
        for written in sent:
            assert (await plant.reply(written))["id"] == written
        await plant.turn(60)
        assert [event["seq"] for event in plant.events("r1")] == [1, 2, 3]
        assert [event["cause"] for event in plant.events("r1")] == ["applied"] * 3
        assert plant.session("r1").state.rev == 4
        await online(plant, "r1", after)
        assert topics(plant, "r2", after) == set()

    play(tmp_path, scenario)


def test_waiting_changes_are_decided_again_under_new_caps(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "offline")
        await plant.turn(1)
        waiting = await plant.call("r1", *SPEED)
        assert (waiting["ok"], waiting["stage"]) == (True, "stored")
        await follow(plant, arms(r1={"site_caps": {"twist_linear": 0.1}}))
        await plant.turn(30)
        [event] = plant.events("r1")
        assert (event["event"], event["cause"]) == ("CHANGE_NOT_APPLIED", "refused")

    play(tmp_path, scenario)


def test_a_file_that_holds_something_else_opens_its_arms_anew(tmp_path: Path) -> None:
    name = urdf(tmp_path / "gen3.urdf", velocity=1.0)

    async def scenario(plant: Plant) -> None:
        adapters = {arm: plant.session(arm).adapter for arm in ("r1", "r2")}
        await follow(plant)
        assert all(plant.session(arm).adapter is adapter for arm, adapter in adapters.items())
        urdf(tmp_path / "gen3.urdf", velocity=0.5)
        await follow(plant)
        assert plant.session("r1").adapter is not adapters["r1"]
        assert plant.session("r2").adapter is adapters["r2"]
        await plant.turn(5)
        params = {"control_mode": "ANGULAR_TRAJECTORY", "joint_speed_soft_limits": [40.0] * 7}
        refused = await plant.call("r1", "SetJointSpeedSoftLimits", params)
        assert refused["error"]["kind"] == "out_of_limits"

    table = [{"id": "r1", "model": MODEL, "urdf": name}, {"id": "r2", "model": MODEL}]
    play(tmp_path / "data", scenario, arm=table)


def test_what_holds_for_all_arms_counts_at_once(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(5)
        after = len(plant.link.published)

        def change(settings: Settings) -> Settings:
            replace = msgspec.structs.replace
            return replace(
                settings,
                checks=replace(settings.checks, strict=True),
                sim=replace(settings.sim, faults=False),
                arm_defaults=replace(settings.arm_defaults, queue=7),
                clients={"u": ClientSettings(arms=("r2",))},
            )

        await follow(plant, change)
        assert (await plant.call("r1", *GRAVITY))["error"]["kind"] == "not_permitted"
        assert (await plant.call("r2", *GRAVITY))["stage"] == "applied"
        state = plant.session("r2").state
        assert (state.strict, state.queue_limit, state.faults_allowed) == (True, 7, False)
        service = await plant.document("meta/service", lambda document: document["limits"]["queue"] == 7, after)
        assert service["root"] == "armbroker"
        assert {each for each in topics(plant, "r1", after) if not each.startswith("res/")} == {"evt/r1/admin"}

    play(tmp_path, scenario)


def test_authority_counts_without_opening(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        adapter = plant.session("r1").adapter
        await follow(plant, arms(r1={"authority": "observe"}))
        assert plant.session("r1").adapter is adapter
        assert (await plant.call("r1", *GRAVITY))["stage"] == "checked"

    play(tmp_path, scenario)


def test_an_arm_that_cannot_be_opened_keeps_its_old_settings(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        wanted = msgspec.structs.replace(
            arms(r1={"model": "gen9"}, r9={"model": "gen9"})(plant.settings), log_level="debug"
        )
        files = LimitFiles(0)
        for arm in wanted.arm:
            files.sources(arm)
        settings = await plant.service.follow_settings(CheckedFleet(wanted, files))
        assert {arm.id: arm.model for arm in settings.arm} == {"r1": MODEL, "r2": MODEL}
        assert settings.log_level == "debug"
        assert plant.service.sessions.keys() == {"r1", "r2"}
        await plant.turn(5)
        assert (await plant.call("r1", *GRAVITY))["stage"] == "applied"

    play(tmp_path, scenario)


def test_an_arm_that_only_the_store_knows_comes_back_with_its_values(tmp_path: Path) -> None:
    async def first(plant: Plant) -> None:
        assert (await plant.call("r1", *GRAVITY))["rev"] == 2
        await plant.turn(5)

    async def second(plant: Plant) -> None:
        await follow(plant, arms(r1={}))
        await online(plant, "r1")
        reply = await plant.call("r1", *SPEED)
        assert (reply["rev"], reply["seq"]) == (3, 2)
        config = await plant.document("state/r1/config", lambda document: bool(document) and document["rev"] == 3)
        assert config["items"]["gravity_vector"] == GRAVITY[1]

    play(tmp_path, first)
    play(tmp_path, second, arms=("r2",))


def test_an_arm_that_begins_to_reapply_gets_back_what_was_loosened(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        assert (await plant.call("r1", *SPEED))["stage"] == "applied"
        slot = {"item": "twist_linear_soft_limit", "slot": "CARTESIAN_JOYSTICK"}
        await plant.fault("r1", "foreign_change", **slot, value=0.4)
        await plant.turn(120)
        assert [event["cause"] for event in plant.events("r1")] == ["applied", "foreign"]
        await follow(plant, arms(r1={"drift": "reapply"}))
        await plant.turn(120)
        assert [event["cause"] for event in plant.events("r1")] == ["applied", "foreign", "applied"]

    play(tmp_path, scenario)
