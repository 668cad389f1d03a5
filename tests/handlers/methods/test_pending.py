"""What people decide about pending changes and about another arm."""

import pytest

from handlers.methods.pending import waiting_warnings
from handlers.rpc.outcome import ArmOrder, ConfirmOrder, DiscardOrder
from handlers.state.arm_state import ArmState
from schema.errors import BrokerError
from tests.handlers.builders import arm, decide, linear, never_read

PARKED = {4: False, 6: True}
METHODS = ("ConfirmPending", "DiscardPending")


def refused(state: ArmState, method: str, params: dict[str, object] | None = None) -> BrokerError:
    with pytest.raises(BrokerError) as caught:
        decide(state, method, params)
    assert caught.value.message
    return caught.value


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({}, "malformed"),
        ({"rev": 6, "all": True}, "malformed"),
        ({"all": False}, "malformed"),
        ({"all": 1}, "malformed"),
        ({"rev": "6"}, "malformed"),
        ({"rev": True}, "malformed"),
        ({"rev": 0}, "out_of_limits"),
        ({"rev": 1 << 63}, "out_of_limits"),
        ({"rev": 6, "item": "x"}, "unknown_field"),
        ({"rev": 5}, "revision_conflict"),
    ],
)
def test_one_revision_or_all_is_named(method: str, params: dict[str, object], kind: str) -> None:
    assert refused(arm(parked=PARKED), method, params).kind == kind


def test_a_held_change_is_confirmed_and_what_waits_only_for_its_arm_is_not() -> None:
    state = arm(parked=PARKED)
    assert decide(state, "ConfirmPending", {"rev": 6}) == ConfirmOrder(6)
    assert decide(state, "ConfirmPending", {"all": True}) == ConfirmOrder(0)
    error = refused(state, "ConfirmPending", {"rev": 4})
    assert (error.kind, error.message) == (
        "revision_conflict",
        "params.rev: 4 is not held, it goes out when r12 can take it. Nothing was changed.",
    )


def test_every_pending_change_can_be_discarded() -> None:
    state = arm(parked=PARKED)
    assert decide(state, "DiscardPending", {"rev": 4}) == DiscardOrder(4)
    assert decide(state, "DiscardPending", {"rev": 6}) == DiscardOrder(6)
    assert decide(state, "DiscardPending", {"all": True}) == DiscardOrder(0)


def test_what_is_pending_stands_in_the_refusal() -> None:
    assert "pending: 4, 6." in refused(arm(parked=PARKED), "DiscardPending", {"rev": 5}).message
    assert "pending: none." in refused(arm(), "DiscardPending", {"rev": 5}).message


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (never_read(), "arm_not_read"),
        (never_read(distrust="its limits cannot be used", unfit=True), "held"),
        (arm(distrust="its limits cannot be used", unfit=True), "held"),
        (arm(), "revision_conflict"),
        (arm(distrust="another serial number", online=False), "arm_away"),
    ],
)
def test_there_must_be_another_arm_to_confirm(state: ArmState, kind: str) -> None:
    assert refused(state, "ConfirmArm").kind == kind


def test_an_arm_that_is_held_can_be_confirmed() -> None:
    assert decide(arm(distrust="another serial number", ready=False), "ConfirmArm") == ArmOrder()


def test_another_arm_is_confirmed_without_params() -> None:
    assert refused(arm(distrust="another serial number"), "ConfirmArm", {"serial": "S-2"}).kind == "unknown_field"


def test_an_accepted_change_is_told_why_it_waits() -> None:
    assert waiting_warnings(arm()) == ()
    for state, name, text in (
        (arm(online=False, ready=False), "DEVICE_DISCONNECTED", "r12 is not connected"),
        (arm(ready=False, distrust="another serial number"), "DEVICE_NOT_READY", "r12 is held: another serial number"),
        (arm(ready=False), "DEVICE_NOT_READY", "r12 takes no change now"),
    ):
        (warned,) = waiting_warnings(state)
        assert warned.name == name
        assert warned.message.startswith(text)


def test_a_change_that_waits_takes_its_direction_from_what_is_reported() -> None:
    assert not decide(arm(online=False), "SetTwistLinearSoftLimit", linear(0.1)).loosening
