"""Documents of a small fleet, as a service publishes them."""

from typing import Any

from armbroker.client import WatchedDocument, WatchedEvent

AT = "2026-11-30T09:12:04.512345Z"
BY = {"user": "alice", "connection": "hmi", "proven": True}
ARM = {"layer": "hard", "source": "hard:device", "by": "@arm", "since": AT}
SOFT = {"layer": "soft", "source": "soft:ANGULAR_JOYSTICK", "by": "alice/hmi", "since": AT}


def base(arm: str = "r1", **more: Any) -> dict[str, Any]:
    return {"arm": arm, "svc": "main", "epoch": 1, "rev": 3, "seq": 2, "at": AT, **more}


def presence(arm: str = "r1", **more: Any) -> dict[str, Any]:
    known = {"state": "online", "ready": True, "since": AT, "adapter": "simulated", "model": "gen3_7dof"}
    return base(arm, **{**known, "authority": "control", "serial": "S1", "joints": 2, **more})


def mode(arm: str = "r1", name: str | None = "ANGULAR_JOYSTICK", **more: Any) -> dict[str, Any]:
    return base(arm, control_mode=name, mode_seen_at=AT, **more)


def items(twist: float = 0.5) -> dict[str, Any]:
    return {
        "gravity_vector": {"x": 0.0, "y": 0.0, "z": -9.81},
        "joint_speed_soft_limits": {"ANGULAR_JOYSTICK": [40.0, 50.0]},
        "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": twist},
        "joint_limits": {"max_velocity": {"values": [1.0, 1.2]}},
        "joint_safety": {"joints": {}},
    }


def config(arm: str = "r1", **more: Any) -> dict[str, Any]:
    return base(arm, **{"items": items(), "pending": [], "differs": [], **more})


def reported(arm: str = "r1", twist: float = 0.5, **more: Any) -> dict[str, Any]:
    hard = {"twist_linear": 0.5, "twist_angular": 0.0, "joint_speed_limits": [80.0, 70.0]}
    return base(arm, items=items(twist), hard_limits=hard, firmware="2.5", read_at=AT, **more)


def effective(arm: str = "r1") -> dict[str, Any]:
    return base(
        arm,
        joints=["joint_1", "joint_2"],
        units={
            "velocity": ["rad/s", "rad/s"],
            "effort": ["N·m", "N·m"],
            "twist_linear": "m/s",
            "position_upper": ["rad", "m"],
        },
        sources=[ARM, SOFT],
        other_modes={
            "velocity": {"values": [1.3962634015954636, 1.2217304763960306], "from": [0, 0]},
            "effort": {"values": [39.0, None], "from": [0, None]},
            "position_upper": {"values": [None, 2.0], "from": [None, 1]},
            "twist_linear": {"value": 0.5, "from": 0},
        },
        modes={"ANGULAR_JOYSTICK": {"velocity": {"values": [0.6981317007977318, 0.9], "from": [1, 1]}}},
        unknown_mode={"velocity": {"values": [0.5, 0.5], "from": [1, 1]}},
    )


def service(**more: Any) -> dict[str, Any]:
    return {"state": "online", "since": AT, "seen_at": AT, "version": "0.1.0", "epoch": 1, **more}


def event(seq: int = 3, **more: Any) -> dict[str, Any]:
    change = {"item": "twist_linear_soft_limit", "slot": "CARTESIAN_JOYSTICK", "before": 0.5, "after": 0.2}
    by = {"user": "alice", "connection": "hmi", "proven": True}
    known = {"event": "TWIST_LINEAR_SOFT_LIMIT_CHANGED", "cause": "applied", "stage": "applied", "change": change}
    return {**base(), "seq": seq, **known, "by": by, "reason": "teaching", **more}


def told(arm: str = "r1") -> list[WatchedDocument]:
    """All documents of one arm, and of its service."""
    makers = {"config": config, "reported": reported, "mode": mode, "effective": effective, "presence": presence}
    documents = [WatchedDocument(arm, name, make(arm)) for name, make in makers.items()]
    return [WatchedDocument("main", "svc", service()), *documents]


def seen(seq: int = 3, **more: Any) -> WatchedEvent:
    return WatchedEvent("r1", event(seq, **more))


def override(rev: int, until: str, **more: Any) -> dict[str, Any]:
    """One entry of `overrides` in the document config."""
    path = "twist_linear_soft_limit/CARTESIAN_JOYSTICK"
    known = {"rev": rev, "paths": [path], "since": AT, "until": until, "left_ms": 1_000, "by": BY}
    return {**known, "direction": "loosening", "state": "live", "ground": {path: 0.25}, **more}


def group(**more: Any) -> dict[str, Any]:
    """The summary of a group."""
    known = {"arms": 3, "online": 2, "ready": 2, "faults": 0, "locked": 0, "held": 0, "pending": 1, "differs": 0}
    counted = {"overrides": 1, "overdue": 0, "recipes": {"weld@3": 2}, "recipe_drift": 1}
    return base("@cell-4", **{**known, **counted, "next_end": AT, "plans": [20], "attention": [], **more})


def plan(**more: Any) -> dict[str, Any]:
    """The document of a plan."""
    known = {"plan": 20, "kind": "rollout", "state": "running", "target": "@line-1", "method": "ApplyRecipe"}
    waves = [{"n": number, "arms": arms, "state": "done"} for number, arms in enumerate((1, 100, 899))]
    counts = {"total": 1000, "applied": 101, "stored": 9, "waiting": 890}
    asked = {"arm": "@all", "svc": "main", "epoch": 1, "by": BY, "reason": "new tool", "at": AT}
    return {**known, **asked, "wave": 1, "waves": waves, "counts": counts, "failed": [], **more}
