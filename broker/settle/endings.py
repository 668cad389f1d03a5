"""How changes end: state, rows, event and reply in one transaction."""

from collections.abc import Callable
from functools import lru_cache, partial

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import BatchJob, StepJob
from broker.arms.jobs import ChangeJob
from broker.life import State
from broker.publish.documents import Documents
from broker.record.event_bodies import event_change, mode_of
from broker.record.ledger import Ledger
from broker.record.principals import FOREIGN_USER
from broker.record.replies import Replies
from broker.settle.overrides.overriding import Overriding
from broker.settle.overrides.returns import DISCARDED
from broker.settle.rebase import rebase, unwish
from broker.store.rows import Terms
from broker.timers import Timers
from handlers.batch.outcomes import CHANGED, FAILURES, HELD, outcome_of
from handlers.batch.outcomes import SUPERSEDED as TAKEN
from handlers.items.settling import Ending, equal
from handlers.overrides.returns import aim_of
from handlers.rpc_table import RPC_TABLE
from handlers.stack.limit_layers import PARAMETERS_SLOT
from handlers.state.arm_state import HandleEntry
from handlers.state.provenance import NOBODY, Setter, Stamp, set_by
from schema.arms import Slot, Verb
from schema.envelope import Author, Stage, Warned
from schema.errors import BrokerError
from schema.events import CHANGE_NOT_APPLIED, HANDLE_EXPIRED
from schema.items import ITEMS
from schema.messages import Empty, Message

MODE_KEY = "control_mode"
MODE_FAILED = "CHANGE_CONTROL_MODE_FAILED"
NO_TERMS = Terms()
APPLIED = Stage.APPLIED.value
_RESET, _SETTLED, _DONE = Verb.RESET, State.SETTLED, Stage.APPLIED
_APPLIED, _ROUNDED, _CLAMPED = Ending.APPLIED, Ending.ROUNDED, Ending.CLAMPED
SUPERSEDED = "superseded"
"""The cause of an end by a newer change, which carries on what it had taken over."""


class Endings:
    """Writes the end of changes, foreign changes included."""

    def __init__(
        self, ledger: Ledger, replies: Replies, documents: Documents, unsettled: dict[int, ChangeJob], timers: Timers,
        overriding: Overriding,
    ) -> None:  # fmt: skip
        self._ledger = ledger
        self._replies = replies
        self._documents = documents
        self._unsettled = unsettled
        self._timers = timers
        self._overriding = overriding
        self.promised: dict[ChangeJob, tuple[ArmSession, float]] = {}
        """Changes that a reply is promised of, and by when (s of the loop's clock), in that order."""
        self.describe: Callable[[ArmSession], None] | None = None
        """Publishes the factsheet of an arm; set by the composition root."""
        self.end_batch: Callable[[ArmSession, BatchJob], None] = lambda *_: None
        """Ends a batch of which all slots are over; set by the settler."""
        self.on_mode: Callable[[ArmSession], None] = lambda _: None
        """What to do after a control mode was read; set by the composition root."""
        self.on_foreign: Callable[[ArmSession], None] = lambda _: None
        """What to do after another writer changed something; set by the composition root."""

    def observe(self, session: ArmSession, slot: Slot, read: Message) -> None:
        """A value was read."""
        state = session.state
        state.reported[slot] = read
        state.read_at_us = self._ledger.clock.now_us()
        if slot[0] == MODE_KEY:
            state.mode_seen_at_us = state.read_at_us
            self.on_mode(session)

    def record_applied(self, session: ArmSession, job: ChangeJob, read: Message, ending: Ending) -> None:
        """End a change whose value the arm has, rounded or clamped at most."""
        state, slot = session.state, job.slot
        before = state.reported.get(slot)
        self.observe(session, slot, read)
        if not job.unchanged:
            state.reported_by[slot] = job.setter
        if job.verb is _RESET or ending is _CLAMPED:
            job.wanted = read
            if state.desired_rev.get(slot) == job.rev and not job.back:
                state.desired[slot], state.desired_by[slot] = read, job.setter
        if slot[0] == MODE_KEY:
            session.mode_by = job.author
        cause = "unchanged" if job.unchanged else "reset" if job.verb is _RESET else "applied"
        at_us, terms = state.read_at_us, job.terms or NO_TERMS
        event = self._ledger.emit(
            session, job.item.event_name, cause="returned" if job.back else cause, stage=APPLIED, by=job.author,
            rev=job.rev or state.rev, plan=terms.plan, until_us=terms.until_us,
            change=event_change(slot, before, read), request_id=job.request_id, trace=job.trace, reason=job.reason,
            mode=mode_of(read) if slot[0] == MODE_KEY else None, of=job, at_us=at_us,
        )  # fmt: skip
        overrides = state.overrides is not None or terms.until_us > 0
        if overrides:
            self.note_ground(session, job, job, job.wanted or read, before)
        self.settle(session, job, "unchanged" if job.unchanged else str(ending), event.seq, at_us)
        told = () if ending is _APPLIED else _ending_warnings(job, ending)
        if overrides:
            told += self.take_place(session, job, job, job.wanted or read, before)
        reply = self._replies.change_reply(
            session, job, ok=True, stage=_DONE, final=True, seq=event.seq, result=_result(job, read),
            warnings=told, at_us=at_us,
        )  # fmt: skip
        self._replies.deliver(session, job, reply, settled=True)

    def note_ground(
        self, session: ArmSession, job: ChangeJob, part: ChangeJob, value: Message, before: Message | None
    ) -> None:
        """Keep with what takes effect what is there without overrides, where these hold parts of the value."""
        if session.state.overrides is not None or (job.terms is not None and job.terms.until_us):
            part.ground = self._overriding.ground_with(session, job, part, value, before)

    def take_place(
        self, session: ArmSession, job: ChangeJob, part: ChangeJob, value: Message, before: Message | None
    ) -> tuple[Warned, ...]:
        """Let what took effect count for the overrides of its slot, as one of them or as their end."""
        if session.state.overrides is None and (job.terms is None or not job.terms.until_us):
            return ()
        return self._overriding.take_place(session, job, part, value, before)

    def end_return(self, session: ArmSession, job: BatchJob) -> None:
        """End a return of several slots; what took no effect may be owed on."""
        missed = [step.slot for step in job.steps if step.outcome not in CHANGED]
        self._overriding.returns.retry_missed(session, missed, job.cause)

    def withdraw(self, session: ArmSession, job: ChangeJob, slot: Slot) -> None:
        """Take an override out of a slot in which what it gave was written back."""
        self._overriding.withdraw(session, job.rev, slot)

    def fail(self, session: ArmSession, job: ChangeJob, error: BrokerError, cause: str, read: Message | None) -> None:
        """End a change that did not become what was asked; what was reported is desired again."""
        if isinstance(job, BatchJob):
            self._give_up_rest(session, job, error, cause)
            return
        state, slot = session.state, job.slot
        before = state.reported.get(slot)
        if read is not None:
            self.read_after_all(session, slot, read)
        if not job.back or (cause == DISCARDED and not self._overriding.returns.insists(session, slot)):
            self._return_desired(session, job)
        if cause != SUPERSEDED:
            self._rebase_newer(session, job)
        is_mode = slot[0] == MODE_KEY
        event = self._ledger.emit(
            session,
            MODE_FAILED if is_mode else CHANGE_NOT_APPLIED,
            cause=cause,
            stage=Stage.REFUSED.value,
            by=job.author,
            rev=job.rev or state.rev,
            plan=0 if job.terms is None else job.terms.plan,
            until_us=0 if job.terms is None else job.terms.until_us,
            change=event_change(slot, before, state.reported.get(slot)) if slot in state.reported else None,
            request_id=job.request_id,
            trace=job.trace,
            reason=error.message,
            of=job,
        )
        self.settle(session, job, cause, event.seq)
        if job.back:
            self._overriding.returns.fail(session, slot)
            self._overriding.returns.retry_missed(session, (slot,), cause)
        reply = self._replies.change_reply(
            session, job, ok=False, stage=Stage.REFUSED, final=True, seq=event.seq, error=error
        )
        self._replies.deliver(session, job, reply, settled=True)

    def _give_up_rest(self, session: ArmSession, job: BatchJob, error: BrokerError, cause: str) -> None:
        """What is left of a batch does not become what was asked."""
        job.error, job.cause = error, cause
        for step in job.open:
            self.give_up(session, job, step, error, outcome_of(error.kind))
        self.end_batch(session, job)

    def give_up(self, session: ArmSession, job: BatchJob, step: StepJob, error: BrokerError, outcome: str) -> None:
        """A slot of a batch does not become what was asked: an earlier wish counts again, or what is reported."""
        state, slot, returns = session.state, step.slot, self._overriding.returns
        step.error = error
        discarded = outcome == HELD or job.cause == DISCARDED
        stays = job.back and (not discarded or returns.insists(session, slot))
        if slot in state.reported and job.rev and state.desired_rev.get(slot) == job.rev and not stays:
            earlier, wish, setter = _wish_before(session, job, slot)
            state.desired[slot], state.desired_by[slot] = wish, setter
            if earlier is not None:
                state.desired_rev[slot] = earlier.rev
            session.reverts += 1
        elif job.rev:
            unwish(session, step)
        self.close(session, step, outcome)
        if job.back:
            returns.fail(session, slot)
        job.failed = job.failed or outcome in FAILURES
        self.tell_changed(session, slot)
        if outcome != TAKEN:
            self._rebase_newer(session, step)

    def close(self, session: ArmSession, step: StepJob, outcome: str) -> None:
        """A slot of a batch is over; where others are still to come the caller tells that it changed."""
        step.outcome, step.state = outcome, State.SETTLED
        session.part_over(step)
        if step.slot in session.state.reported:  # a damaged slot is unknown before ConfirmArm
            self._ledger.put_slot(session, step.slot)
        if step.slot == PARAMETERS_SLOT:
            self.tell_changed(session, step.slot)

    def read_after_all(self, session: ArmSession, slot: Slot, read: Message) -> None:
        """What was read where a change took no effect: what is new there is of another writer."""
        state = session.state
        if slot in state.reported and equal(slot[0], read, state.reported[slot], state.resolution_rad):
            self.observe(session, slot, read)
        else:
            self.record_foreign(session, slot, read, "")

    def record_foreign(self, session: ArmSession, slot: Slot, read: Message, connection: str) -> None:
        """Report what another writer changed; what is desired stays."""
        state = session.state
        before = state.reported[slot]
        by = Author(FOREIGN_USER, connection, proven=False)
        state.rev += 1
        state.last_rev[slot] = state.rev
        self.observe(session, slot, read)
        stamp = Stamp(FOREIGN_USER, state.read_at_us)
        state.reported_by[slot] = set_by(stamp, read, before, state.reported_by.get(slot, NOBODY))
        if slot[0] == MODE_KEY:
            session.mode_by = by
        number = self._ledger.new_change()
        event = self._ledger.emit(
            session,
            ITEMS[slot[0]].event_name,
            cause="foreign",
            stage=Stage.APPLIED.value,
            by=by,
            rev=state.rev,
            change=event_change(slot, before, read),
            mode=mode_of(read),
            number=number,
        )
        self._ledger.log_revision(session, slot, before, by, "", "foreign", event, number)
        self.tell_changed(session, slot)
        self.on_foreign(session)

    def record_raised(self, session: ArmSession, name: str, connection: str) -> None:
        """Pass on an event of the arm that carries no value of ours."""
        by = Author(FOREIGN_USER, connection, proven=False)
        self._ledger.emit(
            session, name, cause="foreign", stage=Stage.APPLIED.value, by=by, rev=session.state.rev, change=None
        )
        self._ledger.store.flush_soon()

    def expire_handle(self, session: ArmSession, entry: HandleEntry) -> None:
        """A handle whose connection was silent for too long gets its last notice and ends."""
        by = Author(entry.user, entry.conn, proven=False)
        self._ledger.emit(
            session, HANDLE_EXPIRED, cause="expired", stage=Stage.APPLIED.value, by=by, rev=session.state.rev, to=entry
        )
        self._ledger.store.flush_soon()

    def tell_changed(self, session: ArmSession, slot: Slot) -> None:
        """Publish the documents that a settled slot shows in, and commit."""
        self._documents.mark(session, "config", "reported")
        if slot[0] == MODE_KEY:
            self._documents.mark(session, "mode")
        if slot == PARAMETERS_SLOT and self.describe is not None:
            self._ledger.after_commit(partial(self.describe, session))
        self._ledger.store.flush_soon()

    def settle(self, session: ArmSession, job: ChangeJob, outcome: str, seq: int, at_us: int = 0) -> None:
        """Close the books of a change, at the time of its event if that is given."""
        slot, at_us = job.slot, at_us or self._ledger.clock.now_us()
        if job.terms is not None and job.terms.until_us:
            self._overriding.unclaim()
        job.state = _SETTLED
        if type(job) is not ChangeJob:
            job.current.state = State.SETTLED
        self.promised.pop(job, None)
        for timer in job.timers:
            self._timers.drop(timer)
        session.count_out(job)
        job.outcome, job.why = outcome, ""
        self._ledger.traffic.change_ended(job)
        self._unsettled.pop(job.request_n, None)
        self._ledger.end_change(session, job, outcome, seq, at_us)
        self._ledger.audit(at=at_us, request=job.request_id, arm=session.arm, rev=job.rev, slot=slot, decision=outcome)
        self.tell_changed(session, slot)

    def _return_desired(self, session: ArmSession, job: ChangeJob) -> None:
        """Refusal reverts only its own: where desired still comes from it, an earlier wish counts again, anew."""
        state, slot = session.state, job.slot
        if not job.rev or state.desired_rev.get(slot) != job.rev:
            unwish(session, job)
            return
        before = state.desired[slot]
        earlier, wish, setter = _wish_before(session, job, slot)
        self._ledger.desire(session, slot, wish, setter)
        self._ledger.log_revision(session, slot, before, job.author, job.method, "reverted")
        if earlier is not None:
            state.desired_rev[slot] = earlier.rev
        session.reverts += 1

    def _rebase_newer(self, session: ArmSession, job: ChangeJob) -> None:
        """Newer changes of the slot had taken over what this one wanted: they go on without it."""
        state, slot = session.state, job.slot
        if not job.rev or job.wanted is None or slot not in state.reported:
            return
        _, wish, setter = _wish_before(session, job, slot)
        rebase(session, self._ledger, slot, job.rev, (wish, setter))


def _wish_before(session: ArmSession, job: ChangeJob, slot: Slot) -> tuple[ChangeJob | None, Message, Setter]:
    """What counts of a slot without a change: the wish of the latest unsettled one before it, else what is reported.

    Where the end of an override is still to be written, that is what the slot is led back to.
    """
    state, latest = session.state, None
    for other in session.unsettled():
        part = None if other.back else other.of_slot(slot)
        if part is not None and 0 < other.rev < job.rev and (latest is None or other.rev > latest.rev):
            latest = part
    if latest is not None and latest.wanted is not None:
        return latest, latest.wanted, latest.setter
    if not job.back and (owed := aim_of(state, slot)) is not None:
        return latest, owed, state.desired_by[slot]
    return latest, state.reported[slot], state.reported_by.get(slot, NOBODY)


def _result(job: ChangeJob, read: Message) -> Message | None:
    """What the reply of a change that took effect gives of the value read back."""
    rpc = RPC_TABLE.get(job.method)
    if rpc is None or rpc.reply is Empty:
        return None
    return read if rpc.present is None else rpc.present(read)


def _ending_warnings(job: ChangeJob, ending: Ending) -> tuple[Warned, ...]:
    """ROUNDED or CLAMPED, for a Set."""
    if job.verb is _RESET or (ending is not _ROUNDED and ending is not _CLAMPED):
        return ()
    return ending_warning(ending, job.item.field or job.item.key)


@lru_cache(maxsize=256)
def ending_warning(ending: str, path: str) -> tuple[Warned, ...]:
    """The warning of a value at a path that is not quite what was asked."""
    if ending == Ending.ROUNDED:
        return (Warned("ROUNDED", f"{path}: the arm holds the value rounded to its resolution", path),)
    if ending == Ending.CLAMPED:
        return (Warned("CLAMPED", f"{path}: the arm took less than was asked", path),)
    return ()


def refusal_of_arm(code: int, sub_code: int, name: str, text: str) -> BrokerError:
    """The error of a change that the arm refused, with the arm's own pair."""
    return BrokerError("arm_refused", f"the arm refused: {text}", own=(code, sub_code, name))


def not_taken(arm: str, key: str, ending: Ending) -> BrokerError:
    """The error of a change that left another value than it wanted."""
    if ending is Ending.REFUSED:
        return BrokerError("arm_refused", f"{arm} still has the value it had before")
    return BrokerError("overwritten", f"another writer changed {key} of {arm} meanwhile")
