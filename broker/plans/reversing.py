"""Takes a plan back: row by row what was there before, where it is still as the plan left it."""

import contextlib
from collections import deque
from collections.abc import Mapping

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import BatchJob
from broker.plans.book import PlanBook
from broker.plans.live import Live
from broker.plans.rows import REVERSE, PutOffError, RowWork
from broker.record.administration import Asked
from broker.record.ledger import Ledger
from broker.settle.batches.reversals import Reversal
from broker.settle.settler import Settler
from broker.store.errors import RowDamagedError
from handlers.plans.rows import Row, RowState
from handlers.plans.states import Action, Cause
from schema.envelope import Author
from schema.errors import BrokerError

_LATER = frozenset({"held", "busy"})
"""Why a change cannot be undone now: it is under way, or the queue of its arm is full."""


class Reversing:
    """Does the rows of plans that are taken back, the newest first."""

    def __init__(
        self,
        ledger: Ledger,
        settler: Settler,
        sessions: dict[str, ArmSession],
        book: PlanBook,
        work: RowWork,
    ) -> None:
        self._ledger, self._settler, self._sessions = ledger, settler, sessions
        self._book, self._work = book, work

    def begin(self, live: Live, why: Action | Cause, by: Author, *, said: str, reason: str = "") -> None:
        """Take a plan back for somebody."""
        plan = live.plan
        plan.progress.reversed_by = (by.user, by.connection, by.proven)
        if plan.n not in self._book.plans:
            self._book.add(live)
        live.put_off.clear()
        live.ahead = left_to_reverse(live)
        self._book.move(live, why, by, said=said, reason=reason)

    def step(self, live: Live, arm: str) -> None:
        """Take one row back.

        Raises:
            PutOffError: its change has no end yet, or the queue of its arm is full.
        """
        row, session = live.plan.rows[arm], self._sessions.get(arm)
        if session is None:
            self._work.end(live, row, RowState.KEPT, message=f"{arm} was taken out of the settings")
            return
        if row.final:
            self._wait_for_commit(row)
        try:
            reversal = self._undo(live, row, session)
        except BrokerError as error:
            if error.kind in _LATER:
                raise PutOffError(halt=False) from None
            self._work.end(live, row, RowState.KEPT, message=error.message)
            return
        if reversal.job is None:
            self._end(live, live.plan.rows[arm], reversal)

    def _undo(self, live: Live, row: Row, session: ArmSession) -> Reversal:
        def admit(session: ArmSession, job: BatchJob, kept: Mapping[str, str]) -> None:
            if kept:
                live.plan.progress.kept[row.arm] = _told(kept)
                self._book.put(live)
            live.undoing.add(row.arm)
            self._work.admit(live, row, session, job)

        plan = live.plan
        by = Author(*(plan.progress.reversed_by or ("", "", False)))
        asked = Asked(REVERSE, f"{by.user}/{by.connection}/{plan.asked.id}", plan.progress.why)
        return self._settler.reversals.begin(session, row.job_rev, by, asked, admit, plan.n)

    def _end(self, live: Live, row: Row, reversal: Reversal) -> None:
        """Nothing is to be written for a row: it is over."""
        if reversal.kept:
            self._work.end(live, row, RowState.KEPT, message=_told(reversal.kept))
            return
        what = "its override was ended" if reversal.ended else "it had not begun" if reversal.discarded else ""
        self._work.end(live, row, RowState.REVERSED, message=what)

    def _wait_for_commit(self, row: Row) -> None:
        """Put a row off whose change cannot be read yet; of a damaged one it is told what is kept."""
        with contextlib.suppress(RowDamagedError):
            if self._ledger.store.past_change(row.change_n) is None:
                raise PutOffError(halt=False)


def _told(kept: Mapping[str, str]) -> str:
    return "; ".join(f"{path}: {why}" for path, why in kept.items())


def left_to_reverse(live: Live) -> deque[str]:
    """The arms whose rows have an effect, or may have one, those that began last first."""
    rows = [
        row for row in live.plan.rows.values() if row.change_n and _may_have_effect(row) and row.arm not in live.undoing
    ]
    return deque(row.arm for row in sorted(rows, key=lambda row: -row.change_n))


def _may_have_effect(row: Row) -> bool:
    return not row.final or row.state is RowState.APPLIED or row.kind == "partial"
