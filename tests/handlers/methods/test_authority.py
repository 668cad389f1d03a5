"""How far the service may go with an arm, and the lock on it."""

from typing import Any

import pytest

from handlers.methods.authority import barring, below_control, check_hold, checked, hold_document, is_checked_only
from handlers.rpc.outcome import AuthorityOrder, FaultOrder, HoldOrder, Proposal, ReleaseOrder
from handlers.rpc_table import RPC_TABLE
from handlers.state.arm_state import LONGEST_HOLD_US, ArmState, Hold
from schema.arms import Authority, Fault, Verb
from schema.envelope import Author, Stage, Warned
from schema.errors import BrokerError
from schema.intrinsic import JointLimits
from schema.messages import Empty
from tests.handlers.builders import arm, decide, linear

AT_US = 1_700_000_000_123_456
"""When requests come: 2023-11-14T22:13:20.123456Z."""
HOLD = Hold(Author("ann", "hmi-1", proven=True), "gripper change", AT_US - 60_000_000)
SLOT = ("twist_linear_soft_limit", 2)


def refused(method: str, params: dict[str, object], state: ArmState | None = None, **envelope: Any) -> BrokerError:
    with pytest.raises(BrokerError) as caught:
        decide(state or arm(), method, params, **envelope)
    return caught.value


@pytest.mark.parametrize("authority", Authority)
def test_every_authority_can_be_set_with_a_reason_or_without(authority: Authority) -> None:
    assert decide(arm(), "SetAuthority", {"authority": str(authority)}) == AuthorityOrder(authority, "")
    params: dict[str, object] = {"authority": str(authority), "reason": "commissioning"}
    assert decide(arm(), "SetAuthority", params, reason="other") == AuthorityOrder(authority, "commissioning")


@pytest.mark.parametrize(
    ("method", "params", "kind", "text"),
    [
        ("SetAuthority", {}, "unknown_enum", "params.authority: '' is none of observe, advise, control"),
        ("SetAuthority", {"authority": "all"}, "unknown_enum", "params.authority: 'all'"),
        ("SetAuthority", {"authority": 1}, "malformed", "params.authority: a text is needed"),
        ("SetAuthority", {"authority": "observe", "level": 1}, "unknown_field", "params.'level'"),
        ("SetAuthority", {"authority": "observe", "reason": "x" * 201}, "bad_request_field", "params.reason: 201"),
        ("HoldArm", {}, "malformed", "params.reason: a reason is needed"),
        ("HoldArm", {"reason": "  "}, "malformed", "params.reason: a reason is needed"),
        ("HoldArm", {"reason": "a\u202eb"}, "bad_request_field", "params.reason"),
        ("HoldArm", {"reason": "x", "until": "tomorrow"}, "malformed", "params.until: 'tomorrow': no RFC 3339 time"),
        ("HoldArm", {"reason": "x", "until": 7}, "malformed", "params.until: a text is needed"),
        ("HoldArm", {"reason": "x", "until": "2023-11-14T22:13:20.123456Z"}, "out_of_limits", "is not after 2023"),
        ("HoldArm", {"reason": "x", "who": "bob"}, "unknown_field", "params.'who'"),
        ("ReleaseArm", {}, "revision_conflict", "nobody holds r12, there is nothing to release. Nothing"),
        ("ReleaseArm", {"all": True}, "unknown_field", "params.'all'"),
    ],
)
def test_what_the_params_must_not_be(method: str, params: dict[str, object], kind: str, text: str) -> None:
    error = refused(method, params)
    assert error.kind == kind
    assert text in error.message


def test_a_lock_ends_when_told_or_after_the_longest_time() -> None:
    last_us = AT_US + LONGEST_HOLD_US
    assert decide(arm(), "HoldArm", {"reason": "gripper change"}) == HoldOrder("gripper change", last_us)
    assert decide(arm(), "HoldArm", {}, reason="gripper change") == HoldOrder("gripper change", last_us)
    params: dict[str, object] = {"reason": "x", "until": "2023-11-14T22:13:20.123457Z"}
    assert decide(arm(), "HoldArm", params) == HoldOrder("x", AT_US + 1)
    assert decide(arm(hold=HOLD), "ReleaseArm", {}) == ReleaseOrder()


def test_no_lock_lasts_longer_than_the_settings_allow() -> None:
    state = arm()
    state.longest_hold_us = 5_400_000_000
    params: dict[str, object] = {"reason": "x", "until": "2023-11-14T23:43:20.123456Z"}
    assert decide(state, "HoldArm", params) == HoldOrder("x", AT_US + 5_400_000_000)
    params["until"] = "2023-11-14T23:43:20.123457Z"
    with pytest.raises(
        BrokerError, match=r"after 2023-11-14T23:43:20\.123456Z, when the longest lock ends \(1.5 h\)"
    ) as caught:
        decide(state, "HoldArm", params)
    assert (caught.value.kind, caught.value.name) == ("out_of_limits", "VALUE_IS_ABOVE_MAXIMUM")


@pytest.mark.parametrize("ceiling", Authority)
@pytest.mark.parametrize("wanted", Authority)
def test_the_authority_of_the_settings_is_a_ceiling(ceiling: Authority, wanted: Authority) -> None:
    state = arm()
    state.ceiling = ceiling
    if list(Authority).index(wanted) <= list(Authority).index(ceiling):
        assert decide(state, "SetAuthority", {"authority": wanted}) == AuthorityOrder(wanted, "")
    else:
        with pytest.raises(
            BrokerError, match=f"{wanted} is above {ceiling}, which the settings name for r12"
        ) as caught:
            decide(state, "SetAuthority", {"authority": wanted})
        assert caught.value.kind == "not_permitted"


def test_a_lock_bars_everybody_but_its_holder_until_its_end() -> None:
    ends = Hold(HOLD.by, HOLD.reason, HOLD.since_us, AT_US)
    assert barring(arm(), "bob", AT_US) is None
    assert barring(arm(hold=HOLD), "ann", AT_US) is None
    assert barring(arm(hold=HOLD), "bob", AT_US) is HOLD
    assert barring(arm(hold=ends), "bob", AT_US - 1) is ends
    assert barring(arm(hold=ends), "bob", AT_US) is None
    check_hold(arm(hold=ends), "bob", AT_US)


def test_the_refusal_of_a_lock_names_who_why_since_and_until() -> None:
    ends = Hold(Author("ann", "hmi-1", proven=False), HOLD.reason, HOLD.since_us, AT_US + 1)
    for hold, text in (
        (HOLD, "r12 is held by ann since 2023-11-14T22:12:20.123456Z: gripper change. Nothing was changed."),
        (ends, "r12 is held by ann (not proven) since 2023-11-14T22:12:20.123456Z until 2023-11-14T22:13:20.123457Z: "),
    ):
        with pytest.raises(BrokerError) as caught:
            check_hold(arm(hold=hold), "bob", AT_US)
        assert (caught.value.kind, caught.value.retry) == ("held", "new_id")
        assert caught.value.message.startswith(text)


def test_a_lock_is_shown_with_its_end_if_it_has_one() -> None:
    shown = {
        "by": {"user": "ann", "connection": "hmi-1", "proven": True},
        "reason": "gripper change",
        "since": "2023-11-14T22:12:20.123456Z",
    }
    assert hold_document(HOLD) == shown
    ends = Hold(HOLD.by, HOLD.reason, HOLD.since_us, AT_US)
    assert hold_document(ends) == {**shown, "until": "2023-11-14T22:13:20.123456Z"}


def test_below_control_only_what_changes_the_arm_or_its_items_is_checked_only() -> None:
    changes, other = RPC_TABLE["SetTwistLinearSoftLimit"], ("GetGravityVector", "Unsubscribe", "HoldArm", "SimFault")
    for authority in (Authority.OBSERVE, Authority.ADVISE):
        state = arm(authority=authority)
        assert is_checked_only(state, changes)
        assert not any(is_checked_only(state, RPC_TABLE[name]) for name in other)
        error = below_control(state)
        assert (error.kind, error.message) == ("held", f"the authority over r12 is {authority}. Nothing was changed.")
    assert not is_checked_only(arm(), changes)


def change(**given: Any) -> Proposal:
    return Proposal(**{"slot": SLOT, "verb": Verb.SET, "value": linear(0.2), "loosening": False, **given})


def told(state: ArmState, proposal: Proposal, method: str = "SetTwistLinearSoftLimit") -> Warned:
    answer = checked(state, RPC_TABLE[method], proposal)
    assert (answer.result, answer.stage) == (Empty(), Stage.CHECKED)
    *others, last = answer.warnings
    assert tuple(others) == proposal.warnings
    return last


@pytest.mark.parametrize(
    ("given", "state", "text"),
    [
        ({}, {}, "the change would be written as a tightening"),
        ({"loosening": True}, {}, "the change would be written as a loosening"),
        ({"warnings": (Warned("UNIT_SUSPECT", "?"),)}, {}, "the change would be written as a tightening"),
        ({"unchanged": True}, {}, "the change would leave the value unchanged"),
        ({}, {"online": False}, "the change would wait, as a tightening: r12 is not connected"),
        ({}, {"distrust": "another serial number"}, "the change would wait, as a tightening: r12 is held"),
        ({"loosening": True}, {"ready": False}, "the change would wait, as a loosening: r12 takes no change now"),
        ({"slot": ("joint_limits", 0), "value": JointLimits()}, {"online": False}, "in force at once, as a tightening"),
    ],
)
def test_what_would_have_come_of_a_change_of_an_observed_arm(
    given: dict[str, Any], state: dict[str, Any], text: str
) -> None:
    warned = told(arm(authority=Authority.OBSERVE, **state), change(**given))
    assert warned.name == "OBSERVED"
    assert warned.message.startswith("r12 is only observed, nothing was written: the change would")
    assert warned.message.endswith(text)


def test_advice_is_a_dry_run_that_says_so() -> None:
    warned = told(arm(authority=Authority.ADVISE), change())
    assert warned == Warned("ADVISED", "the authority over r12 is advise: this was a dry run, nothing was written")


def test_an_order_that_is_only_checked_has_no_direction() -> None:
    rpc = RPC_TABLE["SetControlMode"]
    answer = checked(arm(authority=Authority.OBSERVE), rpc, FaultOrder(Fault("none")))
    assert answer.warnings[0].message.endswith("the request would be carried out")


def test_a_dry_run_of_a_controlled_arm_has_the_warnings_of_the_change_alone() -> None:
    warned = (Warned("UNIT_SUSPECT", "?"),)
    answer = checked(arm(), RPC_TABLE["SetTwistLinearSoftLimit"], change(warnings=warned))
    assert (answer.result, answer.warnings) == (Empty(), warned)
    answer = checked(arm(), RPC_TABLE["HoldArm"], HoldOrder("x", 0))
    assert (answer.result, answer.stage, answer.warnings) == ({}, Stage.CHECKED, ())
