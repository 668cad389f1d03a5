"""What users may do with an arm beside reading it."""

import pytest

from handlers.rpc.rights import EVERYTHING, NO_GRANT, Grant, check_group_right, check_right, may_unlock
from handlers.rpc.row import Access, Guard, Right
from handlers.rpc_table import RPC_TABLE
from handlers.state.arm_state import ArmState, Hold
from schema.envelope import Author
from schema.errors import BrokerError

OF_THEIR_OWN = {
    "SetAuthority": Right.AUTHORITY,
    "ConfirmArm": Right.CONFIRM,
    "ConfirmPending": Right.CONFIRM,
    "RestoreFactory": Right.FACTORY,
}
FREE = {"ControlConfigurationTopic", "ControlModeTopic", "Unsubscribe", "SteerPlan"}
"""They change nothing of an arm, or ask for the rights to the arms of a plan."""


def arm(holder: str = "") -> ArmState:
    state = ArmState(arm="r1", adapter="", methods=frozenset(), resolution_rad=0.0)
    if holder:
        state.hold = Hold(Author(holder, "c", proven=True), "work", 1, 2)
    return state


def refused(state: ArmState, method: str, user: str, *rights: Right, arms: tuple[str, ...] = ("r1",)) -> str:
    """The words of the refusal; empty if there is none."""
    try:
        check_right(state, RPC_TABLE[method], user, Grant(frozenset(arms), frozenset(rights)))
    except BrokerError as refusal:
        error = refusal
    else:
        return ""
    assert error.kind == "not_permitted"
    assert error.message.endswith("Nothing was changed.")
    return error.message


def test_every_method_that_changes_something_needs_one_right() -> None:
    for name, rpc in RPC_TABLE.items():
        if rpc.access is Access.READ or name in FREE:
            assert rpc.right is None, name
        else:
            assert rpc.right is OF_THEIR_OWN.get(name, Right.WRITE), name


def test_only_the_lock_itself_can_be_ended_by_others() -> None:
    assert {name for name, rpc in RPC_TABLE.items() if rpc.guard is Guard.LOCK} == {"HoldArm", "ReleaseArm"}


@pytest.mark.parametrize("method", [name for name, rpc in RPC_TABLE.items() if rpc.right is not None])
def test_each_right_is_needed_and_enough(method: str) -> None:
    needed = RPC_TABLE[method].right
    assert needed is not None
    assert not refused(arm(), method, "u", needed)
    others = EVERYTHING - {needed}
    text = refused(arm(), method, "u", *others)
    assert f"{method} of r1 needs the right {needed}" in text
    assert "user u" in text
    assert all(other in text for other in others)


def test_who_has_nothing_may_read_and_subscribe() -> None:
    for name, rpc in RPC_TABLE.items():
        if rpc.right is None:
            check_right(arm(), rpc, "u", NO_GRANT)
        else:
            with pytest.raises(BrokerError, match="none: it may read"):
                check_right(arm(), rpc, "u", NO_GRANT)
            assert refused(arm(), name, "u", *Right, arms=("r2", "R1"))


def test_who_may_unlock_ends_the_lock_of_another_and_nothing_else() -> None:
    held, own, free = arm("bob"), arm("u"), arm()
    for method in ("HoldArm", "ReleaseArm"):
        assert not refused(held, method, "u", Right.UNLOCK)
        assert refused(own, method, "u", Right.UNLOCK)
        assert refused(free, method, "u", Right.UNLOCK)
        assert may_unlock(held, RPC_TABLE[method], "u", frozenset({Right.UNLOCK}))
        assert not may_unlock(held, RPC_TABLE[method], "u", frozenset({Right.WRITE}))
    assert refused(held, "SetGravityVector", "u", Right.UNLOCK)
    assert not may_unlock(held, RPC_TABLE["SetGravityVector"], "u", EVERYTHING)


@pytest.mark.parametrize(
    ("grant", "why"),
    [
        (Grant(reads=frozenset({"r2"})), "user u may not read r1, by the settings. Nothing was changed."),
        (Grant(asks=False), "user u sends no requests, by the settings. Nothing was changed."),
    ],
)
def test_who_may_not_read_an_arm_may_nothing_there(grant: Grant, why: str) -> None:
    for method in ("GetGravityVector", "SetGravityVector", "HoldArm"):
        with pytest.raises(BrokerError) as caught:
            check_right(arm(), RPC_TABLE[method], "u", grant)
        assert (caught.value.kind, caught.value.message) == ("not_permitted", why)


def test_who_may_read_an_arm_asks_for_it() -> None:
    for grant in (NO_GRANT, Grant(reads=frozenset({"r1"}))):
        check_right(arm(), RPC_TABLE["GetGravityVector"], "u", grant)


def group_refusal(method: str, grant: Grant, *arms: str) -> str:
    try:
        check_group_right("@cell", arms, RPC_TABLE[method], "u", grant)
    except BrokerError as refusal:
        error = refusal
    else:
        return ""
    assert error.kind == "not_permitted"
    return error.message


def test_a_group_needs_the_right_on_each_of_its_arms() -> None:
    grant = Grant(frozenset({"r1", "r2"}), frozenset({Right.WRITE}))
    assert not group_refusal("SetGravityVector", grant, "r1", "r2")
    text = group_refusal("SetGravityVector", grant, "r1", "r5", "r4", "r7", "r6", "r2")
    assert text == (
        "SetGravityVector of @cell needs the right write on each of its arms; user u lacks it on "
        "r4, r5, r6 and 1 more. Nothing was changed."
    )
    assert "lacks it on r1, r2" in group_refusal("SetAuthority", grant, "r1", "r2")


def test_who_may_end_the_locks_of_others_is_asked_arm_by_arm() -> None:
    grant = Grant(frozenset({"r1"}), frozenset({Right.UNLOCK}))
    assert not group_refusal("ReleaseArm", grant, "r1")
    assert "lacks it on r2" in group_refusal("ReleaseArm", grant, "r1", "r2")
    assert "lacks it on r1" in group_refusal("SetGravityVector", grant, "r1")


def test_a_group_is_read_by_who_may_read_each_of_its_arms() -> None:
    assert not group_refusal("GetEvents", NO_GRANT, "r1", "r2")
    reads = Grant(reads=frozenset({"r1"}))
    assert not group_refusal("GetEvents", reads, "r1")
    assert "may not read r2 of @cell" in group_refusal("GetEvents", reads, "r1", "r2")
    assert "sends no requests" in group_refusal("GetEvents", Grant(asks=False), "r1")
