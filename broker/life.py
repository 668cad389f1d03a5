"""How a change lives: the states it can be in, and the moves between them."""

import enum
from typing import NamedTuple


class State(enum.StrEnum):
    """How far a change got, or a slot of a batch; the words are those of the store."""

    ACCEPTED = "accepted"
    """In the queue of its arm, without a command number."""
    WRITING = "writing"
    """It has a command number: its command may be with the arm, or is the next to go."""
    UNKNOWN = "unknown"
    """What the arm has is not known: it gave no answer in time, or cannot be read."""
    RESUMED = "resumed"
    """An earlier run, or one with other settings, may have sent its command: it is read before anything is sent."""
    PENDING = "pending"
    """Outside the queue, until its arm can take it."""
    HELD = "held"
    """Outside the queue, until somebody confirms or discards it, or a newer change takes its place."""
    SETTLED = "settled"
    """It has its end."""


class Origin(enum.IntEnum):
    """How a change came here. All but those that are new are decided again before they begin."""

    NEW = 0
    """This run has just decided it."""
    WAITED = 1
    """Time has passed since this run, or an earlier one, decided it."""
    FOUND = 2
    """A start found it."""
    AHEAD = 3
    """A start found it, numbered by the earlier run behind another one that it may have sent."""


SENT = frozenset({State.WRITING, State.UNKNOWN, State.RESUMED})
"""States of a change whose command may have been sent."""
WAITING = frozenset({State.PENDING, State.HELD})
"""States of a change outside the queue."""
QUEUED = frozenset({State.ACCEPTED}) | SENT
"""States of a change in the queue."""
FIRST = frozenset({State.ACCEPTED, State.RESUMED})
"""States in which a change comes to be: new or found as one that never began; found as one that did."""


class Move(NamedTuple):
    """A move from one of some states to another one, and when it is made."""

    name: str
    before: frozenset[State]
    after: State
    when: str


_NEW = frozenset({State.ACCEPTED})

MOVES = (
    Move("number", _NEW, State.WRITING, "it gets a command number, in the commit before it is sent"),
    Move("lose", _NEW | {State.WRITING}, State.UNKNOWN, "its arm gives no answer in time, or cannot be read"),
    Move("read first", _NEW | SENT, State.RESUMED, "its arm gets other settings before the read-back; a step found so"),
    Move("send again", frozenset({State.RESUMED}), State.WRITING, "it took no effect yet: the same command once more"),
    Move("begin anew", SENT, State.ACCEPTED, "the arm has nothing of it: it is decided again, and numbered anew"),
    Move("park", QUEUED, State.PENDING, "its arm cannot take it now"),
    Move("hold", QUEUED, State.HELD, "it must not begin before somebody confirms it"),
    Move("go on", WAITING, State.ACCEPTED, "what it waited for is there"),
    Move("settle", QUEUED | WAITING, State.SETTLED, "its end is known by a read-back, or nothing is written any more"),
)
"""All moves that there are."""
