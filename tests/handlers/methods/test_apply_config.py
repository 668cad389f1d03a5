from dataclasses import replace
from typing import Any

import pytest

from handlers.batch.decide import Asked, decide_batch, preview
from handlers.batch.projection import check_value
from handlers.methods.authority import checked
from handlers.rpc.outcome import BatchProposal
from handlers.rpc_table import RPC_TABLE
from handlers.stack.arm_limits import limits_of
from schema.arms import Authority, Slot
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.joint_items import JointSafetyGains, JointSafetyMap
from schema.messages import JointSpeedSoftLimits, PayloadInformation, TwistLinearSoftLimit
from tests.handlers.builders import arm, decide
from tests.handlers.items.test_sanity import two

TWIST, SLOT = "twist_linear_soft_limit", ("twist_linear_soft_limit", 2)
GAINS = {"soft_upper_limit": 2.0, "soft_lower_limit": -2.0, "k_position": 20.0, "k_velocity": 5.0}


def twist(limit: float) -> dict[str, Any]:
    """Items with one soft limit."""
    return {TWIST: {"CARTESIAN_JOYSTICK": limit}}


def apply(state: Any, items: Any, **more: Any) -> BatchProposal:
    """The decision about an ApplyConfig."""
    found = decide(state, "ApplyConfig", {"items": items} | more)
    assert isinstance(found, BatchProposal)
    return found


def refused(state: Any, items: Any, **more: Any) -> BrokerError:
    """The refusal of an ApplyConfig."""
    with pytest.raises(BrokerError) as caught:
        apply(state, items, **more)
    return caught.value


def test_slots_come_in_the_order_in_which_they_are_written() -> None:
    gravity = {"gravity_vector": {"x": 0.0, "y": 0.0, "z": -9.7}}
    found = apply(arm(), gravity | {"joint_safety": {"joints": {}}} | twist(0.1))
    assert [step.slot for step in found.steps] == [("joint_safety", 0), SLOT, ("gravity_vector", 0)]
    assert [step.unchanged for step in found.steps] == [True, False, False]
    assert (found.loosening, found.unchanged, found.tightens) == (True, False, False)
    tighter = apply(arm(), twist(0.1))
    assert (tighter.loosening, tighter.unchanged, tighter.tightens) == (False, False, True)


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({}, "malformed"),
        ({"items": {}}, "malformed"),
        ({"items": {"control_mode": {"control_mode": "IDLE"}}}, "unsupported_option"),
        ({"items": {"gravity": {}}}, "unknown_field"),
        ({"items": twist(0.1), "when": 1}, "unknown_field"),
        ({"items": twist(0.1), "partial": 1}, "malformed"),
        ({"items": twist(0.1), "on_failure": "retry"}, "unknown_enum"),
        ({"items": twist(0.1), "on_failure": 1}, "malformed"),
        ({"items": {TWIST: {"ANGULAR_JOYSTICK": 0.1}}}, "mode_without_limit"),
    ],
)
def test_what_has_another_form_is_refused(params: dict[str, Any], kind: str) -> None:
    with pytest.raises(BrokerError) as caught:
        decide(arm(), "ApplyConfig", params)
    assert caught.value.kind == kind


def test_how_it_fails_can_be_chosen() -> None:
    assert apply(arm(), twist(0.1), on_failure="reverse").reverse
    assert not apply(arm(), twist(0.1), on_failure="leave").reverse


def test_all_violations_are_listed_and_the_first_is_told() -> None:
    items = twist(0.9) | {"desired_linear_twist": {"linear": 0.9}, "desired_angular_twist": {"angular": -1.0}}
    error = refused(arm(), items)
    assert (error.kind, error.name) == ("out_of_limits", "VALUE_IS_ABOVE_MAXIMUM")
    assert [one.path for one in error.violations] == [
        f"items.{TWIST}.CARTESIAN_JOYSTICK", "items.desired_linear_twist.linear",
        "items.desired_angular_twist.angular",
    ]  # fmt: skip
    assert "Also: desired_linear_twist out_of_limits, desired_angular_twist out_of_limits." in error.message


def test_what_is_refused_may_be_left_out() -> None:
    items = twist(0.9) | {"payload_information": {"payload_mass": 1.0}}
    found = apply(arm(), items, partial=True)
    assert [step.slot[0] for step in found.steps] == ["payload_information"]
    assert found.left_out[f"{TWIST}/CARTESIAN_JOYSTICK"]["kind"] == "out_of_limits"
    assert [warned.name for warned in found.warnings] == ["LEFT_OUT"]
    assert refused(arm(), twist(0.9), partial=True).kind == "out_of_limits"
    assert "left_out" in preview(arm(), found)
    assert "left_out" not in preview(arm(), apply(arm(), twist(0.1)))


def test_what_the_arm_has_not_is_not_applicable() -> None:
    state = arm()
    lacks = replace(
        state, reported={slot: value for slot, value in state.reported.items() if slot != SLOT}, limits=None
    )
    assert refused(lacks, twist(0.1)).kind == "not_applicable"
    mute = replace(state, methods=state.methods - {"SetTwistLinearSoftLimit"}, limits=None)
    assert refused(mute, twist(0.1)).kind == "not_applicable"
    found = apply(mute, twist(0.1) | {"payload_information": {"payload_mass": 1.0}}, partial=True)
    assert found.left_out[f"{TWIST}/CARTESIAN_JOYSTICK"]["kind"] == "not_applicable"


def test_values_are_checked_against_the_arm_as_it_will_be() -> None:
    speeds = {"joint_speed_soft_limits": {"ANGULAR_JOYSTICK": [20.0] * 7}}
    limits = {"joint_limits": {"max_velocity": {"values": [0.2] * 7}}}
    assert refused(arm(), speeds | limits).kind == "out_of_limits"
    assert apply(arm(), speeds | {"joint_limits": {"max_velocity": {"values": [0.5] * 7}}})
    assert refused(arm(), {"joint_limits": {"max_velocity": {"values": [0.2] * 3}}}).kind == "wrong_joint_count"
    left = apply(arm(), speeds | {"joint_limits": {"max_velocity": {"values": [99.0] * 7}}}, partial=True)
    assert [step.slot for step in left.steps] == [("joint_speed_soft_limits", 1)]


def test_a_payload_that_comes_with_its_tool_was_not_forgotten() -> None:
    state = arm()
    state.desired["payload_information", 0] = PayloadInformation(payload_mass=1.0)
    tool = {"tool_configuration": {"tool_mass": 0.5}}
    assert [one.name for one in apply(state, tool).warnings] == ["PAYLOAD_KEPT"]
    beside: dict[str, Any] = {"joint_safety": {"joints": {}}}
    assert [one.name for one in apply(state, tool | beside).warnings] == ["PAYLOAD_KEPT"]
    both = apply(state, tool | {"payload_information": {"payload_mass": 1.5}})
    assert both.warnings == ()
    heavy = apply(state, {"tool_configuration": {"tool_mass": 3.0}, "payload_information": {"payload_mass": 3.0}})
    assert [(one.name, one.path) for one in heavy.warnings] == [
        ("PAYLOAD_OVER_RATING", "items.payload_information.payload_mass")
    ]


def test_of_joint_items_what_is_named_changes() -> None:
    state = arm()
    kept = JointSafetyMap({"joint_1": JointSafetyGains(1.0, -1.0, 2.0, 3.0)})
    state.desired["joint_safety", 0] = state.reported["joint_safety", 0] = kept
    (step,) = apply(state, {"joint_safety": {"joints": {"joint_2": GAINS}}}).steps
    assert isinstance(step.value, JointSafetyMap)
    assert set(step.value.joints) == {"joint_1", "joint_2"}
    values: dict[Slot, Any] = {("joint_safety", 0): JointSafetyMap({"joint_2": JointSafetyGains(**GAINS)})}
    (whole,) = decide_batch(state, "u", Asked(values, whole=True)).steps
    assert isinstance(whole.value, JointSafetyMap)
    assert set(whole.value.joints) == {"joint_2"}
    (limits,) = apply(state, {"joint_limits": {"max_velocity": {"values": [0.2] * 7}}}).steps
    assert isinstance(limits.value, JointLimits)
    assert limits.value.max_acceleration is not None
    name = "joint_limits.joint_1.has_velocity_limits"
    (named,) = apply(state, {"joint_parameters": {"parameters": {name: False}}}).steps
    assert named.named == frozenset({name})
    parameters: dict[Slot, Any] = {("joint_parameters", 0): state.desired["joint_parameters", 0]}
    assert decide_batch(state, "u", Asked(parameters, whole=True)).unchanged


def test_if_rev_holds_for_every_slot() -> None:
    state = arm(rev=9)
    state.last_rev = {SLOT: 7, ("payload_information", 0): 3}
    items = twist(0.1) | {"payload_information": {"payload_mass": 1.0}}
    assert refused_at(state, items, 6).kind == "revision_conflict"
    assert refused_at(state, items, 10).kind == "revision_conflict"
    assert decide(state, "ApplyConfig", {"items": items}, if_rev=7)


def refused_at(state: Any, items: Any, rev: int) -> BrokerError:
    """The refusal of an ApplyConfig with `if_rev`."""
    with pytest.raises(BrokerError) as caught:
        decide(state, "ApplyConfig", {"items": items}, if_rev=rev)
    return caught.value


def test_a_dry_run_shows_what_would_be_done() -> None:
    state = arm()
    tool = {"tool_transform": {"z": 0.12}, "tool_mass": 0.925, "tool_mass_center": {"z": 0.047}}
    items = twist(0.1) | {"payload_information": {"payload_mass": 1.0}, "tool_configuration": tool}
    told = preview(state, apply(state, items))["items"]
    assert isinstance(told, dict)
    assert {path: (one["direction"], one["step"]) for path, one in told.items()} == {
        "tool_configuration": ("unchanged", 0), f"{TWIST}/CARTESIAN_JOYSTICK": ("tightening", 1),
        "payload_information": ("unordered", 2),
    }  # fmt: skip
    before = state.reported[SLOT]
    assert isinstance(before, TwistLinearSoftLimit)
    assert told[f"{TWIST}/CARTESIAN_JOYSTICK"]["before"] == before.twist_linear_soft_limit


def test_a_projection_keeps_what_the_limits_are_made_of() -> None:
    state = arm()
    first = limits_of(state).bounds(TWIST)
    apply(state, twist(0.1) | {"payload_information": {"payload_mass": 1.0}})
    assert limits_of(state).bounds(TWIST) is first
    assert state.reported[SLOT] == arm().reported[SLOT]


def test_a_value_is_judged_beside_those_that_are_still_to_come() -> None:
    state = arm()
    speeds = JointSpeedSoftLimits(ControlMode.ANGULAR_JOYSTICK, (20.0,) * 7)
    tight = JointLimits(max_velocity=RepeatedDouble((0.2,) * 7))
    values: dict[Slot, Any] = {("joint_speed_soft_limits", 1): speeds}
    assert check_value(state, values, ("joint_speed_soft_limits", 1)) == ()
    with pytest.raises(BrokerError):
        check_value(state, values | {("joint_limits", 0): tight}, ("joint_speed_soft_limits", 1))


def test_doubts_about_stopping_are_told_of_slots() -> None:
    safety = {"soft_upper_limit": 1.75, "soft_lower_limit": -1.9, "k_position": 5.0, "k_velocity": 5.0}
    found = apply(two(), {"joint_safety": {"joints": {"joint_1": safety}}} | twist(0.1))
    assert [(warned.name, warned.path) for warned in found.warnings] == [("STOPPING_DISTANCE", "items.joint_safety")]


def test_a_batch_below_control_is_told_as_other_changes_are() -> None:
    rpc = RPC_TABLE["ApplyConfig"]
    watched = arm(authority=Authority.OBSERVE)
    found = checked(watched, rpc, apply(watched, twist(0.1)))
    assert [one.name for one in found.warnings] == ["OBSERVED"]
    assert found.warnings[0].message.endswith("the change would be written as a tightening")
    away = arm(online=False)
    assert [one.name for one in checked(away, rpc, apply(away, twist(0.1))).warnings] == ["DEVICE_DISCONNECTED"]
    held = checked(away, rpc, apply(away, {"joint_safety": {"joints": {"joint_2": GAINS}}}))
    assert held.warnings == ()
    assert isinstance(held.result, dict)
    assert set(held.result["items"]) == {"joint_safety"}
