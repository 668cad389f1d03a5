import json
from pathlib import Path
from typing import Any

import pytest

from handlers import rpc_table
from handlers.rpc.row import Access, Address, Guard
from handlers.rpc_table import FLEET_METHODS, MAY_TIGHTEN, OWN_METHODS, RPC_TABLE, SERVICE_METHODS, reply_message
from schema.items import ITEMS
from schema.messages import JointSpeedSoftLimits

KINOVA = [
    "SetGravityVector", "GetGravityVector", "ResetGravityVector",
    "SetPayloadInformation", "GetPayloadInformation", "ResetPayloadInformation",
    "SetToolConfiguration", "GetToolConfiguration", "ResetToolConfiguration",
    "SetCartesianReferenceFrame", "GetCartesianReferenceFrame",
    "SetJointSpeedSoftLimits", "ResetJointSpeedSoftLimits",
    "SetJointAccelerationSoftLimits", "ResetJointAccelerationSoftLimits",
    "SetTwistLinearSoftLimit", "ResetTwistLinearSoftLimit",
    "SetTwistAngularSoftLimit", "ResetTwistAngularSoftLimit",
    "SetDesiredLinearTwist", "SetDesiredAngularTwist", "SetDesiredJointSpeeds", "GetDesiredSpeeds",
    "GetKinematicHardLimits", "GetKinematicSoftLimits", "GetAllKinematicSoftLimits",
    "GetControlMode",
    "ControlConfigurationTopic", "ControlModeTopic", "Unsubscribe",
]  # fmt: skip
OWN = [
    "SetControlMode", "GetHistory", "GetEvents", "Diff", "Blame", "WhoAmI", "SimFault",
    "Explain", "GetSkeleton", "CheckTrajectory", "CheckCommand",
    "SetAuthority", "HoldArm", "ReleaseArm", "ExtendOverride", "EndOverride",
    "ConfirmPending", "DiscardPending", "ConfirmArm", "RestoreFactory",
    "ApplyConfig", "ApplyRecipe", "RestoreRevision",
]  # fmt: skip
QUESTIONS = ["FindArms", "GetFleetHistory"]
RECIPES = ["PutRecipe", "GetRecipe", "ListRecipes", "DeleteRecipe"]
PLANS = ["GetPlan", "ListPlans", "SteerPlan"]
OF_FLEET = [*QUESTIONS, *RECIPES, *PLANS, "Rollout"]
"""Methods that no single arm can be asked for."""
HELD = [
    "GetJointLimits", "SetJointLimits", "SetJointLimit", "ResetJointLimits",
    "GetJointSafety", "SetJointSafety", "ClearJointSafety", "ResetJointSafety",
    "GetJointParameters", "SetJointParameters", "DescribeJointParameters",
]  # fmt: skip
ACCESS = {"SetAuthority", "HoldArm", "ReleaseArm"}
OVERRIDES = {"ExtendOverride", "EndOverride"}
_READS = ("Get", "Describe")
CONVERGENCE = {"ConfirmPending", "DiscardPending", "ConfirmArm", "RestoreFactory", "ApplyConfig", "RestoreRevision"}
WRITES = {
    *(name for name in KINOVA + HELD if not name.startswith(_READS)),
    "SetControlMode", "SimFault", *ACCESS, *CONVERGENCE, *OVERRIDES, "PutRecipe", "DeleteRecipe", "ApplyRecipe",
    "SteerPlan", "Rollout",
}  # fmt: skip
UNGUARDED = {
    "ControlConfigurationTopic",
    "ControlModeTopic",
    "Unsubscribe",
    "SimFault",
    "PutRecipe",
    "DeleteRecipe",
    "SteerPlan",
    "Rollout",
}
"""Writes that nobody's lock and no authority keeps back."""
DEGREES = {
    "SetToolConfiguration", "GetToolConfiguration", "ResetToolConfiguration",
    "SetJointSpeedSoftLimits", "ResetJointSpeedSoftLimits",
    "SetJointAccelerationSoftLimits", "ResetJointAccelerationSoftLimits",
    "SetTwistAngularSoftLimit", "ResetTwistAngularSoftLimit",
    "SetDesiredAngularTwist", "SetDesiredJointSpeeds", "GetDesiredSpeeds",
    "GetKinematicHardLimits", "GetKinematicSoftLimits", "GetAllKinematicSoftLimits",
}  # fmt: skip
ROW_BY_ROW = {
    *(name for name in WRITES if name.startswith(("Set", "Reset", "Clear"))),
    "HoldArm", "ReleaseArm", "ConfirmPending", "DiscardPending", *OVERRIDES, "ApplyRecipe", "ApplyConfig",
} - {"SetControlMode"}  # fmt: skip
"""Methods that are done with each arm of a group."""

RADIANS = {"GetSkeleton", "CheckTrajectory", "CheckCommand", *HELD}


def test_the_table_holds_the_thirty_of_kinova_and_our_own() -> None:
    assert (len(KINOVA), len(set(KINOVA))) == (30, 30)
    assert sorted(RPC_TABLE) == sorted(KINOVA + OWN + HELD + OF_FLEET)
    assert sorted(OWN + HELD) == sorted(SERVICE_METHODS)
    assert sorted(HELD) == sorted(OWN_METHODS)
    assert sorted(OF_FLEET) == sorted(FLEET_METHODS)


@pytest.fixture
def rpcs(vectors_dir: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((vectors_dir / "kinova_rpcs.json").read_text())["rpcs"]
    return rows


def test_names_and_messages_are_those_of_kinova(rpcs: list[dict[str, Any]]) -> None:
    assert sorted(row["rpc"] for row in rpcs) == sorted(KINOVA)
    for row in rpcs:
        rpc = RPC_TABLE[row["rpc"]]
        assert rpc.request is not None
        assert rpc.reply is not None
        assert (rpc.request.__name__, rpc.reply.__name__) == (row["request"], row["response"])


def test_a_request_with_a_mode_has_its_field(rpcs: list[dict[str, Any]]) -> None:
    for row in rpcs:
        request = RPC_TABLE[row["rpc"]].request
        assert request is not None
        assert ("control_mode" in request.__struct_fields__) is row["needs_control_mode"]


def test_writes_are_pinned() -> None:
    assert {name for name, rpc in RPC_TABLE.items() if rpc.access is Access.WRITE} == WRITES


def test_what_a_lock_and_the_authority_keep_back_is_pinned() -> None:
    guards = {guard: {name for name, rpc in RPC_TABLE.items() if rpc.guard is guard} for guard in Guard}
    held = ACCESS | OVERRIDES | {"DiscardPending", "ConfirmArm"}
    assert guards[Guard.LOCK] == {"HoldArm", "ReleaseArm"}
    assert guards[Guard.HOLD] == held - guards[Guard.LOCK]
    assert guards[Guard.AUTHORITY] == WRITES - UNGUARDED - held
    assert guards[Guard.NONE] >= UNGUARDED


def test_what_a_method_may_be_sent_to_is_pinned() -> None:
    of = {name: rpc.address for name, rpc in RPC_TABLE.items()}
    assert {name for name, address in of.items() if Address.ROWS in address} == ROW_BY_ROW
    assert {name for name, address in of.items() if Address.GROUP in address} == {*QUESTIONS, "Diff", "Rollout"}
    assert {name for name, address in of.items() if Address.FLEET in address} == {"GetEvents", *RECIPES, *PLANS}
    assert {name for name, address in of.items() if Address.ARM not in address} == {*OF_FLEET}


def test_methods_that_can_tighten_are_pinned() -> None:
    assert {
        "SetDesiredAngularTwist", "SetDesiredJointSpeeds", "SetDesiredLinearTwist", "SetJointAccelerationSoftLimits",
        "SetJointSpeedSoftLimits", "SetTwistAngularSoftLimit", "SetTwistLinearSoftLimit",
        "SetJointLimit", "SetJointLimits", "SetJointParameters", "SetJointSafety",
        "ApplyConfig", "ApplyRecipe",
    } == MAY_TIGHTEN  # fmt: skip


def test_methods_in_degrees_and_radians_are_pinned() -> None:
    assert {name for name, rpc in RPC_TABLE.items() if rpc.unit == "deg"} == DEGREES
    assert {name for name, rpc in RPC_TABLE.items() if rpc.unit == "rad"} == RADIANS
    assert {rpc.unit for rpc in RPC_TABLE.values()} == {"deg", "rad", ""}


def test_every_row_is_named_as_its_key_and_described() -> None:
    for name, rpc in RPC_TABLE.items():
        assert rpc.name == name
        assert rpc.summary
        assert rpc.item in {"", *ITEMS}


def test_only_a_mode_request_ends_by_itself_and_only_who_am_i_needs_no_arm() -> None:
    assert {name: rpc.ttl_ms for name, rpc in RPC_TABLE.items() if rpc.ttl_ms} == {"SetControlMode": 2000}
    assert [name for name, rpc in RPC_TABLE.items() if rpc.any_arm] == ["WhoAmI"]


def test_a_name_that_stands_twice_is_an_error() -> None:
    row = RPC_TABLE["WhoAmI"]
    with pytest.raises(ValueError, match="twice"):
        rpc_table._table([row, row])


def test_the_message_of_a_reply_is_found_by_name() -> None:
    assert reply_message("ResetJointSpeedSoftLimits") is JointSpeedSoftLimits
    assert reply_message("WhoAmI") is None
    assert reply_message("Dance") is None
