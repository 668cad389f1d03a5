"""The states of a plan, and every way from one to another."""

import enum
from typing import NamedTuple


class PlanKind(enum.StrEnum):
    """Why there is a plan."""

    GROUP = "group"
    """A request to a group."""
    ROLLOUT = "rollout"
    SINGLE = "single"
    """A request to one arm that a second person has to approve."""


class PlanState(enum.StrEnum):
    """How far a plan got."""

    PROPOSED = "proposed"
    CHECKING = "checking"
    RUNNING = "running"
    PAUSED = "paused"
    CONFIRMING = "confirming"
    REVERSING = "reversing"
    ENDED = "ended"


class PlanOutcome(enum.StrEnum):
    """How a plan ended."""

    DONE = "done"
    """No row was refused, and of each it is known what came of it."""
    PARTIAL = "partial"
    REFUSED = "refused"
    """Nothing was begun."""
    ABORTED = "aborted"
    REVERSED = "reversed"
    REJECTED = "rejected"
    EXPIRED = "expired"
    QUARANTINED = "quarantined"
    """The service ended uncleanly on it, again and again."""


class Action(enum.StrEnum):
    """What SteerPlan does."""

    APPROVE = "approve"
    REJECT = "reject"
    PAUSE = "pause"
    RESUME = "resume"
    ABORT = "abort"
    REVERSE = "reverse"


class Cause(enum.StrEnum):
    """What moves a plan by itself."""

    CHECKED = "checked"
    """Every row was decided once, and the plan may begin."""
    NEEDS_SECOND = "needs_second"
    """A row needs a second person."""
    REFUSED = "refused"
    """The check refused the whole."""
    COMPLETE = "complete"
    """No row is left to begin, and none is under way."""
    UNCONFIRMED = "unconfirmed"
    """The same, but somebody has to confirm it."""
    FAULTS = "faults"
    """More went wrong than may, and the plan is to be taken back."""
    TROUBLE = "trouble"
    """More went wrong than may, and somebody has to look."""
    TIME_OVER = "time_over"
    """Nobody said in time what was asked for."""
    FORGOTTEN = "forgotten"
    """Nobody went on with it for too long."""
    UNDONE = "undone"
    """What could be taken back is."""
    FATAL = "fatal"
    """The service ended uncleanly on it too often."""


class Move(NamedTuple):
    """Where a plan goes; `outcome` is None where what its rows became says it, or it does not end."""

    to: PlanState
    outcome: PlanOutcome | None = None


_S, _O, _A, _C = PlanState, PlanOutcome, Action, Cause
_ABORTED = Move(_S.ENDED, _O.ABORTED)
_QUARANTINED = Move(_S.ENDED, _O.QUARANTINED)
_END = Move(_S.ENDED)
_REVERSING, _PAUSED = Move(_S.REVERSING), Move(_S.PAUSED)

MOVES: dict[tuple[PlanState, Action | Cause], Move] = {
    (_S.PROPOSED, _A.APPROVE): Move(_S.CHECKING),
    (_S.PROPOSED, _A.REJECT): Move(_S.ENDED, _O.REJECTED),
    (_S.PROPOSED, _A.ABORT): _ABORTED,
    (_S.PROPOSED, _C.TIME_OVER): Move(_S.ENDED, _O.EXPIRED),
    (_S.PROPOSED, _C.FATAL): _QUARANTINED,
    (_S.CHECKING, _A.ABORT): _ABORTED,
    (_S.CHECKING, _C.CHECKED): Move(_S.RUNNING),
    (_S.CHECKING, _C.NEEDS_SECOND): Move(_S.PROPOSED),
    (_S.CHECKING, _C.REFUSED): Move(_S.ENDED, _O.REFUSED),
    (_S.CHECKING, _C.FATAL): _QUARANTINED,
    (_S.RUNNING, _A.PAUSE): _PAUSED,
    (_S.RUNNING, _A.ABORT): _ABORTED,
    (_S.RUNNING, _A.REVERSE): _REVERSING,
    (_S.RUNNING, _C.COMPLETE): _END,
    (_S.RUNNING, _C.UNCONFIRMED): Move(_S.CONFIRMING),
    (_S.RUNNING, _C.FAULTS): _REVERSING,
    (_S.RUNNING, _C.TROUBLE): _PAUSED,
    (_S.RUNNING, _C.FATAL): _QUARANTINED,
    (_S.PAUSED, _A.RESUME): Move(_S.RUNNING),
    (_S.PAUSED, _A.ABORT): _ABORTED,
    (_S.PAUSED, _A.REVERSE): _REVERSING,
    (_S.PAUSED, _C.FAULTS): _REVERSING,
    (_S.PAUSED, _C.FORGOTTEN): _ABORTED,
    (_S.PAUSED, _C.FATAL): _QUARANTINED,
    (_S.CONFIRMING, _A.RESUME): _END,
    (_S.CONFIRMING, _A.ABORT): _ABORTED,
    (_S.CONFIRMING, _A.REVERSE): _REVERSING,
    (_S.CONFIRMING, _C.FAULTS): _REVERSING,
    (_S.CONFIRMING, _C.TROUBLE): _PAUSED,
    (_S.CONFIRMING, _C.TIME_OVER): _REVERSING,
    (_S.CONFIRMING, _C.FATAL): _QUARANTINED,
    (_S.REVERSING, _A.ABORT): _ABORTED,
    (_S.REVERSING, _C.UNDONE): _END,
    (_S.REVERSING, _C.FATAL): _QUARANTINED,
    (_S.ENDED, _A.REVERSE): _REVERSING,
}
"""Every way there is; what is not here is refused, or does not happen."""

LIVE = frozenset(_S) - {_S.ENDED}
"""States of plans that count among those that may be live at once."""


def moved(state: PlanState, why: Action | Cause) -> Move | None:
    """Where a plan goes; None: it stays."""
    return MOVES.get((state, why))


def allowed(state: PlanState) -> tuple[Action, ...]:
    """What SteerPlan may do in a state."""
    return tuple(action for action in Action if (state, action) in MOVES)
