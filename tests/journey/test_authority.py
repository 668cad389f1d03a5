"""How far the service goes with an arm, and who may change it, on the whole path."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schema.arms import Authority
from schema.codecs.times import format_time, parse_time
from tests.journey import recording
from tests.journey.client import Client
from tests.journey.recording import ARMS
from tests.journey.running import RunningService, settings_of
from tests.mosquitto import Mosquitto
from tests.virtual_plant import Plant, play, run

MODE = "CARTESIAN_JOYSTICK"
SET, ITEM = "SetTwistLinearSoftLimit", "twist_linear_soft_limit"
VALUE = {"control_mode": MODE, ITEM: 0.25}
LOOSER = {"control_mode": MODE, ITEM: 0.5}
TOO_MUCH = {"control_mode": MODE, ITEM: 0.9}
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    (SET, VALUE),
    ("ResetTwistLinearSoftLimit", {"control_mode": MODE}),
    ("SetGravityVector", {"z": -9.8}),
    ("SetControlMode", {"control_mode": MODE}),
    ("SetJointLimit", {"joint": "joint_1", "update": {"max_velocity": 0.5}}),
)


@pytest.fixture(autouse=True)
def adapter() -> None:
    """Arms that remember what was written to them."""
    recording.register()


def fleet(**more: Any) -> list[dict[str, Any]]:
    """Arm r1 as the settings name it."""
    return [{"id": "r1", "adapter": recording.NAME, "model": "gen3_7dof", **more}]


def told(reply: dict[str, Any]) -> tuple[Any, ...]:
    """What a reply says, but for what names the request and its time; messages of OBSERVED and ADVISED left out."""
    warnings = [each for each in reply["warnings"] if each["name"] not in ("OBSERVED", "ADVISED")]
    error = reply.get("error", {})
    return (reply["ok"], reply["stage"], reply["final"], reply["rev"], reply.get("result"), error, warnings)


@pytest.mark.parametrize(("authority", "name"), [("observe", "OBSERVED"), ("advise", "ADVISED")])
def test_below_control_every_write_is_answered_and_nothing_changes(tmp_path: Path, authority: str, name: str) -> None:
    async def scenario(plant: Plant) -> None:
        session = plant.session()
        before = (dict(session.state.desired), dict(session.state.reported), session.state.rev)
        for method, params in CHANGES:
            dry = await plant.call("r1", method, params, dry_run=True)
            reply = await plant.call("r1", method, params)
            assert (reply["ok"], reply["stage"], reply["final"], reply["rev"]) == (True, "checked", True, 1), reply
            assert [warning["name"] for warning in reply["warnings"]] == [name]
            assert told(reply) == told(dry)
        refused = await plant.call("r1", SET, TOO_MUCH)
        assert (refused["stage"], refused["error"]["kind"]) == ("refused", "out_of_limits")
        await plant.turn(60.0)
        assert (session.state.desired, session.state.reported, session.state.rev) == before
        assert ARMS["r1"].written == []
        assert plant.events() == []

    play(tmp_path, scenario, arm=fleet(authority=authority))


def test_an_observed_arm_says_what_would_have_come_of_a_write(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for params, text in (
            (VALUE, "would be written as a tightening"),
            (LOOSER, "would leave the value unchanged"),
        ):
            (warning,) = (await plant.call("r1", SET, params))["warnings"]
            assert warning["message"].endswith(text)
        (warning,) = (await plant.call("r1", "SetGravityVector", {"z": -9.7}))["warnings"]
        assert warning["message"].endswith("would be written as a loosening")

    play(tmp_path, scenario, arm=fleet(authority="observe"))


def test_what_was_only_checked_is_not_remembered(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        assert (await plant.call("r1", SET, VALUE, id="a"))["stage"] == "checked"
        assert (await plant.call("r1", SET, VALUE, id="a"))["stage"] == "checked"
        assert (await plant.call("r1", SET, TOO_MUCH, id="b"))["error"]["kind"] == "out_of_limits"
        plant.link.deliver(f"req/u/c/r1/{SET}", b"{}")
        missing = await plant.reply("_")
        assert missing["error"]["kind"] == "id_missing"
        plant.session().state.authority = Authority.CONTROL
        for name in ("a", "b"):
            reply = await plant.call("r1", SET, VALUE, id=name)
            assert (reply["stage"], "duplicate" in reply) == ("applied", False)
        await plant.call("r1", "SetAuthority", {"authority": "observe"})
        assert (await plant.call("r1", SET, VALUE, id="a"))["duplicate"]

    play(tmp_path, scenario, arm=fleet(authority="observe"))


def test_an_observed_arm_is_read_and_published_as_any_other(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "foreign_change", item=ITEM, slot=MODE, value=0.3)
        event = await plant.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", bool)
        assert (event["cause"], event["change"]["after"]) == ("foreign", 0.3)
        config = await plant.document("state/r1/config", lambda one: one["differs"])
        assert config["differs"] == [f"{ITEM}/{MODE}"]
        reported = await plant.document("state/r1/reported", lambda one: one["seq"] == 1)
        assert reported["items"][ITEM][MODE] == 0.3
        await plant.turn(3600.0)
        assert plant.session().cmd_seq == 0

    play(tmp_path, scenario, arm=[{"id": "r1", "model": "gen3_7dof", "authority": "observe"}])


@pytest.mark.parametrize("authority", Authority)
def test_handles_queries_and_orders_work_in_every_authority(tmp_path: Path, authority: Authority) -> None:
    async def scenario(plant: Plant) -> None:
        handle = await plant.call("r1", "ControlConfigurationTopic", {})
        assert handle["stage"] == "stored"
        for method, params, stage in (
            ("Unsubscribe", handle["result"], "stored"),
            ("GetHistory", {}, "read"),
            ("GetGravityVector", {}, "read"),
            ("SimFault", {"fault": "none"}, "stored"),
            ("HoldArm", {"reason": "x"}, "stored"),
            ("ReleaseArm", {}, "stored"),
            ("SetAuthority", {"authority": str(authority)}, "stored"),
        ):
            reply = await plant.call("r1", method, params)
            assert (reply["ok"], reply["stage"], reply["final"]) == (True, stage, True), reply

    play(tmp_path, scenario, arm=[{"id": "r1", "model": "gen3_7dof", "authority": str(authority)}])


def test_an_order_is_remembered_and_a_dry_run_of_it_changes_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for method, params in (("SetAuthority", {"authority": "observe"}), ("HoldArm", {"reason": "x"})):
            dry = await plant.call("r1", method, params, dry_run=True)
            assert (dry["stage"], dry["result"]) == ("checked", {})
        state = plant.session().state
        assert (state.authority, state.hold) == (Authority.CONTROL, None)
        await plant.call("r1", "SetAuthority", {"authority": "observe"}, id="a")
        await plant.call("r1", "SetAuthority", {"authority": "control"}, id="b")
        again = await plant.call("r1", "SetAuthority", {"authority": "observe"}, id="a")
        assert (again["stage"], again["duplicate"]) == ("stored", True)
        assert state.authority is Authority.CONTROL

    play(tmp_path, scenario)


def test_only_who_may_change_an_arm_may_change_its_authority(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for method, params in (("SetAuthority", {"authority": "observe"}), ("HoldArm", {"reason": "x"})):
            assert (await plant.call("r1", method, params, user="bob"))["error"]["kind"] == "not_permitted"
            assert (await plant.call("r2", method, params, user="bob"))["ok"]

    play(tmp_path, scenario, clients={"bob": {"arms": ["r2"]}})


def test_a_held_arm_takes_the_writes_of_its_holder_alone(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", "HoldArm", {"reason": "gripper change"}, user="ann")
        orders: tuple[tuple[str, dict[str, Any]], ...] = (
            ("SetAuthority", {"authority": "observe"}),
            ("HoldArm", {"reason": "mine"}),
            ("ReleaseArm", {}),
        )
        for method, params in (*CHANGES, *orders):
            for options in ({}, {"dry_run": True}):
                reply = await plant.call("r1", method, params, user="bob", **options)
                assert (reply["stage"], reply["final"], reply["error"]["kind"]) == ("refused", True, "held")
                assert "held by ann (not proven) since" in reply["error"]["message"]
                assert "gripper change" in reply["error"]["message"]
        for method in ("GetGravityVector", "GetHistory", "ControlConfigurationTopic"):
            assert (await plant.call("r1", method, user="bob"))["ok"]
        assert (await plant.call("r2", SET, VALUE, user="bob"))["stage"] == "applied"
        assert (await plant.call("r1", SET, VALUE, user="ann"))["stage"] == "applied"
        assert (await plant.call("r1", "ReleaseArm", user="ann"))["ok"]
        assert (await plant.call("r1", SET, LOOSER, user="bob"))["stage"] == "applied"
        assert (await plant.call("r1", "ReleaseArm", user="ann"))["error"]["kind"] == "revision_conflict"

    play(tmp_path, scenario, clients={"bob": {"rights": ["write", "authority", "confirm", "factory"]}})


def test_a_lock_shows_before_what_is_wrong_with_the_values(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", "HoldArm", {"reason": "x"}, user="ann")
        for params, kind in (
            ({**VALUE, ITEM: "fast"}, "malformed"),
            (TOO_MUCH, "held"),
            ({"control_mode": "UNSPECIFIED_CONTROL_MODE", ITEM: 0.1}, "held"),
        ):
            assert (await plant.call("r1", SET, params, user="bob"))["error"]["kind"] == kind

    play(tmp_path, scenario)


@pytest.fixture
def proven(plant: Mosquitto, tmp_path: Path) -> Iterator[RunningService]:
    """A service of arms r1 and r2 on a Mosquitto that proves its users."""
    secret = tmp_path / "secret"
    secret.write_text(plant.passwords["svc"])
    mqtt = {"user": "svc", "password_file": str(secret), "identity": "server-acl"}
    running = RunningService(settings_of(plant.url, "armbroker", tmp_path / "data", ["r1", "r2"], mqtt=mqtt)).start()
    yield running
    running.stop()


async def test_two_users_of_one_arm(plant: Mosquitto, proven: RunningService) -> None:
    def client(user: str, conn: str) -> Client:
        return Client(proven.port, proven.root, user, conn, password=plant.passwords[user])

    async with client("alice", "hmi-1") as alice, client("alice", "hmi-2") as other, client("bob", "plc-1") as bob:
        await bob.subscribe("state/r1/presence", "meta/factsheet/r1")
        await alice.change("r1", "HoldArm", {"reason": "gripper change"})
        for topic in ("state/r1/presence", "meta/factsheet/r1"):
            shown = await bob.document(topic, lambda document: "hold" in document)
            assert shown["hold"]["by"] == {"user": "alice", "connection": "hmi-1", "proven": True}
        refused = await bob.call("r1", SET, VALUE)
        assert refused["error"]["kind"] == "held"
        assert refused["error"]["message"].startswith("r1 is held by alice since")
        assert (await other.change("r1", SET, VALUE))["stage"] == "applied"
        await other.change("r1", "SetAuthority", {"authority": "observe", "reason": "night"})
        await other.change("r1", "ReleaseArm")
        presence = await bob.document("state/r1/presence", lambda one: "hold" not in one and one["rev"] > 1)
        assert presence["authority"] == "observe"
        reply = await bob.change("r1", SET, LOOSER)
        assert (reply["stage"], [warning["name"] for warning in reply["warnings"]]) == ("checked", ["OBSERVED"])
    proven.restart()
    async with client("bob", "plc-2") as bob:
        assert (await bob.change("r1", SET, LOOSER))["stage"] == "checked"
        await bob.change("r1", "SetAuthority", {"authority": "control"})
        assert (await bob.change("r1", SET, LOOSER))["stage"] == "applied"


def pending(plant: Plant, arm: str = "r1") -> list[tuple[str, str, str]]:
    """Item, state and why of what `config` shows as pending."""
    config = plant.service._documents.build(plant.session(arm), "config")
    return [(entry["item"], entry["state"], entry.get("why", "")) for entry in config["pending"]]


BARRIERS = {
    "observe": ("SetAuthority", {"authority": "observe"}, "the authority over r1 is observe"),
    "advise": ("SetAuthority", {"authority": "advise"}, "the authority over r1 is advise"),
    "lock": ("HoldArm", {"reason": "gripper change"}, "r1 is held by ann (not proven) since"),
}
LIFTED = {
    "observe": ("SetAuthority", {"authority": "control"}),
    "advise": ("SetAuthority", {"authority": "control"}),
    "lock": ("ReleaseArm", {}),
}
SPEED, SPEEDS = "SetJointSpeedSoftLimits", {"control_mode": "ANGULAR_JOYSTICK", "joint_speed_soft_limits": [30.0] * 7}


@pytest.mark.parametrize("barrier", BARRIERS)
def test_what_has_begun_ends_and_what_has_not_waits_until_it_may(tmp_path: Path, barrier: str) -> None:
    async def scenario(plant: Plant) -> None:
        method, params, why = BARRIERS[barrier]
        await plant.fault("r1", "hang")
        begun = plant.send("r1", SET, VALUE)
        await plant.turn(1.0)
        waiting = plant.send("r1", SPEED, SPEEDS)
        reset = plant.send("r1", "ResetGravityVector")
        mode = plant.send("r1", "SetControlMode", {"control_mode": MODE}, ttl_ms=60_000)
        await plant.turn(1.0)
        assert (await plant.call("r1", method, params, user="ann"))["stage"] == "stored"
        stored = await plant.reply(waiting)
        assert (stored["ok"], stored["stage"], stored["final"]) == (True, "stored", False)
        assert [warning["name"] for warning in stored["warnings"]] == ["DEVICE_NOT_READY"]
        for request_id in (reset, mode):
            reply = await plant.reply(request_id)
            assert (reply["stage"], reply["error"]["kind"]) == ("refused", "held")
        found = pending(plant)
        assert [entry[0] for entry in found] == [ITEM, "joint_speed_soft_limits"]
        assert found[1][1] == "accepted"
        assert found[1][2].startswith(why)
        await plant.fault("r1", "none")
        assert (await plant.reply(begun))["stage"] == "applied"
        await plant.turn(5.0)
        assert len(pending(plant)) == 1
        config = await plant.document("state/r1/config", lambda one: any("why" in each for each in one["pending"]))
        assert config["pending"][-1]["why"].startswith(why)
        method, params = LIFTED[barrier]
        await plant.call("r1", method, params, user="ann")
        event = await plant.document("evt/r1/config/JOINT_SPEED_SOFT_LIMITS_CHANGED", bool)
        assert (event["request_id"], event["cause"]) == (f"u/c/{waiting}", "applied")
        assert pending(plant) == []

    play(tmp_path, scenario)


def test_what_waits_for_a_lock_goes_on_when_it_ends_by_itself(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "offline")
        waiting = plant.send("r1", SET, VALUE)
        await plant.turn(1.0)
        end = format_time(plant.clock.now_us() + 60_000_000)
        await plant.call("r1", "HoldArm", {"reason": "x", "until": end}, user="ann")
        await plant.fault("r1", "none")
        await plant.turn(30.0)
        assert plant.session().state.online
        (found,) = pending(plant)
        assert found[1] == "accepted"
        assert found[2].startswith("r1 is held by ann")
        own = await plant.call("r1", SPEED, SPEEDS, user="ann")
        assert own["stage"] == "applied"
        event = await plant.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", bool)
        assert event["request_id"] == f"u/c/{waiting}"
        assert plant.clock.now_us() >= parse_time(end)

    play(tmp_path, scenario)


@pytest.mark.parametrize("authority", ["observe", "advise"])
def test_what_a_start_finds_waits_for_the_authority(tmp_path: Path, authority: str) -> None:
    """A change that was accepted, and one whose command an earlier run may have sent."""

    async def whole() -> None:
        async with Plant(tmp_path / "first", ["r1"]) as plant:
            await plant.fault("r1", "hang")
            plant.send("r1", SET, VALUE)
            plant.send("r1", SPEED, SPEEDS)
            await plant.turn(1.0)
            await plant.committed()
            copy = plant.copy(tmp_path / "second")
        named = [{"id": "r1", "model": "gen3_7dof", "authority": authority}]
        async with Plant(copy, arm=named) as plant:
            await plant.turn(30.0)
            assert plant.session().cmd_seq <= 2
            assert [entry[2] for entry in pending(plant)] == [f"the authority over r1 is {authority}"] * 2
            assert plant.events() == []
        async with Plant(copy, arm=named) as plant:
            await plant.turn(30.0)
            assert len(pending(plant)) == 2
            plant.service._authorities.follow_settings(plant.session(), Authority.CONTROL)
            await plant.turn(5.0)
            assert pending(plant) == []
            assert sorted(event["event"] for event in plant.events()) == [
                "AUTHORITY_CHANGED",
                "JOINT_SPEED_SOFT_LIMITS_CHANGED",
                "TWIST_LINEAR_SOFT_LIMIT_CHANGED",
            ]

    run(whole)


def test_what_drifted_is_not_brought_back_below_control(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, VALUE)
        await plant.call("r1", "SetAuthority", {"authority": "observe"})
        await plant.fault("r1", "foreign_change", item=ITEM, slot=MODE, value=0.4)
        await plant.turn(600.0)
        assert plant.session().cmd_seq == 1
        assert pending(plant) == []
        await plant.call("r1", "SetAuthority", {"authority": "control"})
        await plant.turn(120.0)
        assert plant.session().cmd_seq == 2

    play(tmp_path, scenario, arm=[{"id": "r1", "model": "gen3_7dof", "drift": "reapply"}])


@pytest.mark.parametrize("authority", ["observe", "advise"])
def test_what_would_reach_the_arm_is_checked_only_and_what_would_not_works(tmp_path: Path, authority: str) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "offline")
        for value in (0.25, 0.26):
            plant.send("r1", SET, {**VALUE, ITEM: value})
        plant.send("r1", SPEED, SPEEDS)
        await plant.turn(1.0)
        await plant.call("r1", "SetAuthority", {"authority": authority})
        assert [entry[2] for entry in pending(plant)] == [f"the authority over r1 is {authority}"] * 2
        await plant.fault("r1", "none")
        await plant.turn(30.0)
        confirmed = await plant.call("r1", "ConfirmPending", {"all": True})
        restored = await plant.call("r1", "RestoreFactory")
        for reply in (confirmed, restored):
            assert (reply["ok"], reply["stage"], reply["rev"]) == (True, "checked", plant.session().state.rev)
            assert [warning["name"] for warning in reply["warnings"]] == [
                "OBSERVED" if "ob" in authority else "ADVISED"
            ]
        assert len(pending(plant)) == 2
        assert (await plant.call("r1", "DiscardPending", {"all": True}))["stage"] == "stored"
        assert pending(plant) == []
        assert plant.session().cmd_seq == 0

    play(tmp_path, scenario, arm=[{"id": "r1", "model": "gen3_7dof"}])


def test_nobody_but_the_holder_decides_what_waits(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "offline")
        rev = (await plant.call("r1", SET, VALUE))["rev"]
        await plant.call("r1", "HoldArm", {"reason": "x"}, user="ann")
        decisions: tuple[tuple[str, dict[str, Any]], ...] = (
            ("ConfirmPending", {"all": True}),
            ("DiscardPending", {"rev": rev}),
            ("ConfirmArm", {}),
            ("RestoreFactory", {}),
        )
        for method, params in decisions:
            assert (await plant.call("r1", method, params))["error"]["kind"] == "held"
        assert (await plant.call("r1", "DiscardPending", {"rev": rev}, user="ann"))["ok"]
        await plant.call("r1", "ReleaseArm", user="ann")
        assert pending(plant) == []

    play(tmp_path, scenario)
