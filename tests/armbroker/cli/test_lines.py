from typing import cast

import pytest

from armbroker.cli.lines import error_lines, reply_line, warning_lines, watched_line
from armbroker.cli.times import clock
from armbroker.client import ReplyDocument, Resynced, Watched, WatchedDocument, WatchedEvent

AT = "2026-11-30T09:12:04.512345Z"
CLOCK = clock(AT)
REPLY = cast(
    "ReplyDocument",
    {
        "id": "7-1",
        "arm": "r12",
        "method": "SetGravityVector",
        "ok": True,
        "stage": "applied",
        "final": True,
        "rev": 42,
        "seq": 17,
        "at": AT,
        "warnings": [{"name": "ROUNDED", "message": "to 0.2"}],
        "result": {},
    },
)
EVENT = {
    "seq": 17,
    "rev": 42,
    "event": "TWIST_LINEAR_SOFT_LIMIT_CHANGED",
    "cause": "applied",
    "at": AT,
    "by": {"user": "alice", "connection": "hmi-1", "proven": False},
    "change": {"item": "twist_linear_soft_limit", "slot": "CARTESIAN_JOYSTICK", "before": 0.5, "after": 0.2},
    "reason": "new gripper",
}


def test_a_reply() -> None:
    assert reply_line(REPLY) == f"{CLOCK} r12 SetGravityVector: applied, rev 42 seq 17 id 7-1"
    assert warning_lines(REPLY) == ["warning ROUNDED: to 0.2"]


def test_a_reply_that_is_not_the_end() -> None:
    reply = cast("ReplyDocument", {**REPLY, "id": "", "final": False, "duplicate": True, "in_force": False})
    assert reply_line(reply).endswith("id - (not final, duplicate, not in force)")


def test_a_refusal() -> None:
    error = {"kind": "out_of_limits", "name": "VALUE_IS_ABOVE_MAXIMUM", "message": "too much", "retry": "new_id"}
    assert error_lines(cast("ReplyDocument", {**REPLY, "ok": False, "error": error})) == [
        "out_of_limits (VALUE_IS_ABOVE_MAXIMUM): too much",
        "retry: new_id",
    ]


PLAN = {"plan": 3, "method": "Rollout", "target": "@cell", "counts": {"total": 3, "applied": 2, "waiting": 1}}


@pytest.mark.parametrize(
    ("watched", "line"),
    [
        (
            WatchedEvent("r12", EVENT),
            (
                f"{CLOCK} r12 event 17 TWIST_LINEAR_SOFT_LIMIT_CHANGED applied rev 42"
                " twist_linear_soft_limit[CARTESIAN_JOYSTICK] 0.5 -> 0.2"
                ' by alice/hmi-1 (unproven) "new gripper"'
            ),
        ),
        (WatchedEvent("r12", {"seq": 1, "event": "X", "change": None}), "--:--:--.--- r12 event 1 X - rev -"),
        (
            WatchedEvent("r12", {"seq": 1, "event": "X", "change": {"item": "gravity_vector", "after": {"z": 1}}}),
            '--:--:--.--- r12 event 1 X - rev - gravity_vector - -> {"z":1}',
        ),
        (WatchedDocument("a", "svc", {"state": "online", "since": AT}), f"{CLOCK} service a online"),
        (WatchedDocument("a", "svc", None), "--:--:--.--- service a gone"),
        (WatchedDocument("r12", "mode", None), "--:--:--.--- r12 mode document cleared"),
        (
            WatchedDocument("r12", "presence", {"rev": 1, "seq": 0, "at": AT, "state": "online", "ready": True}),
            f"{CLOCK} r12 presence rev 1 seq 0: online, ready, -",
        ),
        (
            WatchedDocument("r12", "mode", {"rev": 1, "seq": 0, "at": AT, "control_mode": "IDLE"}),
            f"{CLOCK} r12 mode rev 1 seq 0: IDLE",
        ),
        (
            WatchedDocument(
                "r12",
                "config",
                {"rev": 2, "seq": 1, "at": AT, "pending": [{"item": "gravity_vector", "state": "writing"}]},
            ),
            f"{CLOCK} r12 config rev 2 seq 1: pending [gravity_vector writing], differs []",
        ),
        (WatchedDocument("r12", "reported", {"rev": 2, "seq": 1, "at": AT}), f"{CLOCK} r12 reported rev 2 seq 1"),
        (
            WatchedDocument("@cell", "fleet", {"rev": 0, "seq": 3, "at": AT, "online": 2, "arms": 3, "pending": 1}),
            f"{CLOCK} @cell fleet rev 0 seq 3: 2 of 3 online, 1 pending, - overrides",
        ),
        (
            WatchedDocument("@all", "plan-3", {**PLAN, "at": AT, "state": "running"}),
            f"{CLOCK} @all plan-3 running: Rollout of @cell; 2 applied, 1 waiting",
        ),
        (
            WatchedEvent(
                "@all", {"seq": 4, "event": "PLAN_ENDED", "cause": "done", "details": {**PLAN, "outcome": "done"}}
            ),
            "--:--:--.--- @all event 4 PLAN_ENDED done rev - plan 3 done: Rollout of @cell; 2 applied, 1 waiting",
        ),
        (Resynced("", "lost"), "--:--:--.--- all arms events can be missing here: lost"),
        (Resynced("r12", "lost"), "--:--:--.--- r12 events can be missing here: lost"),
    ],
)
def test_what_is_watched(watched: Watched, line: str) -> None:
    assert watched_line(watched) == line
