"""RestoreFactory: what goes back to what, and how its outcomes are told."""

from typing import Any

import pytest

from handlers.batch.outcomes import OUTCOMES, by_item
from handlers.methods.factory import Step, factory_slots, has_no_reset, shortfall, step_of
from handlers.rpc.outcome import Restoration
from handlers.state.arm_state import ArmState
from schema.arms import Slot, Verb
from schema.errors import BrokerError
from schema.items import CONFIG_ITEMS, ITEMS
from tests.handlers.builders import arm, decide, values

FIRST_KEYS = ("cartesian_reference_frame", "desired_linear_twist", "desired_angular_twist", "desired_joint_speeds")
FIRST = {(key, 0): values()[key, 0] for key in FIRST_KEYS}


def whole(**changes: Any) -> ArmState:
    """An arm whose first values are known."""
    return arm(first=FIRST, **changes)


def test_every_item_but_the_mode_is_restored_those_of_the_service_first() -> None:
    slots = factory_slots(whole())
    assert {key for key, _ in slots} == {item.key for item in CONFIG_ITEMS} - {"control_mode"}
    assert len(slots) == len(set(slots)) == 23
    assert slots[:3] == (("joint_parameters", 0), ("joint_safety", 0), ("joint_limits", 0))
    assert decide(whole(), "RestoreFactory") == Restoration(slots)


def test_what_the_arm_cannot_do_is_left_out() -> None:
    methods = arm().methods - {"ResetGravityVector", "SetDesiredLinearTwist"}
    slots = factory_slots(whole(methods=methods))
    assert {("gravity_vector", 0), ("desired_linear_twist", 0)}.isdisjoint(slots)
    assert ("desired_angular_twist", 0) not in factory_slots(arm())
    lean = whole()
    del lean.reported["gravity_vector", 0]
    assert ("gravity_vector", 0) not in factory_slots(lean)


def test_what_has_a_reset_is_reset_and_the_rest_set() -> None:
    state = whole()
    assert step_of(state, ITEMS["gravity_vector"], ("gravity_vector", 0)) == Step(Verb.RESET, None)
    slot = ("desired_linear_twist", 0)
    assert step_of(state, ITEMS[slot[0]], slot) == Step(Verb.SET, FIRST[slot])
    safety = ("joint_safety", 0)
    assert step_of(state, ITEMS[safety[0]], safety) == Step(Verb.SET, state.reported[safety])
    assert [item.key for item in CONFIG_ITEMS if has_no_reset(item)] == [
        "cartesian_reference_frame",
        "desired_linear_twist",
        "desired_angular_twist",
        "desired_joint_speeds",
        "joint_limits",
        "joint_safety",
        "joint_parameters",
    ]


def test_limits_that_the_arm_itself_holds_are_set_to_what_was_adopted() -> None:
    slot = ("joint_limits", 0)
    state = arm(first=FIRST | {slot: values()[slot]}, arm_items=frozenset({"joint_limits"}))
    assert factory_slots(state).index(slot) > factory_slots(state).index(("joint_parameters", 0))
    assert step_of(state, ITEMS["joint_limits"], slot) == Step(Verb.SET, values()[slot])


@pytest.mark.parametrize(
    ("changes", "envelope", "kind"),
    [
        ({"unsettled": 256, "unsettled_of": {"alice": 256}}, {}, "busy"),
        ({"adopted": False}, {}, "arm_not_read"),
        ({"distrust": "another serial number"}, {}, "held"),
        ({"online": False}, {}, "arm_away"),
        ({"ready": False}, {}, "arm_not_ready"),
        ({"last_rev": {("gravity_vector", 0): 3}}, {"if_rev": 2}, "revision_conflict"),
        ({}, {"if_rev": 4}, "revision_conflict"),
    ],
)
def test_it_is_never_pending(changes: dict[str, Any], envelope: dict[str, Any], kind: str) -> None:
    with pytest.raises(BrokerError) as caught:
        decide(whole(**changes), "RestoreFactory", **envelope)
    assert caught.value.kind == kind
    assert decide(whole(last_rev={("gravity_vector", 0): 2}), "RestoreFactory", if_rev=2).slots


def test_it_takes_no_params() -> None:
    with pytest.raises(BrokerError) as caught:
        decide(whole(), "RestoreFactory", {"item": "gravity_vector"})
    assert caught.value.kind == "unknown_field"


def test_an_item_is_as_its_worst_slot() -> None:
    outcomes: dict[Slot, str] = {
        ("gravity_vector", 0): "unchanged",
        ("twist_linear_soft_limit", 2): "rounded",
        ("twist_linear_soft_limit", 5): "refused",
        ("twist_linear_soft_limit", 12): "applied",
    }
    assert by_item(outcomes) == {"gravity_vector": "unchanged", "twist_linear_soft_limit": "refused"}


def test_what_was_not_restored_is_named_slot_by_slot() -> None:
    outcomes: dict[Slot, str] = {("gravity_vector", 0): "applied", ("desired_linear_twist", 0): "clamped"}
    assert shortfall(arm(), outcomes) is None
    outcomes |= {("twist_linear_soft_limit", 5): "refused"}
    error = shortfall(arm(), outcomes)
    assert error is not None
    assert (error.kind, error.message) == (
        "arm_refused",
        "r12: 2 of 3 slots were restored; not restored: twist_linear_soft_limit/CARTESIAN_TRAJECTORY refused",
    )
    error = shortfall(arm(), outcomes | {("payload_information", 0): "arm_away"})
    assert error is not None
    assert error.kind == "arm_away"


@pytest.mark.parametrize("outcome", OUTCOMES[4:])
def test_every_bad_outcome_has_an_error(outcome: str) -> None:
    error = shortfall(arm(), {("gravity_vector", 0): outcome})
    assert error is not None
    assert error.kind in {outcome, "arm_refused", "overwritten"}
