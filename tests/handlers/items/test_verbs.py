from typing import Any

import pytest

from handlers.items.verbs import slot_of, surely_loosens
from handlers.rpc_table import RPC_TABLE
from handlers.state.provenance import PARTED
from schema.arms import Verb
from schema.enums import CartesianReferenceFrame, ControlMode
from schema.envelope import Stage, View
from schema.errors import BrokerError
from schema.items import CONFIG_ITEMS, ITEMS, ConfigItem
from schema.messages import (
    CartesianReferenceFrameInfo,
    ControlModeInformation,
    GravityVector,
    JointAccelerationSoftLimits,
    Message,
    PayloadInformation,
)
from tests.handlers.builders import angular, answer, arm, linear, never_read, propose, speeds

TWIST = ("twist_linear_soft_limit", int(ControlMode.CARTESIAN_JOYSTICK))
GRAVITY = ("gravity_vector", 0)


def kind(method: str, params: Message | None = None, state: dict[str, Any] | None = None, **envelope: Any) -> str:
    with pytest.raises(BrokerError) as caught:
        propose(arm(**(state or {})), method, params, **envelope)
    return caught.value.kind


def test_a_get_answers_what_was_reported_and_when() -> None:
    found = answer(arm(), "GetGravityVector")
    assert found.result == GravityVector(0.0, 0.0, -9.81)
    assert (found.stage, found.reported_at_us, found.warnings) == (Stage.READ, 1_000_000, ())
    assert (found.desired, found.pending_rev) == (None, 0)


def test_a_get_shows_what_is_desired_where_it_differs() -> None:
    state = arm()
    state.desired[GRAVITY] = GravityVector(9.81, 0.0, 0.0)
    state.open[GRAVITY], state.open_rev[GRAVITY] = 1, 4
    found = answer(state, "GetGravityVector")
    assert found.result == GravityVector(0.0, 0.0, -9.81)
    assert (found.desired, found.pending_rev) == (GravityVector(9.81, 0.0, 0.0), 4)
    asked = answer(state, "GetGravityVector", view=View.DESIRED)
    assert asked.result == asked.desired == GravityVector(9.81, 0.0, 0.0)


def test_a_settled_revision_is_not_pending() -> None:
    state = arm()
    state.open_rev[GRAVITY] = 4
    assert answer(state, "GetGravityVector").pending_rev == 0
    state.open[GRAVITY] = 0
    assert answer(state, "GetGravityVector").pending_rev == 0


def test_a_rounded_value_does_not_differ() -> None:
    state = arm()
    state.desired[GRAVITY] = GravityVector(0.0, 0.0, -9.8101)
    assert answer(state, "GetGravityVector").desired is None


def test_a_get_of_an_arm_that_is_not_connected_says_so() -> None:
    found = answer(arm(online=False), "GetGravityVector")
    assert found.result == GravityVector(0.0, 0.0, -9.81)
    assert [warning.name for warning in found.warnings] == ["DEVICE_DISCONNECTED"]


@pytest.mark.parametrize("state", [never_read(), arm(reported={})])
def test_a_get_of_what_was_never_read_is_refused(state: Any) -> None:
    with pytest.raises(BrokerError) as caught:
        answer(state, "GetGravityVector")
    assert caught.value.kind == "arm_not_read"


def test_a_set_proposes_the_value_for_its_slot() -> None:
    found = propose(arm(), "SetTwistLinearSoftLimit", linear(0.2))
    assert (found.slot, found.verb, found.value) == (TWIST, Verb.SET, linear(0.2))
    assert (found.loosening, found.unchanged, found.warnings) == (False, False, ())


def test_a_reset_proposes_no_value_and_counts_as_loosening() -> None:
    mode = ControlModeInformation(ControlMode.CARTESIAN_JOYSTICK)
    found = propose(arm(), "ResetTwistLinearSoftLimit", mode)
    assert (found.slot, found.verb, found.value) == (TWIST, Verb.RESET, None)
    assert (found.loosening, found.unchanged) == (True, False)
    assert propose(arm(), "ResetGravityVector").slot == GRAVITY


def test_the_warnings_of_the_checks_come_with_the_proposal() -> None:
    (warning,) = propose(arm(), "SetPayloadInformation", PayloadInformation(3.5)).warnings
    assert warning.name == "PAYLOAD_OVER_RATING"


@pytest.mark.parametrize(
    ("value", "unchanged"), [(0.5, True), (0.5000001, True), (0.4999, False), (0.49999, False), (0.2, False)]
)
def test_a_length_is_unchanged_within_float32_only(value: float, unchanged: bool) -> None:
    assert propose(arm(), "SetTwistLinearSoftLimit", linear(value)).unchanged is unchanged


@pytest.mark.parametrize(("value", "unchanged"), [(100.0, True), (99.9983, True), (99.99, False), (99.95, False)])
def test_an_angle_is_unchanged_within_the_resolution_only(value: float, unchanged: bool) -> None:
    assert propose(arm(), "SetTwistAngularSoftLimit", angular(value)).unchanged is unchanged


def test_unchanged_wants_desired_and_reported_to_agree_and_nothing_pending() -> None:
    for unknown in ("desired", "reported"):
        assert not propose(arm(**{unknown: {}}), "SetTwistLinearSoftLimit", linear(0.5)).unchanged
    state = arm()
    state.open[TWIST] = 1
    assert not propose(state, "SetTwistLinearSoftLimit", linear(0.5)).unchanged
    state.open[TWIST] = 0
    assert propose(state, "SetTwistLinearSoftLimit", linear(0.5)).unchanged
    state.reported[TWIST] = linear(0.4)
    assert not propose(state, "SetTwistLinearSoftLimit", linear(0.5)).unchanged
    state.reported[TWIST], state.desired[TWIST] = linear(0.5), linear(0.4)
    assert not propose(state, "SetTwistLinearSoftLimit", linear(0.5)).unchanged


def test_the_direction_is_found_against_what_was_reported() -> None:
    state = arm()
    state.reported[TWIST] = linear(0.3)
    assert propose(state, "SetTwistLinearSoftLimit", linear(0.4)).loosening
    assert not propose(state, "SetTwistLinearSoftLimit", linear(0.3)).loosening
    assert not propose(state, "SetTwistLinearSoftLimit", linear(0.2)).loosening


@pytest.mark.parametrize("limit", [0.2, 0.3, 0.4])
def test_that_a_set_loosens_is_known_before_it_is_checked(limit: float) -> None:
    state, item = arm(), ITEMS["twist_linear_soft_limit"]
    state.reported[TWIST] = linear(0.3)
    loosening = propose(state, "SetTwistLinearSoftLimit", linear(limit)).loosening
    assert surely_loosens(state, item, linear(limit)) is loosening
    del state.reported[TWIST]
    assert surely_loosens(state, item, linear(limit))
    assert surely_loosens(state, ITEMS["gravity_vector"], GravityVector(0.0, 0.0, -9.81))


@pytest.mark.parametrize("item", [item for item in CONFIG_ITEMS if item.record in PARTED], ids=lambda item: item.key)
def test_of_what_is_set_by_parts_that_is_not_known(item: ConfigItem) -> None:
    assert not surely_loosens(arm(), item, item.record())


MODES = {
    "SetJointSpeedSoftLimits": {1, 2, 4, 5, 12},
    "SetJointAccelerationSoftLimits": {1, 4},
    "SetTwistLinearSoftLimit": {2, 5, 12},
    "SetTwistAngularSoftLimit": {2, 5, 12},
}
BY_METHOD: dict[str, Any] = {
    "SetJointSpeedSoftLimits": lambda mode: speeds(50.0, mode=mode),
    "SetJointAccelerationSoftLimits": lambda mode: JointAccelerationSoftLimits(mode, (50.0,) * 7),
    "SetTwistLinearSoftLimit": lambda mode: linear(0.2, mode),
    "SetTwistAngularSoftLimit": lambda mode: angular(50.0, mode),
}


@pytest.mark.parametrize("mode", list(ControlMode))
@pytest.mark.parametrize("method", list(MODES))
def test_a_limit_is_taken_in_its_modes_and_refused_in_all_others(method: str, mode: ControlMode) -> None:
    reset, of_mode = method.replace("Set", "Reset", 1), ControlModeInformation(mode)
    if mode in MODES[method]:
        assert propose(arm(), method, BY_METHOD[method](mode)).slot == (RPC_TABLE[method].item, mode)
        assert propose(arm(), reset, of_mode).slot == (RPC_TABLE[method].item, mode)
        return
    refused_as = "mode_without_limit" if mode else "unknown_enum"
    assert kind(method, BY_METHOD[method](mode)) == refused_as
    assert kind(reset, of_mode) == refused_as


def test_a_mode_without_the_limit_is_told_before_the_values() -> None:
    with pytest.raises(BrokerError) as caught:
        propose(arm(), "SetTwistLinearSoftLimit", linear(9.0, ControlMode.ANGULAR_JOYSTICK))
    assert (caught.value.kind, caught.value.name, caught.value.sub_code) == ("mode_without_limit", "METHOD_FAILED", 1)
    assert "CARTESIAN_JOYSTICK, CARTESIAN_TRAJECTORY, CARTESIAN_WAYPOINT_TRAJECTORY" in caught.value.message


@pytest.mark.parametrize(
    ("changes", "refused_as"),
    [
        ({"unsettled": 256, "unsettled_of": {"alice": 8}}, "busy"),
        ({"unsettled": 2, "queue_limit": 2, "unsettled_of": {"alice": 1}}, "busy"),
        ({"unsettled": 320}, "busy"),
        ({"adopted": False}, "arm_not_read"),
        ({"description": None}, "arm_not_read"),
        ({"distrust": "its limits cannot be used", "unfit": True}, "held"),
    ],
)
def test_an_arm_that_cannot_take_a_change_now_refuses_before_the_value_is_looked_at(
    changes: dict[str, Any], refused_as: str
) -> None:
    assert kind("SetTwistLinearSoftLimit", linear(9.0), changes) == refused_as
    assert kind("ResetGravityVector", None, changes) == refused_as


@pytest.mark.parametrize(
    ("changes", "refused_as"),
    [
        ({"distrust": "another serial number"}, "held"),
        ({"online": False}, "arm_away"),
        ({"ready": False}, "arm_not_ready"),
    ],
)
def test_an_arm_that_takes_nothing_now_is_asked_later_for_a_set_and_never_for_a_reset(
    changes: dict[str, Any], refused_as: str
) -> None:
    assert propose(arm(**changes), "SetTwistLinearSoftLimit", linear(0.2)).value == linear(0.2)
    assert kind("SetTwistLinearSoftLimit", linear(9.0), changes) == "out_of_limits"
    assert kind("ResetGravityVector", None, changes) == refused_as


def test_a_queue_with_room_for_one_more_takes_it() -> None:
    assert propose(arm(unsettled=255), "SetTwistLinearSoftLimit", linear(0.2)).slot == TWIST


def test_why_an_arm_is_held_stands_in_the_refusal() -> None:
    with pytest.raises(BrokerError, match="r12 is held: another serial number"):
        propose(arm(distrust="another serial number"), "ResetGravityVector")


@pytest.mark.parametrize(("if_rev", "passes"), [(4, False), (5, True), (6, True), (7, True), (8, False), (0, False)])
def test_if_rev_passes_from_the_last_change_of_the_slot_to_the_arms_revision(if_rev: int, passes: bool) -> None:
    state = {"rev": 7, "last_rev": {TWIST: 5}}
    if passes:
        assert propose(arm(**state), "SetTwistLinearSoftLimit", linear(0.2), if_rev=if_rev).slot == TWIST
    else:
        assert kind("SetTwistLinearSoftLimit", linear(0.2), state, if_rev=if_rev) == "revision_conflict"


def test_if_rev_looks_at_one_slot_only() -> None:
    state = arm(rev=7, last_rev={TWIST: 5})
    other = linear(0.2, ControlMode.CARTESIAN_TRAJECTORY)
    assert propose(state, "SetTwistLinearSoftLimit", other, if_rev=1).value == other
    reset = ControlModeInformation(ControlMode.CARTESIAN_JOYSTICK)
    with pytest.raises(BrokerError, match="last changed in rev 5, the arm is at 7"):
        propose(state, "ResetTwistLinearSoftLimit", reset, if_rev=4)


def test_a_frame_is_set_without_a_slot_of_a_mode() -> None:
    tool = CartesianReferenceFrameInfo(CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_TOOL)
    found = propose(arm(), "SetCartesianReferenceFrame", tool)
    assert (found.slot, found.value, found.loosening) == (("cartesian_reference_frame", 0), tool, True)


@pytest.mark.parametrize("method", ["SetGravityVector", "ResetGravityVector"])
def test_params_that_are_no_message_are_a_fault_of_ours(method: str) -> None:
    with pytest.raises(TypeError):
        answer(arm(), method, {"x": 1.0})


def test_the_slot_of_an_item_is_that_of_its_mode_if_it_has_any() -> None:
    assert slot_of(ITEMS["gravity_vector"], 0) == ("gravity_vector", 0)
    joystick = int(ControlMode.CARTESIAN_JOYSTICK)
    assert slot_of(ITEMS["twist_linear_soft_limit"], joystick) == ("twist_linear_soft_limit", joystick)
