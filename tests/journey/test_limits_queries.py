"""Explain, GetSkeleton, CheckTrajectory and CheckCommand over MQTT, and the documents about limits."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.effective import number_in
from tests.journey.client import Client
from tests.journey.conftest import ClientMaker
from tests.journey.limit_files import JOINTS, ros_yaml, skeleton, urdf
from tests.journey.running import RunningService

Starter = Callable[..., RunningService]

every_codec = pytest.mark.parametrize("codec", ["json", "msgpack", "protobuf"])
MOST = math.radians(50.0)
"""Speed limit of a fresh arm in the joystick mode, rad/s."""
JOYSTICK = "ANGULAR_JOYSTICK"


def line(points: int, speed: float) -> dict[str, Any]:
    """A trajectory of 100 points/s on which all joints move at a steady speed and turn back before 1 rad."""
    turn = max(int(1.0 / speed / 0.01), 1)
    at = [turn - abs(point % (2 * turn) - turn) for point in range(points)]
    return {
        "times": [round(point * 0.01, 2) for point in range(points)],
        "positions": [[round(step * 0.01 * speed, 9)] * 7 for step in at],
        "mode": JOYSTICK,
        "check_mode": "CHECK_NONE",
    }


async def result(client: Client, arm: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a query, which changes nothing."""
    reply = await client.change(arm, method, params)
    assert (reply["stage"], reply["final"]) == ("read", True)
    found: dict[str, Any] = reply["result"]
    return found


@every_codec
async def test_a_number_is_explained(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    slower = {"control_mode": JOYSTICK, "joint_speed_soft_limits": [40.0] + [50.0] * 6}
    await client.change(arm, "SetJointSpeedSoftLimits", slower)
    params = {"quantity": "velocity", "joint": "joint_1", "mode": JOYSTICK}
    found = await result(client, arm, "Explain", params)
    (number,) = found["numbers"]
    assert number["value"] == pytest.approx(math.radians(40.0), abs=1e-4)
    assert (number["unit"], number["layer"], number["source"]) == ("rad/s", "soft", "soft:ANGULAR_JOYSTICK")
    assert number["by"] == f"alice/{client.conn}"
    assert number["since"].startswith("20")
    assert {(said["layer"], said["by"]) for said in number["stack"]} == {
        ("hard", "@arm"),
        ("application", "@settings"),
        ("soft", f"alice/{client.conn}"),
    }


async def test_what_is_explained_is_what_the_document_says(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"state/{arm}/effective")
    document = await client.document(f"state/{arm}/effective", lambda one: bool(one["modes"]))
    for mode in ("ANGULAR_JOYSTICK", "CARTESIAN_TRAJECTORY", "IDLE", "UNSPECIFIED_CONTROL_MODE"):
        numbers = (await result(client, arm, "Explain", {"mode": mode}))["numbers"]
        named = "unknown_mode" if mode.startswith("UNSPECIFIED") else mode
        for number in numbers:
            found = number_in(document, number["quantity"], number.get("joint"), named)
            if number["value"] is None:
                assert found is None
            else:
                assert found == {key: number[key] for key in ("value", "unit", "layer", "source", "by", "since")}


async def test_the_effective_document_follows_a_change_and_a_restart(
    connect: ClientMaker, start_service: Starter
) -> None:
    own = start_service("r1")
    client = await connect("state/r1/effective", to=own)
    reply = await client.change("r1", "SetJointLimit", {"joint": "joint_2", "update": {"max_velocity": 0.3}})

    changed = await client.document("state/r1/effective", lambda one: bool(one["seq"] == reply["seq"]))
    number = number_in(changed, "velocity", "joint_2", JOYSTICK)
    assert number is not None
    assert (number["value"], changed["rev"]) == (0.3, reply["rev"])
    assert number["by"] == f"alice/{client.conn}"
    own.restart()
    assert (await client.change("r1", "SetJointLimit", {"joint": "joint_1", "update": {"max_velocity": 0.3}}))["ok"]
    again = await client.document("state/r1/effective", lambda one: one["epoch"] > changed["epoch"])
    assert number_in(again, "velocity", "joint_2", JOYSTICK) == number


@every_codec
async def test_a_trajectory_is_checked_in_every_codec(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    good = await result(client, arm, "CheckTrajectory", line(100, 0.8))
    assert (good["within"], good["count"], good["points"]) == (True, 0, 100)
    bad = await result(client, arm, "CheckTrajectory", line(100, 1.0) | {"limit": 3})
    assert (bad["within"], bad["count"], bad["more"], len(bad["violations"])) == (False, 99 * 7, True, 3)
    first = bad["first"]
    assert (first["check"], first["point"], first["time"], first["joint"]) == ("mean_velocity", 1, 0.01, 1)
    assert (first["got"], first["bound"]) == (pytest.approx(1.0), pytest.approx(MOST, abs=1e-4))


@every_codec
async def test_ten_thousand_points_are_checked(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    params = line(10_000, 0.8)
    params["velocities"] = [[0.0] * 7] * 10_000
    params["velocities"][7_000] = [0.0] * 6 + [-0.9]
    assert len(json.dumps(params)) > 10 * 65_536
    found = await result(client, arm, "CheckTrajectory", params)
    assert (found["points"], found["count"]) == (10_000, 1)
    assert (found["first"]["time"], found["first"]["joint_name"], found["first"]["got"]) == (70.0, "joint_7", -0.9)


@every_codec
async def test_a_trajectory_of_more_than_4_mib_is_refused_with_the_bound(
    connect: ClientMaker, arm: str, codec: str
) -> None:
    client = await connect(codec=codec)
    points = 80_000
    params = {"times": list(range(points)), "positions": [[math.pi] * 7] * points}
    await client.send(arm, "CheckTrajectory", {"id": "huge", "params": params})
    reply = await client.reply("_")
    assert (reply["ok"], reply["error"]["kind"]) == (False, "too_large")
    assert "at most 4194304" in reply["error"]["message"]


@every_codec
async def test_a_large_request_of_another_method_is_refused(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    params = {"state": {}, "command": {"velocity": [0.5] * 40_000}, "dt": 0.01}
    await client.send(arm, "CheckCommand", {"id": "large", "params": params})
    reply = await client.reply("_")
    assert reply["error"]["kind"] == "too_large"
    assert "at most 65536" in reply["error"]["message"]


@every_codec
@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"positions": [[0.1] * 7] * 9_999 + [[0.1] * 6]}, "wrong_joint_count", "params.positions[9999]: 6 numbers"),
        ({"positions": [[0.1] * 7] * 9_999}, "implausible_value", "positions: needs one number a joint and point"),
        ({"positions": [[0.1] * 7] * 9_999 + [[True] * 7]}, "malformed", "params.positions: "),
        ({"speed": [[0.1] * 7] * 9_999}, "too_large", "at most 65536"),
        ({"speed": 1}, "unknown_field", "speed"),
    ],
)
async def test_a_large_trajectory_that_is_wrong_is_refused(
    connect: ClientMaker, arm: str, codec: str, change: dict[str, Any], kind: str, words: str
) -> None:
    client = await connect(codec=codec)
    await client.send(arm, "CheckTrajectory", {"id": "wrong", "params": line(10_000, 0.8) | change})
    reply = await client.reply("_" if kind == "too_large" else "wrong")
    assert reply["error"]["kind"] == kind
    assert words in reply["error"]["message"]


@every_codec
async def test_a_command_is_limited_and_nothing_is_relayed(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    params = {
        "limiter": "range",
        "state": {"position": [0.0] * 7, "velocity": [0.8] * 7},
        "command": {"velocity": [0.8] * 6 + [2.0]},
        "dt": 0.01,
        "mode": JOYSTICK,
        "check_mode": "CHECK_NONE",
    }
    reply = await client.change(arm, "CheckCommand", params)
    assert (reply["rev"], reply["seq"], reply["stage"]) == (1, 0, "read")
    found = reply["result"]
    assert found["limited"]
    assert found["command"]["velocity"] == [0.8] * 6 + [pytest.approx(MOST, abs=1e-4)]
    assert [(one["joint"], one["reason"]) for one in found["reasons"]] == [(7, "MAX_VELOCITY")]


async def test_reads_need_no_id_and_take_their_own_unit_only(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.send(arm, "CheckTrajectory", {"params": line(3, 0.5), "unit": "rad"})
    assert (await client.reply("_"))["result"]["within"]
    refused = await client.call(arm, "CheckTrajectory", line(3, 0.5), unit="deg")
    assert refused["error"]["kind"] == "unit_mismatch"


@every_codec
async def test_the_skeleton_is_that_of_the_file(
    connect: ClientMaker, start_service: Starter, tmp_path: Path, codec: str
) -> None:
    file = skeleton(tmp_path / "gen3.json")
    own = start_service(
        "r1", arm=[{"id": "r1", "model": "gen3_7dof", "skeleton": file}, {"id": "r2", "model": "gen3_7dof"}]
    )
    client = await connect(to=own, codec=codec)
    found = await result(client, "r1", "GetSkeleton", {})
    assert [joint["element"]["name"] for joint in found["joints"]] == JOINTS
    assert found["joints"][6]["parameters"]["system_limits"]["position"] == {"lower": -2.0, "upper": 2.0}
    assert len(found["links"]) == 8
    refused = await client.call("r2", "GetSkeleton", {})
    assert refused["error"]["kind"] == "unknown_method"


async def test_an_arm_caps_how_loose_a_check_may_be(connect: ClientMaker, start_service: Starter) -> None:
    loosest = "DYNAMIC_LIMITS_CHECK_MODE_CHECK_JOINT_ACCELERATION"
    own = start_service("r1", arm=[{"id": "r1", "model": "gen3_7dof", "checks": {"loosest": loosest}}])
    client = await connect("meta/factsheet/+", to=own)
    refused = await client.call("r1", "CheckTrajectory", line(3, 0.5))
    assert (refused["error"]["kind"], refused["final"]) == ("not_permitted", True)
    sheet = await client.document("meta/factsheet/r1", lambda one: bool(one["methods"]))
    assert sheet["loosest_check_mode"] == loosest


async def test_the_factsheet_tells_sources_fit_and_disagreements(
    connect: ClientMaker, start_service: Starter, tmp_path: Path
) -> None:
    sheet_of = {
        "id": "r1",
        "model": "gen3_7dof",
        "urdf": urdf(tmp_path / "gen3.urdf", velocity=1.0),
        "ros_yaml": ros_yaml(tmp_path / "limits.yaml", has_velocity_limits=True, max_velocity=1.2),
        "site_caps": {"twist_linear": 0.3},
    }
    own = start_service("r1", arm=[sheet_of])
    client = await connect("meta/factsheet/+", to=own)
    sheet = await client.document("meta/factsheet/r1", lambda one: "limit_sources" in one)
    assert [(one["layer"], one["source"]) for one in sheet["limit_sources"]] == [
        ("hard", "hard:device"),
        ("urdf", "urdf:gen3.urdf"),
        ("ros", "ros:limits.yaml"),
        ("site", "policy:site"),
    ]
    assert any("joint joint_2 is missing" in report for report in sheet["joint_reports"])
    first = sheet["disagreements"][0]
    assert (first["quantity"], first["joint_name"], first["value"]) == ("velocity", "joint_1", 1.0)
    assert (first["source"], first["other_source"]) == ("urdf:gen3.urdf", "hard:device")
    assert {"Explain", "CheckTrajectory", "CheckCommand", "GetSkeleton"} <= set(sheet["methods"])
    assert {"joint_limits", "joint_safety", "joint_parameters"} <= set(sheet["items"])


async def test_the_factsheet_follows_the_parameters(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"meta/factsheet/{arm}")
    sheet = await client.document(f"meta/factsheet/{arm}", lambda one: "limit_sources" in one)
    assert sheet["disagreements"] == []
    slow = {"joint_limits.joint_1.has_velocity_limits": True, "joint_limits.joint_1.max_velocity": 0.5}
    await client.change(arm, "SetJointParameters", {"parameters": slow})
    sheet = await client.document(f"meta/factsheet/{arm}", lambda one: bool(one.get("disagreements")))
    assert (sheet["disagreements"][0]["source"], sheet["disagreements"][0]["value"]) == ("ros:parameters", 0.5)


async def test_too_little_way_to_stop_is_told_over_mqtt(
    connect: ClientMaker, start_service: Starter, tmp_path: Path
) -> None:
    file = urdf(tmp_path / "gen3.urdf", velocity=1.0)
    arms = [{"id": "r1", "model": "gen3_7dof", "urdf": file}]
    own = start_service("r1", arm=arms)
    client = await connect(to=own)
    near = {"soft_upper_limit": 1.99, "soft_lower_limit": -1.99, "k_position": 10.0, "k_velocity": 5.0}
    reply = await client.change("r1", "SetJointSafety", {"joints": {"joint_2": near}})
    (warning,) = [one for one in reply["warnings"] if one["name"] == "STOPPING_DISTANCE"]
    assert "joint 2 (joint_2) needs" in warning["message"]
    assert "Consistent: at most" in warning["message"]
    strict = start_service("r1", arm=arms, checks={"strict": True})
    other = await connect(to=strict)
    refused = await other.call("r1", "SetJointSafety", {"joints": {"joint_2": near}})
    assert refused["error"]["kind"] == "implausible_value"
    assert (await other.change("r1", "GetJointSafety"))["result"] == {"joints": {}}
