"""Params that each method takes, for an arm of 7 joints `joint_1` ... `joint_7` (model gen3_7dof)."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from devices.conformance.kinova import VALUES
from handlers.rpc_table import RPC_TABLE
from schema.codecs.plain import to_plain
from schema.enums import ControlMode
from schema.items import ITEMS, slots_of

_JOYSTICK = {"control_mode": "CARTESIAN_JOYSTICK"}
_GAINS = {"soft_upper_limit": 2.0, "soft_lower_limit": -2.0, "k_position": 20.0, "k_velocity": 10.0}
_PARAMETERS = {"joint_limits.joint_1.has_velocity_limits": True, "joint_limits.joint_1.max_velocity": 0.5}


def _of_items() -> Iterator[tuple[str, dict[str, Any]]]:
    """Params of the methods of Kinova's items, with the values that the conformance suite sets."""
    for slot, example in VALUES.items():
        item = ITEMS[slot[0]]
        if slot != slots_of(item.key)[0]:
            continue
        mode = {"control_mode": ControlMode(slot[1]).name} if item.modes else {}
        for verb, params in (("Set", to_plain(example.value)), ("Get", {}), ("Reset", mode)):
            if f"{verb}{item.noun}" in RPC_TABLE:
                yield f"{verb}{item.noun}", params


EXAMPLES: Mapping[str, dict[str, Any]] = MappingProxyType({
    **dict(_of_items()),
    "GetDesiredSpeeds": {},
    "ControlConfigurationTopic": {"type": "NOTIFICATION_TYPE_EVENT", "rate_m_sec": 0, "threshold_value": 0.0},
    "ControlModeTopic": {},
    "Unsubscribe": {"identifier": 1},
    "GetControlMode": {},
    "SetControlMode": _JOYSTICK,
    "GetKinematicHardLimits": {},
    "GetKinematicSoftLimits": _JOYSTICK,
    "GetAllKinematicSoftLimits": {},
    "GetJointLimits": {},
    "SetJointLimits": {"max_velocity": {"values": [0.5] * 7}},
    "SetJointLimit": {"joint": "joint_3", "update": {"max_velocity": 0.25}},
    "ResetJointLimits": {},
    "GetJointSafety": {},
    "SetJointSafety": {"joints": {"joint_2": _GAINS}},
    "ClearJointSafety": {"joints": ["joint_2"]},
    "ResetJointSafety": {},
    "GetJointParameters": {},
    "SetJointParameters": {"parameters": _PARAMETERS},
    "DescribeJointParameters": {},
    "Explain": {"quantity": "velocity", "joint": "joint_1"},
    "GetSkeleton": {},
    "CheckTrajectory": {"times": [0.0, 1.0], "positions": [[0.0] * 7, [0.1] * 7]},
    "CheckCommand": {"command": {"velocity": [0.1] * 7}, "dt": 0.01},
    "GetHistory": {"limit": 10},
    "Diff": {"from": {"rev": 1}, "to": {"view": "reported"}, "items": ["payload_information"]},
    "Blame": {"items": ["payload_information"]},
    "GetEvents": {"after_seq": 0, "limit": 10},
    "PutRecipe": {"name": "weld", "items": {"payload_information": {"payload_mass": 2.1}}, "models": ["gen3_7dof"]},
    "GetRecipe": {"name": "weld"},
    "ListRecipes": {"prefix": "weld"},
    "DeleteRecipe": {"name": "weld"},
    "Rollout": {
        "method": "ApplyRecipe", "params": {"recipe": "weld", "version": 3}, "on_failure": "reverse",
        "canary": ["a0001"], "waves": [10, 100], "soak_ms": 300_000, "confirm_within_ms": 3_600_000,
    },
    "GetPlan": {"plan": 17, "state": "stored", "limit": 500},
    "ListPlans": {"kind": "group", "limit": 10},
    "SteerPlan": {"plan": 17, "action": "pause", "reason": "arms of wave 1 vibrate"},
    "FindArms": {
        "where": {"presence": "online", "value": [{"path": "payload_information.payload_mass", "op": ">", "than": 2}]},
        "show": ["payload_information"],
    },
    "GetFleetHistory": {"since": "2026-01-01T00:00:00Z", "item": "payload_information", "limit": 10},
    "WhoAmI": {},
    "ConfirmPending": {"all": True},
    "DiscardPending": {"all": True},
    "ConfirmArm": {},
    "RestoreFactory": {},
    "ExtendOverride": {"all": True, "valid_for_ms": 600_000},
    "EndOverride": {"all": True},
    "ApplyConfig": {
        "items": {"payload_information": {"payload_mass": 1.0}, "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.2}}
    },
    "ApplyRecipe": {"recipe": "weld"},
    "RestoreRevision": {"rev": 1, "items": ["payload_information"]},
    "SetAuthority": {"authority": "control", "reason": "the cell is empty"},
    "HoldArm": {"reason": "maintenance"},
    "ReleaseArm": {},
    "SimFault": {"fault": "none"},
})  # fmt: skip
"""Params by method."""
