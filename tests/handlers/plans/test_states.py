"""Every pair of a state and what may happen is decided: it stands in the table, or it is refused."""

import pytest

from handlers.plans.states import LIVE, MOVES, Action, Cause, Move, PlanOutcome, PlanState, allowed, moved

S, A, C = PlanState, Action, Cause
WAYS: dict[PlanState, dict[Action | Cause, PlanState]] = {
    S.PROPOSED: {A.APPROVE: S.CHECKING, A.REJECT: S.ENDED, A.ABORT: S.ENDED, C.TIME_OVER: S.ENDED, C.FATAL: S.ENDED},
    S.CHECKING: {
        A.ABORT: S.ENDED, C.CHECKED: S.RUNNING, C.NEEDS_SECOND: S.PROPOSED, C.REFUSED: S.ENDED, C.FATAL: S.ENDED,
    },
    S.RUNNING: {
        A.PAUSE: S.PAUSED, A.ABORT: S.ENDED, A.REVERSE: S.REVERSING, C.COMPLETE: S.ENDED, C.UNCONFIRMED: S.CONFIRMING,
        C.FAULTS: S.REVERSING, C.TROUBLE: S.PAUSED, C.FATAL: S.ENDED,
    },
    S.PAUSED: {
        A.RESUME: S.RUNNING, A.ABORT: S.ENDED, A.REVERSE: S.REVERSING, C.FAULTS: S.REVERSING, C.FORGOTTEN: S.ENDED,
        C.FATAL: S.ENDED,
    },
    S.CONFIRMING: {
        A.RESUME: S.ENDED, A.ABORT: S.ENDED, A.REVERSE: S.REVERSING, C.FAULTS: S.REVERSING, C.TROUBLE: S.PAUSED,
        C.TIME_OVER: S.REVERSING, C.FATAL: S.ENDED,
    },
    S.REVERSING: {A.ABORT: S.ENDED, C.UNDONE: S.ENDED, C.FATAL: S.ENDED},
    S.ENDED: {A.REVERSE: S.REVERSING},
}  # fmt: skip
"""What the contract says, state by state."""


@pytest.mark.parametrize("state", PlanState)
@pytest.mark.parametrize("why", [*Action, *Cause])
def test_every_pair_goes_where_the_contract_says_or_nowhere(state: PlanState, why: Action | Cause) -> None:
    move = moved(state, why)
    assert (None if move is None else move.to) == WAYS[state].get(why)


def test_only_an_end_has_an_outcome() -> None:
    for (_, why), move in MOVES.items():
        assert move.outcome is None or move.to is S.ENDED
        assert (move.outcome is PlanOutcome.ABORTED) == (why in (A.ABORT, C.FORGOTTEN))
    assert MOVES[S.RUNNING, C.COMPLETE] == Move(S.ENDED, None)


def test_what_may_be_done_in_a_state_is_told() -> None:
    assert allowed(S.CONFIRMING) == (A.RESUME, A.ABORT, A.REVERSE)
    assert allowed(S.ENDED) == (A.REVERSE,)


def test_all_states_but_the_last_are_live() -> None:
    assert frozenset(PlanState) - {S.ENDED} == LIVE
