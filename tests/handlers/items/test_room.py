"""Room for one more change of an arm, by user and direction."""

from typing import Any

import pytest

from handlers.items.room import check_reserve, check_room
from handlers.rpc.outcome import Outcome, Proposal, Restoration
from handlers.state.arm_state import ArmState
from schema.arms import Verb
from schema.errors import BrokerError
from tests.handlers.builders import arm

SLOT = ("gravity_vector", 0)
TIGHTENS, LOOSENS = Proposal(SLOT, Verb.SET, None, loosening=False), Proposal(SLOT, Verb.RESET, None, loosening=True)
SAME = Proposal(SLOT, Verb.SET, None, loosening=False, unchanged=True)


def taken(state: ArmState, user: str, outcome: Outcome = TIGHTENS) -> bool:
    try:
        check_room(state, user)
        check_reserve(state, outcome)
    except BrokerError as error:
        return error.kind != "busy"
    return True


def full(unsettled: int, limit: int = 256, **of: int) -> ArmState:
    changes: dict[str, Any] = {"unsettled": unsettled, "queue_limit": limit, "unsettled_of": of}
    return arm(**changes)


@pytest.mark.parametrize("outcome", [TIGHTENS, LOOSENS, SAME, Restoration((SLOT,))])
def test_up_to_its_limit_a_queue_takes_everything_of_anybody(outcome: Outcome) -> None:
    assert taken(full(255, mallory=255), "mallory", outcome)
    assert not taken(full(256, mallory=256), "mallory", outcome)
    assert taken(full(256, mallory=256), "alice", outcome)


@pytest.mark.parametrize("outcome", [LOOSENS, SAME, Restoration((SLOT,))])
def test_the_last_places_are_for_tightenings(outcome: Outcome) -> None:
    assert taken(full(287, mallory=256), "alice", outcome)
    assert not taken(full(288, mallory=256), "alice", outcome)
    assert taken(full(319, mallory=256), "alice", TIGHTENS)
    assert not taken(full(320, mallory=256), "alice", TIGHTENS)


def test_nobody_fills_the_reserve_alone() -> None:
    assert taken(full(263, mallory=256, alice=7), "alice")
    assert not taken(full(264, mallory=256, alice=8), "alice")
    assert taken(full(264, mallory=256, alice=8), "bob")


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_a_short_queue_has_a_reserve_and_holds_one_user_to_its_limit(limit: int) -> None:
    assert taken(full(limit - 1, limit, mallory=limit - 1), "mallory", LOOSENS)
    assert not taken(full(limit, limit, mallory=limit), "mallory")
    assert taken(full(limit, limit, mallory=limit), "alice", LOOSENS)
    assert not taken(full(limit + 1, limit, mallory=limit, alice=1), "bob", LOOSENS)
    assert taken(full(limit + 1, limit, mallory=limit, alice=1), "bob")
    assert not taken(full(limit + 2, limit, mallory=limit, alice=1, bob=1), "carol")
