"""Replies and events that show every part of their layout."""

from schema.enums import ControlConfigurationEvent as E
from schema.enums import ControlMode
from schema.envelope import Author, ErrorBody, Event, EventChange, Reply, Stage, Violation, Warned
from schema.messages import (
    Connection,
    ControlConfigurationNotification,
    ControlModeInformation,
    Empty,
    GravityVector,
    JointSpeedSoftLimits,
    Timestamp,
    UserProfileHandle,
)

AT = 1_796_029_924_512_345
AT_TEXT = "2026-11-30T09:12:04.512345Z"

APPLIED = Reply("7-000123", "r12", "SetTwistLinearSoftLimit", True, Stage.APPLIED, True, 42, 17, AT, Empty())
APPLIED_DOCUMENT = {
    "id": "7-000123",
    "arm": "r12",
    "method": "SetTwistLinearSoftLimit",
    "ok": True,
    "stage": "applied",
    "final": True,
    "result": {},
    "rev": 42,
    "seq": 17,
    "at": AT_TEXT,
    "warnings": [],
}

READ = Reply(
    "",
    "r12",
    "GetGravityVector",
    True,
    Stage.READ,
    True,
    3,
    9,
    AT,
    GravityVector(z=-9.81),
    warnings=(Warned("DEVICE_DISCONNECTED", "gone"), Warned("UNIT_SUSPECT", "small", "z")),
    duplicate=True,
    in_force=False,
    reported_at_us=AT,
    desired=GravityVector(z=-9.8),
    pending_rev=4,
    mode_seen_at_us=AT,
)
READ_DOCUMENT = {
    "id": "",
    "arm": "r12",
    "method": "GetGravityVector",
    "ok": True,
    "stage": "read",
    "final": True,
    "result": {"x": 0.0, "y": 0.0, "z": -9.81},
    "rev": 3,
    "seq": 9,
    "at": AT_TEXT,
    "warnings": [
        {"name": "DEVICE_DISCONNECTED", "message": "gone"},
        {"name": "UNIT_SUSPECT", "path": "z", "message": "small"},
    ],
    "duplicate": True,
    "in_force": False,
    "reported_at": AT_TEXT,
    "desired": {"x": 0.0, "y": 0.0, "z": -9.8},
    "pending_rev": 4,
    "mode_seen_at": AT_TEXT,
}

REFUSED = Reply(
    "7-2",
    "r12",
    "SetJointSpeedSoftLimits",
    False,
    Stage.REFUSED,
    True,
    3,
    9,
    AT,
    error=ErrorBody(
        3,
        48,
        "VALUE_IS_ABOVE_MAXIMUM",
        "out_of_limits",
        "too fast",
        "new_id",
        (
            Violation("v[4]", 80.0, 70.0, "deg/s", "<=", "hard:device", 5, "joint_5", (80.0, 70.0)),
            Violation("twist", 0.9, 0.5, "m/s", "<=", "hard:device", suggest=0.5),
            Violation("mass", -1.0, 0.0, "kg", ">=", "hard:profile"),
        ),
        retry_after_ms=250,
    ),
)
REFUSED_DOCUMENT = {
    "id": "7-2",
    "arm": "r12",
    "method": "SetJointSpeedSoftLimits",
    "ok": False,
    "stage": "refused",
    "final": True,
    "error": {
        "code": 3,
        "sub_code": 48,
        "name": "VALUE_IS_ABOVE_MAXIMUM",
        "kind": "out_of_limits",
        "message": "too fast",
        "violations": [
            {
                "path": "v[4]",
                "joint": 5,
                "joint_name": "joint_5",
                "got": 80.0,
                "bound": 70.0,
                "unit": "deg/s",
                "relation": "<=",
                "source": "hard:device",
                "suggest": [80.0, 70.0],
            },
            {
                "path": "twist",
                "got": 0.9,
                "bound": 0.5,
                "unit": "m/s",
                "relation": "<=",
                "source": "hard:device",
                "suggest": 0.5,
            },
            {"path": "mass", "got": -1.0, "bound": 0.0, "unit": "kg", "relation": ">=", "source": "hard:profile"},
        ],
        "retry": "new_id",
        "retry_after_ms": 250,
    },
    "rev": 3,
    "seq": 9,
    "at": AT_TEXT,
    "warnings": [],
}

PLAIN = Reply("7-3", "r12", "GetEvents", True, Stage.READ, True, 3, 9, AT, {"events": [], "more": False})
PLAIN_DOCUMENT = {
    "id": "7-3",
    "arm": "r12",
    "method": "GetEvents",
    "ok": True,
    "stage": "read",
    "final": True,
    "result": {"events": [], "more": False},
    "rev": 3,
    "seq": 9,
    "at": AT_TEXT,
    "warnings": [],
}

REPLIES = [
    (APPLIED, APPLIED_DOCUMENT),
    (READ, READ_DOCUMENT),
    (REFUSED, REFUSED_DOCUMENT),
    (PLAIN, PLAIN_DOCUMENT),
]

NOTIFICATION = ControlConfigurationNotification(
    E.JOINT_SPEED_SOFT_LIMITS_CHANGED,
    Timestamp(1_796_029_924, 512_345),
    UserProfileHandle(3, 3),
    Connection(UserProfileHandle(3, 3), "alice/plc-3", 4),
)
BEFORE = JointSpeedSoftLimits(ControlMode.ANGULAR_JOYSTICK, (50.0, 50.0))
AFTER = JointSpeedSoftLimits(ControlMode.ANGULAR_JOYSTICK, (49.9, 50.0))
SLOT = "joint_speed_soft_limits"

CHANGED = Event(
    "r12",
    3,
    17,
    16,
    42,
    AT,
    "applied",
    "applied",
    Author("alice", "plc-3", True),
    "JOINT_SPEED_SOFT_LIMITS_CHANGED",
    "alice/plc-3/7-1",
    NOTIFICATION,
    EventChange(SLOT, "ANGULAR_JOYSTICK", SLOT, BEFORE, AFTER),
    "new tool",
)
CHANGED_DOCUMENT = {
    "arm": "r12",
    "epoch": 3,
    "seq": 17,
    "prev": 16,
    "rev": 42,
    "at": AT_TEXT,
    "cause": "applied",
    "stage": "applied",
    "request_id": "alice/plc-3/7-1",
    "by": {"user": "alice", "connection": "plc-3", "proven": True},
    "event": "JOINT_SPEED_SOFT_LIMITS_CHANGED",
    "notification": {
        "event": "JOINT_SPEED_SOFT_LIMITS_CHANGED",
        "timestamp": {"sec": 1_796_029_924, "usec": 512_345},
        "user_handle": {"identifier": 3, "permission": 3},
        "connection": {
            "user_handle": {"identifier": 3, "permission": 3},
            "connection_information": "alice/plc-3",
            "connection_identifier": 4,
        },
    },
    "change": {"item": SLOT, "slot": "ANGULAR_JOYSTICK", "before": [50.0, 50.0], "after": [49.9, 50.0]},
    "reason": "new tool",
}

MODE = Event(
    "r12",
    3,
    18,
    0,
    43,
    AT,
    "foreign",
    "applied",
    Author("@arm", "", False),
    "CONTROL_MODE_CHANGED",
    change=EventChange("control_mode", after=ControlModeInformation(3)),
)
MODE_DOCUMENT = {
    "arm": "r12",
    "epoch": 3,
    "seq": 18,
    "prev": 0,
    "rev": 43,
    "at": AT_TEXT,
    "cause": "foreign",
    "stage": "applied",
    "by": {"user": "@arm", "connection": "", "proven": False},
    "event": "CONTROL_MODE_CHANGED",
    "notification": None,
    "change": {"item": "control_mode", "before": None, "after": {"control_mode": 3}},
}

EXPIRED = Event("r12", 3, 19, 18, 43, AT, "expired", "stored", Author("alice", "plc-3", True), "HANDLE_EXPIRED")
EXPIRED_DOCUMENT = {
    "arm": "r12",
    "epoch": 3,
    "seq": 19,
    "prev": 18,
    "rev": 43,
    "at": AT_TEXT,
    "cause": "expired",
    "stage": "stored",
    "by": {"user": "alice", "connection": "plc-3", "proven": True},
    "event": "HANDLE_EXPIRED",
    "notification": None,
    "change": None,
}

EVENTS = [(CHANGED, CHANGED_DOCUMENT), (MODE, MODE_DOCUMENT), (EXPIRED, EXPIRED_DOCUMENT)]
