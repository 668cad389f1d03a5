import math
from typing import Any

import pytest

from handlers.state.limit_sources import LimitSources
from schema.envelope import Stage
from schema.errors import BrokerError
from schema.joint_items import JointSafetyGains, JointSafetyMap
from tests.handlers.builders import answer, arm, values

JOINTS = [f"joint_{number}" for number in range(1, 8)]
MOST = math.radians(50.0)
"""Speed limit of the joystick mode, rad/s."""


def line(speed: float, points: int = 3, joint: int = 0) -> dict[str, Any]:
    """A trajectory at 1 point/s on which one joint moves at a steady speed."""
    return {
        "times": [float(point) for point in range(points)],
        "positions": [[speed * point if at == joint else 0.0 for at in range(7)] for point in range(points)],
        "velocities": [[speed if at == joint else 0.0 for at in range(7)] for point in range(points)],
    }


def checked(params: dict[str, Any], **changes: Any) -> dict[str, Any]:
    found = answer(arm(**changes), "CheckTrajectory", params)
    assert found.stage is Stage.READ
    assert isinstance(found.result, dict)
    return found.result


def test_a_trajectory_inside_the_limits() -> None:
    assert checked(line(MOST)) == {
        "within": True,
        "mode": "ANGULAR_JOYSTICK",
        "check_mode": "DYNAMIC_LIMITS_CHECK_MODE_CHECK_JOINT_ACCELERATION",
        "points": 3,
        "count": 0,
        "first": None,
        "worst": None,
        "violations": [],
        "more": False,
    }


def test_every_violation_has_time_joint_number_and_bound() -> None:
    found = checked(line(1.0, joint=3))
    assert (found["within"], found["count"], found["more"]) == (False, 5, False)
    first = {"check": "velocity", "point": 0, "time": 0.0, "joint": 4, "joint_name": "joint_4", "unit": "rad/s"}
    excess = pytest.approx(1.0 / MOST - 1.0)
    assert found["first"] == first | {"got": 1.0, "bound": pytest.approx(MOST), "excess": excess}
    assert found["violations"][0] == found["first"]
    assert [(one["check"], one["time"]) for one in found["violations"]] == [
        ("velocity", 0.0),
        ("velocity", 1.0),
        ("mean_velocity", 1.0),
        ("velocity", 2.0),
        ("mean_velocity", 2.0),
    ]
    assert found["worst"] == found["first"]


def test_the_mode_decides_the_limits() -> None:
    slower = line(math.radians(40.0))
    assert checked(slower)["within"]
    found = checked(slower | {"mode": "ANGULAR_TRAJECTORY"})
    assert (found["within"], found["mode"]) == (False, "ANGULAR_TRAJECTORY")
    tightest = checked(slower | {"mode": "UNSPECIFIED_CONTROL_MODE"})
    assert (tightest["within"], tightest["mode"]) == (False, "UNSPECIFIED_CONTROL_MODE")
    assert tightest["violations"][0]["bound"] == pytest.approx(math.radians(25.0))


def test_accelerations_are_compared_unless_told() -> None:
    jump = {"times": [0.0, 0.1], "positions": [[0.0] * 7] * 2, "velocities": [[0.0] * 7, [0.5] + [0.0] * 6]}
    found = checked(jump)
    assert [one["check"] for one in found["violations"]] == ["mean_acceleration"]
    assert found["first"]["unit"] == "rad/s²"
    assert checked(jump | {"check_mode": "CHECK_NONE"})["within"]
    given = jump | {"velocities": [[0.0] * 7] * 2, "accelerations": [[9.0] + [0.0] * 6] * 2}
    assert [one["check"] for one in checked(given)["violations"]] == ["acceleration"] * 2


def test_joints_may_stand_in_another_order() -> None:
    params = line(1.0, joint=0) | {"joints": JOINTS[::-1]}
    assert checked(params)["first"]["joint_name"] == "joint_7"


def test_positions_are_compared_where_there_is_a_range() -> None:
    held = values() | {("joint_safety", 0): JointSafetyMap({"joint_2": JointSafetyGains(0.5, -0.5, 1.0, 1.0)})}
    found = checked(line(0.6, joint=1), desired=held, reported=held)
    (first, _) = [one for one in found["violations"] if one["check"] == "position"]
    assert (first["time"], first["got"], first["bound"], first["unit"]) == (1.0, 0.6, 0.5, "rad")
    assert first["excess"] == pytest.approx(0.1)


def test_velocities_keep_to_the_law_of_joint_safety() -> None:
    held = values() | {("joint_safety", 0): JointSafetyMap({"joint_2": JointSafetyGains(0.5, -0.5, 2.0, 1.0)})}
    params = line(0.2, joint=1)
    assert checked(params)["within"]
    assert checked(params, desired=held, reported=held)["within"]
    near = params | {"positions": [[0.0, 0.45] + [0.0] * 5] * 3}
    (first, *_) = checked(near, desired=held, reported=held)["violations"]
    assert (first["check"], first["joint_name"], first["bound"]) == ("soft_velocity", "joint_2", pytest.approx(0.1))


def test_an_excess_over_a_limit_of_zero_has_no_number() -> None:
    found = checked(line(0.1), sources=LimitSources(site_caps={"velocity": 0.0}))
    assert (found["worst"]["bound"], found["worst"]["excess"]) == (0.0, None)


def test_violations_come_in_pages() -> None:
    params = line(1.0, points=10)
    whole = checked(params)["violations"]
    assert len(whole) == 19
    pages = [checked(params | {"limit": 7, "skip": skip}) for skip in (0, 7, 14, 21)]
    assert [one for page in pages for one in page["violations"]] == whole
    assert [page["more"] for page in pages] == [True, True, False, False]


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"times": None}, "malformed", r"params\.times: a list of numbers is needed"),
        ({"times": [0.0, 1.0, 1.0]}, "implausible_value", "times: does not grow at point 2"),
        ({"times": [0.0, 1.0]}, "implausible_value", "positions: needs one number a joint and point"),
        ({"times": [], "positions": [], "velocities": []}, "implausible_value", "at least one"),
        ({"positions": [[0.0] * 6] * 3}, "wrong_joint_count", r"params\.positions\[0\]: 6 numbers for 7 joints"),
        ({"limit": 1001}, "out_of_limits", "1001 > 1000"),
        ({"limit": 0}, "out_of_limits", "0 < 1"),
        ({"joint": "a"}, "unknown_field", "known: times, positions"),
    ],
)
def test_what_is_no_trajectory_is_refused(change: dict[str, Any], kind: str, words: str) -> None:
    with pytest.raises(BrokerError, match=words) as caught:
        checked(line(0.1) | change)
    assert caught.value.kind == kind


@pytest.mark.parametrize("key", ["times", "positions"])
def test_times_and_positions_are_needed(key: str) -> None:
    params = line(0.1)
    del params[key]
    with pytest.raises(BrokerError, match=f"params.{key}: a trajectory needs it"):
        checked(params)
