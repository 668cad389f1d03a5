import math
from typing import Any

import pytest

from schema.envelope import Stage
from schema.errors import BrokerError
from schema.joint_items import JointSafetyGains, JointSafetyMap
from tests.handlers.builders import answer, arm, values

MOST = math.radians(50.0)
STILL = {"position": [0.0] * 7, "velocity": [0.0] * 7}
MOVING = {"position": [0.0] * 7, "velocity": [0.8] * 7}


def request(**changes: Any) -> dict[str, Any]:
    return {"state": MOVING, "command": {"velocity": [0.8] * 7}, "dt": 0.01} | changes


def checked(params: dict[str, Any], **changes: Any) -> dict[str, Any]:
    found = answer(arm(**changes), "CheckCommand", params)
    assert found.stage is Stage.READ
    assert isinstance(found.result, dict)
    return found.result


def test_a_command_inside_the_limits_stays_as_it_is() -> None:
    assert checked(request()) == {
        "limited": False,
        "mode": "ANGULAR_JOYSTICK",
        "check_mode": "DYNAMIC_LIMITS_CHECK_MODE_CHECK_JOINT_ACCELERATION",
        "limiter": "range",
        "command": {"velocity": [0.8] * 7},
        "reasons": [],
    }


def test_what_is_limited_is_told_number_by_number() -> None:
    fast = request(command={"velocity": [0.8] * 6 + [2.0]}, check_mode="CHECK_NONE")
    found = checked(fast)
    assert found["limited"]
    assert found["command"]["velocity"] == [0.8] * 6 + [pytest.approx(MOST)]
    assert found["reasons"] == [
        {
            "quantity": "velocity",
            "joint": 7,
            "joint_name": "joint_7",
            "wanted": 2.0,
            "value": pytest.approx(MOST),
            "unit": "rad/s",
            "reason": "MAX_VELOCITY",
        }
    ]


def test_accelerations_are_limited_unless_told() -> None:
    start = request(state=STILL)
    assert [one["reason"] for one in checked(start)["reasons"]] == ["MAX_ACCELERATION"] * 7
    assert not checked(start | {"check_mode": "CHECK_NONE"})["limited"]


def test_the_soft_limiter_slows_a_joint_before_its_soft_end() -> None:
    held = values() | {("joint_safety", 0): JointSafetyMap({"joint_2": JointSafetyGains(0.5, -0.5, 2.0, 10.0)})}
    near = {"position": [0.0, 0.45] + [0.0] * 5, "velocity": [0.8] * 7}
    found = checked(request(limiter="soft", state=near, check_mode="CHECK_NONE"), desired=held, reported=held)
    (only,) = found["reasons"]
    assert (only["joint_name"], only["reason"]) == ("joint_2", "SOFT_POSITION")
    assert only["value"] == pytest.approx(0.1)


def test_the_saturation_limiter_takes_a_point() -> None:
    point = {"position": [0.02] + [0.0] * 6, "velocity": [2.0] + [0.0] * 6}
    found = checked(request(limiter="saturation", state=STILL, command=point, dt=0.1))
    assert found["limiter"] == "saturation"
    assert found["command"].keys() == {"position", "velocity"}
    assert {(one["quantity"], one["joint_name"]) for one in found["reasons"]} >= {("velocity", "joint_1")}


def test_joints_may_stand_in_another_order() -> None:
    names = [f"joint_{number}" for number in (7, 1, 2, 3, 4, 5, 6)]
    params = request(command={"velocity": [2.0] + [0.8] * 6}, joints=names, check_mode="CHECK_NONE")
    found = checked(params)
    assert found["command"]["velocity"] == [pytest.approx(MOST)] + [0.8] * 6
    assert [one["joint_name"] for one in found["reasons"]] == ["joint_7"]


def test_the_mode_decides_the_limits() -> None:
    params = request(mode="ANGULAR_TRAJECTORY", check_mode="CHECK_NONE")
    assert checked(params)["command"]["velocity"] == [pytest.approx(math.radians(25.0))] * 7


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"limiter": "best"}, "unknown_enum", "limiters: range, soft, saturation"),
        ({"dt": "1"}, "malformed", r"params\.dt\[0\]: '1' is no number"),
        ({"dt": 0.0}, "implausible_value", "dt: must be positive and finite"),
        ({"state": [0.0]}, "malformed", r"params\.state: lists by quantity are needed"),
        ({"command": {}}, "malformed", r"params\.command: one of position, velocity"),
        ({"command": {"speed": [0.0]}}, "unknown_field", "known: position, velocity"),
        ({"command": {"velocity": [0.0]}}, "wrong_joint_count", r"params\.command\.velocity: 1 numbers for 7 joints"),
        (
            {"limiter": "saturation", "command": {"effort": [0.0] * 7}},
            "implausible_value",
            "is not part of a trajectory point",
        ),
        ({"speed": 1}, "unknown_field", "known: limiter, state"),
    ],
)
def test_what_cannot_be_checked_is_refused(change: dict[str, Any], kind: str, words: str) -> None:
    with pytest.raises(BrokerError, match=words) as caught:
        checked(request(**change))
    assert caught.value.kind == kind


def test_a_state_is_not_needed_where_no_limit_asks_for_it() -> None:
    params = {"command": {"velocity": [0.1] * 7}, "dt": 1.0, "check_mode": "CHECK_NONE"}
    assert not checked(params)["limited"]
