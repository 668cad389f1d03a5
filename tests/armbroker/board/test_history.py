from typing import Any

from armbroker.board.history import points_of
from tests.armbroker.board.documents import AT, event


def change(at: str = AT, **more: Any) -> dict[str, Any]:
    by = {"user": "alice", "connection": "hmi", "proven": False}
    known = {"item": "twist_linear_soft_limit", "slot": "CARTESIAN_JOYSTICK", "before": 0.5, "after": 0.2, "by": by}
    return {"at": at, **known, "reason": "", "outcome": "applied", **more}


def test_the_changes_of_one_value_oldest_first() -> None:
    changes = [change("2026-11-30T10:00:00Z", after=0.4), change(), change(slot="CARTESIAN_TRAJECTORY")]
    points = points_of(changes, "twist_linear_soft_limit", "CARTESIAN_JOYSTICK", "")
    assert [(point.at, point.after, point.by, point.done) for point in points] == [
        (AT, 0.2, "alice/hmi?", True),
        ("2026-11-30T10:00:00Z", 0.4, "alice/hmi?", True),
    ]


def test_what_did_not_become_so_is_marked() -> None:
    [point] = points_of([change(outcome="refused")], "twist_linear_soft_limit", "CARTESIAN_JOYSTICK", "")
    assert (point.outcome, point.done) == ("refused", False)


def test_a_part_of_a_message() -> None:
    values: dict[str, Any] = {"before": {"x": 0.0, "z": -9.81}, "after": {"x": 1.0, "z": -9.7}}
    [point] = points_of([change(AT, item="gravity_vector", slot="", **values)], "gravity_vector", "", "z")
    assert (point.before, point.after) == (-9.81, -9.7)
    limits: dict[str, Any] = {"before": None, "after": {"max_velocity": {"values": [1.0, 2.0]}}}
    [point] = points_of([change(AT, item="joint_limits", slot="", **limits)], "joint_limits", "", "max_velocity")
    assert (point.before, point.after) == (None, [1.0, 2.0])


def test_events_serve_as_well() -> None:
    seen = {**event(), **event()["change"]}
    [point] = points_of([seen], "twist_linear_soft_limit", "CARTESIAN_JOYSTICK", "")
    assert (point.outcome, point.done, point.reason) == ("applied", True, "teaching")
