"""Undoing a change, of whoever's: as a change of its own, method `Reverse`, as far as its slots are as it left them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import BatchJob, proposed
from broker.arms.jobs import ChangeJob
from broker.life import WAITING, State
from broker.record.administration import Asked
from broker.record.effects import change_at, effects_of
from broker.record.ledger import Ledger
from broker.settle.overrides.overriding import Overriding
from broker.settle.parking import Parking
from broker.store.errors import RowDamagedError
from broker.store.rows import PastChange, Terms
from handlers.batch.decide import Asked as Wanted
from handlers.batch.decide import decide_batch
from handlers.batch.outcomes import CHANGED
from handlers.batch.reversal import METHOD, WHOLE_ARM, Effect, undo
from handlers.methods.authority import barring, below_control, locked_by
from handlers.overrides.standing import kept_by, standing
from schema.arms import Authority, Slot
from schema.envelope import Author
from schema.errors import BrokerError
from schema.items import slot_path


class Reversal(NamedTuple):
    """What becomes of a change that is undone.

    `job` writes back what is to be written, None where nothing is: then it is over. `kept` says why slots stay as they
    are, by path, `*` for all. `discarded`: it was pending, and ends without a write; `ended`: it was an override.
    """

    job: BatchJob | None = None
    kept: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    discarded: bool = False
    ended: bool = False

    @property
    def undone(self) -> bool:
        """Whether nothing of it is kept."""
        return not self.kept


Admit = Callable[[ArmSession, BatchJob, Mapping[str, str]], None]
"""Takes what is written back into the queue of its arm; it is told what is kept."""


class Reversals:
    """Undoes changes."""

    def __init__(
        self,
        ledger: Ledger,
        parking: Parking,
        overriding: Overriding,
    ) -> None:
        self._ledger = ledger
        self._parking = parking
        self._overriding = overriding

    def begin(
        self, session: ArmSession, rev: int, by: Author | None, asked: Asked, admit: Admit, plan: int = 0
    ) -> Reversal:
        """Undo the change of a revision, that had its end or is pending: in the name of `by`, else of its author.

        Raises:
            BrokerError: busy: the queue of the arm is full; held: the change is under way; arm_not_read.
        """
        for job in session.unsettled():
            if job.rev == rev:
                return self._of_pending(session, job, by or job.author, asked, admit, plan)
        try:
            change = change_at(self._ledger.store, session.arm, rev)
        except RowDamagedError as error:
            return Reversal(kept={WHOLE_ARM: str(error)})
        if change is None:
            return Reversal(kept={WHOLE_ARM: f"the history tells of no change in revision {rev}"})
        if change.state != State.SETTLED:
            raise BrokerError("held", f"the end of revision {rev} of {session.arm} is not stored yet")
        author = by or Author(change.user, change.conn, change.proven)
        return self._of_past(session, change, author, asked, admit, plan)

    def _of_pending(
        self, session: ArmSession, job: ChangeJob, by: Author, asked: Asked, admit: Admit, plan: int
    ) -> Reversal:
        """A change that waits is discarded, and told to nobody else; what took effect of it before is written back."""
        if job.state not in WAITING or session.may_be_with_arm(job):
            raise BrokerError("held", f"revision {job.rev} of {session.arm} is under way")
        done: dict[Slot, Effect] = {}
        if isinstance(job, BatchJob):
            done = {
                step.slot: Effect(step.before, step.read)
                for step in job.steps
                if step.outcome in CHANGED and step.undoes is None
            }
        job.told = None
        self._parking.discard_one(session, job, f"{by.user}/{by.connection}")
        return self._write_back(session, job.rev, done, by, asked, admit, plan)._replace(discarded=True)

    def _of_past(
        self, session: ArmSession, change: PastChange, by: Author, asked: Asked, admit: Admit, plan: int
    ) -> Reversal:
        overrides = session.state.overrides
        if overrides is not None and overrides.find(change.rev) is not None:
            self._overriding.end(session, change.rev, "ended", by, asked)
            return Reversal(ended=True)
        if change.terms is not None and change.terms.until_us:
            return Reversal(ended=True)
        return self._write_back(session, change.rev, effects_of(change), by, asked, admit, plan)

    def _write_back(
        self, session: ArmSession, rev: int, effects: dict[Slot, Effect], by: Author, asked: Asked, admit: Admit,
        plan: int,
    ) -> Reversal:  # fmt: skip
        state = session.state
        values, named, kept = undo(state, rev, effects)
        if values and (barred := self._barred(session, by)) is not None:
            return Reversal(kept=kept | {slot_path(slot): barred.message for slot in values})
        for slot in list(values):
            if (bars := standing(state, by.user, slot, values[slot], named.get(slot))) is not None:
                kept[slot_path(slot)] = kept_by(state, bars).message
                del values[slot]
        if not values:
            return Reversal(kept=kept)
        try:
            outcome = decide_batch(state, by.user, Wanted(values, partial=True, whole=True, named=named))
        except BrokerError as error:
            if error.kind in ("busy", "arm_not_read"):
                raise
            return Reversal(kept=kept | {slot_path(slot): error.message for slot in values})
        kept |= {path: one["message"] for path, one in outcome.left_out.items()}
        if outcome.unchanged:
            return Reversal(kept=kept)
        job = proposed(outcome, self._common(by, asked, plan))
        admit(session, job, kept)
        return Reversal(job, kept)

    def _barred(self, session: ArmSession, by: Author) -> BrokerError | None:
        """What keeps all of an arm from being written to in somebody's name."""
        state = session.state
        if state.authority is not Authority.CONTROL:
            return below_control(state)
        hold = barring(state, by.user, self._ledger.clock.now_us())
        return None if hold is None else locked_by(state, hold)

    def _common(self, by: Author, asked: Asked, plan: int) -> dict[str, Any]:
        return {
            "n": self._ledger.new_change(), "request_n": 0, "rev": 0, "author": by, "request_id": asked.request_id,
            "method": METHOD, "reason": asked.reason, "expires": 0.0, "at_us": self._ledger.clock.now_us(),
            "trace": asked.trace, "terms": Terms(plan=plan) if plan else None,
        }  # fmt: skip
