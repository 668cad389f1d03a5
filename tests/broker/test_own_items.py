"""Items that the service itself holds: their way from the request to the store, past the arm."""

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from broker.service import Service
from broker.store.late import put_back
from broker.store.schema import connect
from broker.store.tables import ITEM
from handlers.stack.arm_limits import limits_of
from handlers.state.limit_sources import LimitSources
from handlers.state.provenance import Stamp
from schema.items import OWN_SLOTS
from tests.journey.limit_files import urdf
from tests.stored import ends, requests
from tests.virtual_plant import Plant, play, run

SET_TWIST = "SetTwistLinearSoftLimit"
TWIST = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}
GAINS = {"soft_upper_limit": 2.0, "soft_lower_limit": -2.0, "k_position": 20.0, "k_velocity": 5.0}


def speed(limit: float) -> dict[str, Any]:
    """Params of SetJointLimit."""
    return {"joint": "joint_1", "update": {"max_velocity": limit}}


def effective_speed(plant: Plant) -> float:
    """The effective speed of the first joint while the mode is not known."""
    return float(limits_of(plant.session().state).effective(None).velocity[0])


def test_nothing_is_written_to_the_arm(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        session = plant.session()
        for method, params in (("SetJointLimit", speed(0.5)), ("SetJointSafety", {"joints": {"joint_2": GAINS}})):
            reply = await plant.call("r1", method, params)
            assert (reply["stage"], reply["final"], reply["warnings"]) == ("applied", True, [])
        assert (session.cmd_seq, session.state.unread) == (0, {})

    play(tmp_path, scenario)


@pytest.mark.parametrize("fault", ["hang", "offline"])
def test_what_the_service_holds_is_in_force_at_once_whatever_the_arm_does(tmp_path: Path, fault: str) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", fault)
        plant.send("r1", SET_TWIST, TWIST)
        for limit in (0.2, 0.3):
            reply = await plant.call("r1", "SetJointLimit", speed(limit))
            assert (reply["stage"], reply["final"]) == ("applied", True)
            assert effective_speed(plant) == limit
        slow = {"control_mode": "ANGULAR_JOYSTICK", "joint_speed_soft_limits": [20.0] * 7}
        if fault == "hang":
            refused = await plant.call("r1", "SetJointSpeedSoftLimits", slow)
            assert refused["error"]["violations"][0]["source"] == "application"
        changes = [event["change"] for event in plant.events() if event["event"] == "JOINT_LIMITS_CHANGED"]
        assert [change["after"]["max_velocity"]["values"][0] for change in changes] == [0.2, 0.3]

    play(tmp_path, scenario)


def test_one_commit_holds_all_of_it_and_a_crash_loses_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Plant(tmp_path / "first", silent=True) as plant:
            plant.send("r1", "SetJointLimit", speed(0.3), id="a")
            plant.send("r1", "SetJointLimit", speed(0.2), id="b", wait="stored")
            assert (await plant.reply("b"))["stage"] == "stored"
            await plant.committed()
            data = plant.copy(tmp_path / "copy")
        rows = data / "store.sqlite3"
        assert ends(rows) == [("u/c/a", "settled", "applied"), ("u/c/b", "settled", "applied")]
        assert [(one.id, one.settled, one.reply_open) for one in requests(rows)] == [
            ("a", True, True),
            ("b", True, True),
        ]
        async with Plant(data) as plant:
            assert [(await plant.reply(request))["stage"] for request in "ab"] == ["applied", "applied"]
            assert [event["seq"] for event in plant.events()] == [1, 2]
            assert effective_speed(plant) == 0.2
            again = await plant.call("r1", "SetJointLimit", speed(0.2), id="b")
            assert (again["duplicate"], again["in_force"], again["stage"]) == (True, True, "applied")
            setter = plant.session().state.reported_by["joint_limits", 0]
            assert (setter.of("max_velocity[0]").by, setter.of("max_velocity[1]").by) == ("u/c", "@settings")

    run(scenario)


def test_an_arm_of_an_older_store_gets_its_first_values_at_contact(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Plant(tmp_path / "first") as plant:
            await plant.call("r1", SET_TWIST, TWIST)
            await plant.turn(1.0)
            data = plant.copy(tmp_path / "copy")
        store = connect(data / "store.sqlite3")
        put_back(store)
        store.execute("DELETE FROM item WHERE key LIKE 'joint_limits' OR key IN ('joint_safety', 'joint_parameters')")
        store.execute("UPDATE item SET set_by = x''")
        store.execute(f"UPDATE item SET hash = digest({', '.join(ITEM.columns)})")  # noqa: S608 - constants
        store.close()
        async with Plant(data) as plant:
            state = plant.session().state
            assert set(OWN_SLOTS) <= state.reported.keys()
            assert state.reported_by["joint_limits", 0].last.by == "@settings"
            assert state.reported_by["twist_linear_soft_limit", 2].last == Stamp()
            assert (state.rev, len(plant.events())) == (2, 0)
            assert (await plant.call("r1", "GetJointSafety"))["result"] == {"joints": {}}

    run(scenario)


def test_an_arm_whose_files_do_not_fit_what_it_tells_is_held(tmp_path: Path) -> None:
    def misfit(service: Service) -> None:
        service.sessions["r1"].state.sources = LimitSources(site_caps={"velocity": [1.0, 2.0]})

    async def scenario(plant: Plant) -> None:
        presence = await plant.document("state/r1/presence", lambda document: document["state"] == "held")
        assert presence["why"].startswith("its limits cannot be used: site_caps, velocity: needs one number a joint")
        assert (await plant.call("r1", "SetJointLimit", speed(0.5)))["error"]["kind"] == "arm_not_read"

    play(tmp_path, scenario, prepare=misfit)


def test_what_does_not_fit_is_logged(tmp_path: Path) -> None:
    ros, robot = tmp_path / "limits.yaml", urdf(tmp_path / "gen3.urdf", velocity=1.2)
    ros.write_text("joint_limits: {joint_1: {has_jerk_limits: true, max_jerk: 9.0}, finger: {has_jerk_limits: false}}")

    async def scenario(plant: Plant) -> None:
        after = len(plant.link.published)
        await plant.fault("r1", "offline", for_ms=1000)
        await plant.document("state/r1/presence", lambda document: document["state"] == "offline", after)
        await plant.document("state/r1/presence", lambda document: document["state"] == "online", after)

    arm = {"id": "r1", "model": "gen3_7dof", "ros_yaml": str(ros), "urdf": robot}
    with capture_logs() as logs:
        play(tmp_path / "data", scenario, arm=[arm])
    logged = "\n".join(str(entry.get("what")) for entry in logs)
    assert logged.count("joint finger is no joint of the arm") == 1
    assert logged.count("velocity of joint joint_1: 1.2 rad/s of urdf:gen3.urdf counts, hard:device says 1.39626") == 1


def test_a_repeat_of_what_was_only_stored_has_no_result_either(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        for _ in range(2):
            reply = await plant.call("r1", "ResetGravityVector", {}, id="a", wait="stored")
            assert (reply["stage"], reply["result"]) == ("stored", {})
        assert reply["duplicate"]

    play(tmp_path, scenario)
