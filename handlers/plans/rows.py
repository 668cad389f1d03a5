"""Rows: what becomes of each arm of a plan, and what all of them together say."""

import enum
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from handlers.plans.states import PlanOutcome
from schema.envelope import Stage, Violation

LONGEST_MESSAGE = 200
"""Characters of the message of a row."""
NAMED_MOST = 8
"""Rows that the message of a reply names."""


class RowState(enum.StrEnum):
    """What became of one arm so far."""

    WAITING = "waiting"
    """Not begun, or under way."""
    STORED = "stored"
    """Accepted, and waits for its arm; or carried out by the service alone."""
    APPLIED = "applied"
    UNCHANGED = "unchanged"
    CHECKED = "checked"
    """Nothing was changed: it would have been accepted."""
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """Nobody knows yet."""
    SKIPPED = "skipped"
    REVERSED = "reversed"
    KEPT = "kept"
    """To be taken back, but somebody changed it since."""


_LEVELS: dict[RowState, int] = {
    RowState.REFUSED: 0,
    RowState.REVERSED: 0,
    RowState.CHECKED: 1,
    RowState.STORED: 2,
    RowState.UNKNOWN: 2,
    RowState.WAITING: 2,
    RowState.APPLIED: 3,
    RowState.UNCHANGED: 3,
    RowState.KEPT: 3,
}
"""How far each state got; those that are skipped do not count."""
_STAGES = (Stage.REFUSED, Stage.CHECKED, Stage.STORED, Stage.APPLIED)
NOT_TAKEN = (RowState.REFUSED, RowState.REVERSED, RowState.UNKNOWN)
"""States with which a request has not succeeded."""
DONE_STATES = frozenset({RowState.APPLIED, RowState.UNCHANGED})
"""States of rows that nobody has to look at."""


class Row(msgspec.Struct, gc=False):
    """One arm of a plan; `final`: nothing more becomes of it.

    `change_n` is the number of its change, if one was accepted, `job_rev` what that took of the arm (0: nothing).
    """

    arm: str
    state: RowState = RowState.WAITING
    final: bool = False
    rev: int = 0
    seq: int = 0
    kind: str = ""
    name: str = ""
    message: str = ""
    change_n: int = 0
    job_rev: int = 0
    violations: tuple[Violation, ...] = ()

    @property
    def under_way(self) -> bool:
        """Whether it was accepted and its arm has it, or is about to."""
        return self.state is RowState.WAITING and self.change_n > 0

    def shown(self) -> dict[str, Any]:
        """As replies and pages have it."""
        document: dict[str, Any] = {
            "arm": self.arm, "state": self.state.value, "final": self.final, "rev": self.rev, "seq": self.seq,
        }  # fmt: skip
        for name in ("kind", "name", "message"):
            if value := getattr(self, name):
                document[name] = value[:LONGEST_MESSAGE]
        return document


class Tally(NamedTuple):
    """How many rows are in each state, and how many of all have no end yet."""

    counts: Mapping[RowState, int]
    total: int
    open: int

    def shown(self) -> dict[str, int]:
        """`{total, <state>: n}`, states without rows left out."""
        return {"total": self.total} | {state.value: count for state in RowState if (count := self.counts.get(state))}

    @property
    def stage(self) -> Stage:
        """The least stage of all rows; those that are skipped do not count, unless all are."""
        levels = [_LEVELS[state] for state, count in self.counts.items() if count and state in _LEVELS]
        return _STAGES[min(levels)] if levels else Stage.CHECKED

    @property
    def ok(self) -> bool:
        """Whether no row is refused, reversed or unknown."""
        return not any(self.counts.get(state) for state in NOT_TAKEN)

    @property
    def final(self) -> bool:
        """Whether every row is."""
        return self.open == 0

    @property
    def mixed(self) -> bool:
        """Whether some row that counts is not refused."""
        return any(count and state not in (RowState.REFUSED, RowState.SKIPPED) for state, count in self.counts.items())

    @property
    def outcome(self) -> PlanOutcome:
        """How a plan ended whose rows are these."""
        failed = self.counts.get(RowState.REFUSED) or self.counts.get(RowState.UNKNOWN)
        if not failed:
            return PlanOutcome.DONE
        return PlanOutcome.PARTIAL if self.mixed else PlanOutcome.REFUSED

    @property
    def outcome_of_reversal(self) -> PlanOutcome:
        """How a plan ended that was taken back."""
        kept = self.counts.get(RowState.KEPT) or self.counts.get(RowState.UNKNOWN)
        return PlanOutcome.PARTIAL if kept else PlanOutcome.REVERSED

    def told(self, rows: Iterable[Row]) -> str:
        """What did not succeed, in words; `rows` are those rows, in order."""
        count = sum(self.counts.get(state, 0) for state in NOT_TAKEN)
        named = [f"{row.arm} {row.kind or row.state.value}" for row, _ in zip(rows, range(NAMED_MOST), strict=False)]
        rest = f" and {count - len(named)} more" if count > len(named) else ""
        return f"{count} of {self.total} arms did not take it: {', '.join(named)}{rest}."
