"""Application limits, JointSafety and ROS parameters over MQTT, from the methods to a restart."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.journey.conftest import ClientMaker
from tests.journey.limit_files import JOINTS, ros_yaml, urdf
from tests.journey.running import RunningService

HARD_SPEED = [math.radians(speed) for speed in (80.0, 80.0, 80.0, 80.0, 70.0, 70.0, 70.0)]
GAINS = {"soft_upper_limit": 2.0, "soft_lower_limit": -2.0, "k_position": 20.0, "k_velocity": 5.0}
ZEROS = dict.fromkeys(GAINS, 0.0)
JOINT_1 = {"joint_limits.joint_1.has_velocity_limits": True, "joint_limits.joint_1.max_velocity": 0.5}

every_codec = pytest.mark.parametrize("codec", ["json", "msgpack", "protobuf"])


def speed(*values: float) -> dict[str, Any]:
    """The params of SetJointLimits that set the speeds."""
    return {"max_velocity": {"values": list(values)}}


@every_codec
async def test_application_limits_are_set_list_by_list_and_joint_by_joint(
    connect: ClientMaker, arm: str, codec: str
) -> None:
    client = await connect(codec=codec)
    monitor = await connect(f"evt/{arm}/#", user="monitor")
    first = (await client.change(arm, "GetJointLimits"))["result"]
    assert first["max_velocity"]["values"] == HARD_SPEED
    assert "min_position" not in first
    reply = await client.change(arm, "SetJointLimits", speed(*[0.5] * 7))
    assert (reply["stage"], reply["final"], reply["result"]["max_velocity"]["values"]) == ("applied", True, [0.5] * 7)
    assert reply["result"]["max_acceleration"] == first["max_acceleration"]
    event = (await monitor.take_topic(f"evt/{arm}/config/JOINT_LIMITS_CHANGED")).document
    assert (event["cause"], event["rev"], event["notification"]) == ("applied", reply["rev"], None)
    change = event["change"]
    assert change["item"] == "joint_limits"
    assert change["before"]["max_velocity"]["values"] == HARD_SPEED
    assert change["after"]["max_velocity"]["values"] == [0.5] * 7
    one = {"joint": "joint_3", "update": {"max_velocity": 0.25, "min_position": -1.0, "max_position": 1.0}}
    limits = (await client.change(arm, "SetJointLimit", one))["result"]
    assert limits["max_velocity"]["values"] == [0.5, 0.5, 0.25, 0.5, 0.5, 0.5, 0.5]
    unlimited = "Infinity"
    assert limits["max_position"]["values"] == [unlimited, unlimited, 1.0, *[unlimited] * 4]
    assert limits["min_position"]["values"][:3] == ["-Infinity", "-Infinity", -1.0]
    assert (await client.change(arm, "GetJointLimits"))["result"] == limits
    reset = await client.change(arm, "ResetJointLimits")
    assert (reset["stage"], reset["result"]) == ("applied", first)


@every_codec
async def test_joint_safety_is_set_cleared_and_reset(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    monitor = await connect(f"evt/{arm}/#", user="monitor")
    assert (await client.change(arm, "GetJointSafety"))["result"] == {"joints": {}}
    reply = await client.change(arm, "SetJointSafety", {"joints": {"joint_2": GAINS}})
    assert (reply["stage"], reply["result"], reply["warnings"]) == ("applied", {"joints": {"joint_2": GAINS}}, [])
    event = (await monitor.take_topic(f"evt/{arm}/config/JOINT_SAFETY_CHANGED")).document
    assert event["change"] == {
        "item": "joint_safety",
        "before": {"joints": {}},
        "after": {"joints": {"joint_2": GAINS}},
    }
    cleared = await client.change(arm, "ClearJointSafety", {"joints": ["joint_2"]})
    assert cleared["result"] == {"joints": {"joint_2": ZEROS}}
    assert [warning["name"] for warning in cleared["warnings"]] == ["ZERO_GAINS"]
    reset = await client.change(arm, "ResetJointSafety", {})
    assert (reset["stage"], reset["result"]) == ("applied", {"joints": {}})


@every_codec
async def test_joint_parameters_are_set_together_and_described(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    monitor = await connect(f"evt/{arm}/#", user="monitor")
    assert (await client.change(arm, "GetJointParameters"))["result"] == {"parameters": {}}
    reply = await client.change(arm, "SetJointParameters", {"parameters": JOINT_1})
    assert (reply["stage"], reply["result"]) == ("applied", {"successful": True, "reason": ""})
    event = (await monitor.take_topic(f"evt/{arm}/config/JOINT_PARAMETERS_CHANGED")).document
    assert event["change"]["after"] == {"parameters": JOINT_1}
    flag, number = JOINT_1
    assert (await client.change(arm, "GetJointParameters", {"names": [number]}))["result"] == {
        "parameters": {number: 0.5}
    }
    described = (await client.change(arm, "DescribeJointParameters", {"names": [flag, number]}))["result"]["parameters"]
    assert described[flag] == {"type": "bool", "given": True, "read_only": False}
    assert described[number]["unit"] == "rad/s"
    assert described[number]["to_value"] == pytest.approx(HARD_SPEED[0])
    refused = await client.call(arm, "SetJointParameters", {"parameters": {number: 0.4, flag: 1.0}})
    assert refused["error"]["kind"] == "malformed"
    assert (await client.change(arm, "GetJointParameters"))["result"] == {"parameters": JOINT_1}


async def test_soft_limits_are_checked_against_the_tightest_outer_layer(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.change(arm, "SetJointLimits", speed(*[0.5] * 7))
    params = {"control_mode": "ANGULAR_JOYSTICK", "joint_speed_soft_limits": [30.0] * 7}
    refused = await client.call(arm, "SetJointSpeedSoftLimits", params)
    assert refused["error"]["kind"] == "out_of_limits"
    violations = refused["error"]["violations"]
    assert [violation["source"] for violation in violations] == ["application"] * 7
    assert violations[0]["bound"] == pytest.approx(math.degrees(0.5))
    suggest = violations[0]["suggest"]
    assert (await client.change(arm, "SetJointSpeedSoftLimits", params | {"joint_speed_soft_limits": suggest}))["ok"]


async def test_repeats_conditions_and_dry_runs_are_those_of_every_item(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    request = speed(*[0.5] * 7)
    dry = await client.change(arm, "SetJointLimits", request, dry_run=True)
    assert (dry["stage"], dry["rev"]) == ("checked", 1)
    done = await client.change(arm, "SetJointLimits", request, id="one", if_rev=1)
    again = await client.change(arm, "SetJointLimits", request, id="one", if_rev=1)
    assert (again["duplicate"], again["in_force"], again["rev"]) == (True, True, done["rev"])
    late = await client.call(arm, "SetJointLimits", speed(*[0.4] * 7), if_rev=1)
    assert late["error"]["kind"] == "revision_conflict"
    same = await client.change(arm, "SetJointLimits", request)
    assert (same["rev"], same["stage"]) == (done["rev"], "applied")
    [change] = (await client.change(arm, "GetHistory", {"item": "joint_limits"}))["result"]["changes"]
    assert (change["method"], change["outcome"], change["after"]["max_velocity"]["values"][0]) == (
        "SetJointLimits",
        "applied",
        0.5,
    )


async def test_an_arm_that_is_away_keeps_its_application_limits(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"state/{arm}/presence")
    await client.change(arm, "SimFault", {"fault": "offline", "for_ms": 60_000})
    await client.document(f"state/{arm}/presence", lambda document: document["state"] == "offline")
    reply = await client.change(arm, "SetJointLimits", speed(*[0.5] * 7))
    assert (reply["stage"], reply["final"]) == ("applied", True)
    await client.change(arm, "SimFault", {"fault": "none"})


async def test_what_was_set_survives_a_restart_with_who_set_it(
    start_service: Callable[..., RunningService], connect: ClientMaker
) -> None:
    service = start_service("r1")
    client = await connect("state/r1/config", to=service)
    await client.change("r1", "SetJointLimit", {"joint": "joint_1", "update": {"max_velocity": 0.5}}, id="a")
    await client.change("r1", "SetJointSafety", {"joints": {"joint_2": GAINS}})
    await client.change("r1", "SetJointParameters", {"parameters": JOINT_1})
    explain = {"quantity": "velocity", "joint": "joint_1"}
    before = (await client.change("r1", "Explain", explain))["result"]
    service.restart()
    assert (await client.change("r1", "GetJointSafety"))["result"] == {"joints": {"joint_2": GAINS}}
    assert (await client.change("r1", "GetJointParameters"))["result"] == {"parameters": JOINT_1}
    limits = (await client.change("r1", "GetJointLimits"))["result"]
    assert limits["max_velocity"]["values"][:2] == [0.5, HARD_SPEED[1]]
    assert (await client.change("r1", "Explain", explain))["result"] == before
    again = await client.change("r1", "SetJointLimit", {"joint": "joint_1", "update": {"max_velocity": 0.5}}, id="a")
    assert again["duplicate"]
    assert again["result"] == limits
    parameters = {"parameters": JOINT_1}
    document = await client.document("state/r1/config", lambda one: one["items"]["joint_parameters"] == parameters)
    assert document["items"]["joint_limits"] == limits
    assert document["items"]["joint_safety"] == {"joints": {"joint_2": GAINS}}


SAFETY = '<safety_controller soft_lower_limit="-2" soft_upper_limit="2" k_position="20" k_velocity="5"/>'


async def test_files_and_caps_of_the_settings_are_layers(
    start_service: Callable[..., RunningService], connect: ClientMaker, tmp_path: Path
) -> None:
    settings = {
        "urdf": urdf(tmp_path / "gen3.urdf", lower=-2.5, upper=2.5, velocity=1.2, safety=SAFETY),
        "ros_yaml": ros_yaml(tmp_path / "limits.yaml", has_velocity_limits=True, max_velocity=0.75),
        "site_caps": {"twist_linear": 0.25, "velocity": 1.0},
    }
    service = start_service("r1", arm=[{"id": "r1", "adapter": "simulated", "model": "gen3_7dof", **settings}])
    client = await connect(to=service)
    assert (await client.change("r1", "GetJointSafety"))["result"] == {"joints": dict.fromkeys(JOINTS, GAINS)}
    assert (await client.change("r1", "GetJointParameters"))["result"]["parameters"] == {
        "joint_limits.joint_1.has_velocity_limits": True,
        "joint_limits.joint_1.max_velocity": 0.75,
    }
    limits = (await client.change("r1", "GetJointLimits"))["result"]
    assert limits["max_velocity"]["values"] == [0.75, *[1.2] * 6]
    assert limits["max_effort"]["values"] == [9.0] * 7
    params = {"control_mode": "ANGULAR_JOYSTICK", "joint_speed_soft_limits": [69.0] * 7}
    violations = (await client.call("r1", "SetJointSpeedSoftLimits", params))["error"]["violations"]
    assert [violation["source"] for violation in violations] == ["ros:limits.yaml", *["policy:site"] * 6]
    twist = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.3}
    error = (await client.call("r1", "SetTwistLinearSoftLimit", twist))["error"]
    assert "cap of the site" in error["message"]
    assert (error["violations"][0]["source"], error["violations"][0]["bound"]) == ("policy:site", 0.25)


@pytest.mark.parametrize(
    ("method", "params", "kind", "path"),
    [
        ("SetJointLimits", speed(0.5), "wrong_joint_count", ""),
        ("SetJointLimits", speed(0.5, 0.5, 0.5, 9.0, 0.5, 0.5, 0.5), "out_of_limits", "max_velocity.values[3]"),
        ("SetJointLimit", {"joint": "joint_9", "update": {}}, "unknown_enum", "joint"),
        (
            "SetJointLimit",
            {"joint": "joint_1", "update": {"max_velocity": -1.0}},
            "out_of_limits",
            "update.max_velocity",
        ),
        ("SetJointSafety", {"joints": {"joint_2": GAINS, "joint_9": GAINS}}, "unknown_enum", "joints.joint_9"),
        ("SetJointSafety", {"joints": {"joint_2": {"k_velocity": 1.0}}}, "malformed", ""),
        (
            "SetJointSafety",
            {"joints": {"joint_2": GAINS | {"soft_lower_limit": 3.0}}},
            "out_of_limits",
            "joints.joint_2.soft_lower_limit",
        ),
        (
            "SetJointParameters",
            {"parameters": JOINT_1 | {"joint_limits.joint_1.max_velocity": 9.0}},
            "out_of_limits",
            "parameters.joint_limits.joint_1.max_velocity",
        ),
    ],
)
async def test_one_bad_joint_refuses_the_whole_request(
    connect: ClientMaker, arm: str, method: str, params: dict[str, Any], kind: str, path: str
) -> None:
    client = await connect()
    reply = await client.call(arm, method, params)
    assert (reply["stage"], reply["error"]["kind"], reply["rev"]) == ("refused", kind, 1), reply
    assert "Nothing was changed" in reply["error"]["message"]
    if path:
        violation = reply["error"]["violations"][0]
        assert violation["path"] == path
        assert violation["joint_name"]
        assert violation["source"]
