"""Every method over both versions of MQTT and in all three codecs."""

from itertools import count
from typing import Any

import pytest

from tests.journey.conftest import ClientMaker
from tests.journey.forms import MESSAGES

_numbers = count(1)
MODE = {"control_mode": "CARTESIAN_JOYSTICK"}
ANGULAR = {"control_mode": "ANGULAR_JOYSTICK"}

SETS: dict[str, tuple[dict[str, Any], str, str]] = {
    "GravityVector": ({"x": 0.0, "y": 9.81, "z": 0.0}, "GRAVITY_VECTOR_CHANGED", "GetGravityVector"),
    "PayloadInformation": (
        {"payload_mass": 1.5, "payload_mass_center": {"x": 0.0, "y": 0.0, "z": 0.05}},
        "PAYLOAD_CONFIGURATION_CHANGED",
        "GetPayloadInformation",
    ),
    "ToolConfiguration": (
        {
            "tool_transform": {"x": 0.0, "y": 0.0, "z": 0.25, "theta_x": 0.0, "theta_y": 0.0, "theta_z": 0.0},
            "tool_mass": 0.75,
            "tool_mass_center": {"x": 0.0, "y": 0.0, "z": 0.125},
        },
        "TOOL_CONFIGURATION_CHANGED",
        "GetToolConfiguration",
    ),
    "CartesianReferenceFrame": (
        {"reference_frame": "CARTESIAN_REFERENCE_FRAME_BASE"},
        "CARTESIAN_REFERENCE_CHANGED",
        "GetCartesianReferenceFrame",
    ),
    "JointSpeedSoftLimits": (
        ANGULAR | {"joint_speed_soft_limits": [20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0]},
        "JOINT_SPEED_SOFT_LIMITS_CHANGED",
        "",
    ),
    "JointAccelerationSoftLimits": (
        ANGULAR | {"joint_acceleration_soft_limits": [40.0, 41.0, 42.0, 43.0, 44.0, 45.0, 46.0]},
        "JOINT_ACCELERATION_SOFT_LIMITS_CHANGED",
        "",
    ),
    "TwistLinearSoftLimit": (MODE | {"twist_linear_soft_limit": 0.25}, "TWIST_LINEAR_SOFT_LIMIT_CHANGED", ""),
    "TwistAngularSoftLimit": (MODE | {"twist_angular_soft_limit": 30.0}, "TWIST_ANGULAR_SOFT_LIMIT_CHANGED", ""),
    "DesiredLinearTwist": ({"linear": 0.125}, "DESIRED_TWIST_LINEAR_SPEED_CHANGED", ""),
    "DesiredAngularTwist": ({"angular": 15.0}, "DESIRED_TWIST_ANGULAR_SPEED_CHANGED", ""),
    "DesiredJointSpeeds": ({"joint_speed": [10.0] * 7}, "DESIRED_JOINT_SPEED_CHANGED", ""),
    "ControlMode": (ANGULAR, "", "GetControlMode"),
}
"""Of each Set: params, the event's name, the Get that shows it whole."""

RESETS: dict[str, dict[str, Any]] = {
    "GravityVector": {},
    "PayloadInformation": {},
    "ToolConfiguration": {},
    "JointSpeedSoftLimits": ANGULAR,
    "JointAccelerationSoftLimits": ANGULAR,
    "TwistLinearSoftLimit": MODE,
    "TwistAngularSoftLimit": MODE,
}

GETS: dict[str, dict[str, Any]] = {
    "GetGravityVector": {},
    "GetPayloadInformation": {},
    "GetToolConfiguration": {},
    "GetCartesianReferenceFrame": {},
    "GetControlMode": {},
    "GetKinematicHardLimits": {},
    "GetKinematicSoftLimits": MODE,
    "GetAllKinematicSoftLimits": {},
    "GetDesiredSpeeds": {},
}

TOPICS = ("ControlConfigurationTopic", "ControlModeTopic")

every_way = pytest.mark.parametrize(
    ("version", "codec"), [(version, codec) for version in (5, 4) for codec in ("json", "msgpack", "protobuf")]
)


def close(found: Any, expected: Any) -> bool:
    """Whether what an arm reads back is what was sent, within the resolution of the arm."""
    if isinstance(expected, dict):
        return all(close(found[key], value) for key, value in expected.items())
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(close, found, expected))
    return bool(found == pytest.approx(expected, abs=0.006) if isinstance(expected, float) else found == expected)


def test_every_method_is_among_these() -> None:
    tried = {f"Set{noun}" for noun in SETS} | {f"Reset{noun}" for noun in RESETS} | {*GETS, *TOPICS, "Unsubscribe"}
    assert tried == set(MESSAGES)
    assert len(MESSAGES) == 31


@every_way
async def test_each_set_is_applied_read_back_and_announced(
    connect: ClientMaker, arm: str, version: int, codec: str
) -> None:
    client = await connect(version=version, codec=codec)
    monitor = await connect(f"evt/{arm}/#", user="monitor")
    for noun, (params, event, get) in SETS.items():
        reply = await client.call(arm, f"Set{noun}", params)
        assert (reply["ok"], reply["stage"], reply["final"], reply["result"]) == (True, "applied", True, {}), reply
        topic = f"evt/{arm}/config/{event}" if event else f"evt/{arm}/mode"
        announced = (await monitor.take_topic(topic)).document
        assert (announced["rev"], announced["seq"], announced["cause"]) == (reply["rev"], reply["seq"], "applied")
        assert announced["request_id"] == f"{client.user}/{client.conn}/{reply['id']}"
        if get:
            read = await client.call(arm, get)
            assert (read["stage"], read["rev"]) == ("read", reply["rev"])
            assert close(read["result"], params)


@every_way
async def test_each_reset_returns_what_the_arm_took(connect: ClientMaker, arm: str, version: int, codec: str) -> None:
    client = await connect(version=version, codec=codec)
    for noun, params in RESETS.items():
        before = await client.call(arm, "GetAllKinematicSoftLimits")
        value, event, _ = SETS[noun]
        assert (await client.call(arm, f"Set{noun}", value))["stage"] == "applied"
        reply = await client.call(arm, f"Reset{noun}", params)
        assert (reply["ok"], reply["stage"], reply["final"]) == (True, "applied", True), reply
        assert set(reply["result"]) <= {field.name for field in MESSAGES[f"Set{noun}"][0].DESCRIPTOR.fields}
        assert not close({**value, **reply["result"]}, value)
        assert (await client.call(arm, "GetAllKinematicSoftLimits"))["result"] == before["result"]
        [last] = (await client.call(arm, "GetEvents", {"after_seq": reply["seq"] - 1}))["result"]["events"]
        assert (last["event"], last["cause"]) == (event, "reset")


@every_way
async def test_each_get_is_read(connect: ClientMaker, arm: str, version: int, codec: str) -> None:
    client = await connect(version=version, codec=codec)
    for method, params in GETS.items():
        reply = await client.call(arm, method, params)
        assert (reply["ok"], reply["stage"], reply["final"], reply["rev"], reply["seq"]) == (True, "read", True, 1, 0)
        assert reply["warnings"] == []
        assert "reported_at" in reply
        assert ("mode_seen_at" in reply) == (method == "GetControlMode")
        message = MESSAGES[method][1].DESCRIPTOR
        scalars = {field.name for field in message.fields if field.message_type is None or field.is_repeated}
        assert scalars <= set(reply["result"])
    modes = (await client.call(arm, "GetAllKinematicSoftLimits"))["result"]["kinematic_limits_list"]
    assert [limits["control_mode"] for limits in modes] == [
        "ANGULAR_JOYSTICK",
        "CARTESIAN_JOYSTICK",
        "ANGULAR_TRAJECTORY",
        "CARTESIAN_TRAJECTORY",
        "CARTESIAN_WAYPOINT_TRAJECTORY",
    ]


@every_way
async def test_handles_are_opened_and_closed(connect: ClientMaker, arm: str, version: int, codec: str) -> None:
    client = await connect(version=version, codec=codec)
    for method in TOPICS:
        reply = await client.call(arm, method, {})
        assert (reply["ok"], reply["stage"], reply["final"]) == (True, "stored", True)
        handle = reply["result"]["identifier"]
        assert handle > 0
        closed = await client.call(arm, "Unsubscribe", {"identifier": handle})
        assert (closed["ok"], closed["stage"], closed["final"], closed["result"]) == (True, "stored", True, {})


@every_way
async def test_history_events_and_who_am_i(connect: ClientMaker, arm: str, version: int, codec: str) -> None:
    client = await connect(version=version, codec=codec)
    change = await client.change(arm, "SetTwistLinearSoftLimit", SETS["TwistLinearSoftLimit"][0])
    history = await client.change(arm, "GetHistory")
    [entry] = history["result"]["changes"]
    assert (entry["rev"], entry["seq"], entry["after"]) == (change["rev"], change["seq"], 0.25)
    assert history["result"]["more"] is False
    events = await client.change(arm, "GetEvents", {"after_seq": 0})
    [event] = events["result"]["events"]
    assert (event["seq"], event["rev"]) == (change["seq"], change["rev"])
    who = await client.change("any-arm", "WhoAmI")
    assert who["stage"] == "read"
    result = who["result"]
    assert (result["user"], result["conn"], result["codec"]) == (client.user, client.conn, codec)
    assert result["identity"] == "none"
    assert result["size"] > 0
