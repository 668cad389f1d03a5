"""Room for one more change of an arm: a queue that one user filled is not full for the others."""

from handlers.rpc.outcome import BatchProposal, Outcome, Proposal
from handlers.state.arm_state import ArmState
from schema.errors import BrokerError

RESERVE = 4
"""Beyond its limit a queue takes one more change for every so many of the limit, of users who have few there."""
FEW = 8
"""Unsettled changes on an arm below which a user has few there; in a short queue less."""


def reserve_of(state: ArmState) -> int:
    """How many changes an arm takes beyond its limit; half of them at most are no tightenings."""
    return max(2, state.queue_limit // RESERVE)


def few_of(state: ArmState) -> int:
    """How many unsettled changes of an arm are no longer few for one user."""
    return max(1, min(FEW, state.queue_limit // RESERVE))


def check_room(state: ArmState, user: str) -> None:
    """Refuse one more write than an arm takes of a user, whatever the write asks for.

    Raises:
        BrokerError: busy.
    """
    beyond = state.unsettled - state.queue_limit
    if beyond >= 0 and (beyond >= reserve_of(state) or state.unsettled_of.get(user, 0) >= few_of(state)):
        raise _busy(state)


def check_reserve(state: ArmState, outcome: Outcome) -> None:
    """Keep the last places beyond the limit for changes that tighten.

    Raises:
        BrokerError: busy.
    """
    beyond = state.unsettled - state.queue_limit
    if beyond <= 0 or beyond < reserve_of(state) // 2:
        return
    if not (isinstance(outcome, Proposal | BatchProposal) and outcome.tightens):
        raise _busy(state)


def _busy(state: ArmState) -> BrokerError:
    return BrokerError("busy", f"{state.arm} has {state.unsettled} unsettled changes, {state.queue_limit} at most.")
