"""How changes of several slots end: events and reply in one transaction."""

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import BatchJob, StepJob
from broker.record.event_bodies import event_change
from broker.record.ledger import Ledger
from broker.record.recipes import RecipeBook
from broker.record.replies import Replies
from broker.settle.endings import Endings, ending_warning
from handlers.batch.outcomes import CHANGED, UNCHANGED, by_item, by_path, cause_of, failed, kind_of, worst
from handlers.batch.places import place_of
from handlers.methods.factory import shortfall
from schema.enums import ControlConfigurationEvent
from schema.envelope import Event, Stage, Warned
from schema.errors import BrokerError
from schema.events import CHANGE_NOT_APPLIED, CONFIG_APPLIED
from schema.items import slot_path

FACTORY_RESTORED = ControlConfigurationEvent.CONTROL_CONFIGURATION_FACTORY_RESTORED.name
PARTIAL = "partial"
_APPLIED = Stage.APPLIED.value


class BatchEnds:
    """Ends batches of which every slot is over."""

    def __init__(self, ledger: Ledger, replies: Replies, endings: Endings) -> None:
        self._ledger = ledger
        self._replies = replies
        self._endings = endings
        self.recipes: RecipeBook | None = None
        """Which recipe each arm had last; set before the first change ends."""

    def end(self, session: ArmSession, job: BatchJob) -> None:
        """One end for all slots."""
        if job.factory:
            self._end_factory(session, job)
            return
        outcomes = job.outcomes
        missed = failed(outcomes)
        changed = [step for step in job.steps if step.outcome in CHANGED and step.undoes is None]
        result: dict[str, object] = {"items": by_path(outcomes)}
        if job.left_out:
            result["left_out"] = job.left_out
        label = "" if job.terms is None else job.terms.recipe
        if label and self.recipes is not None:
            result["recipe"] = self.recipes.told(label)
        if job.reverse and not until(job):  # what was written back ended no override
            for step in changed:
                value = step.wanted if step.wanted is not None else step.read
                if value is not None:
                    job.warnings += self._endings.take_place(session, job, step, value, step.before)
        at_us = self._ledger.clock.now_us()
        for step in changed:
            self._tell_slot(session, job, step, at_us)
        error = _error(session, job, changed) if missed else None
        if job.back:
            self._endings.end_return(session, job)
        event = self._tell(session, job, changed, result, error)
        if label and self.recipes is not None and error is None and not until(job):
            self.recipes.applied_by(session, job, label)
        outcome = worst(outcomes.values()) if error is None else PARTIAL if changed else _cause(job)
        self._endings.settle(session, job, outcome, event.seq)
        reply = self._replies.change_reply(
            session, job, ok=error is None, stage=Stage.APPLIED if error is None else Stage.REFUSED, final=True,
            seq=event.seq, result=result, error=error,
            warnings=_warnings(changed),
        )  # fmt: skip
        self._replies.deliver(session, job, reply, settled=True)

    def _tell_slot(self, session: ArmSession, job: BatchJob, step: StepJob, at_us: int) -> None:
        """The event of one item."""
        self._ledger.emit(
            session, step.item.event_name, cause="returned" if job.back else "applied", stage=_APPLIED,
            by=job.author, rev=job.rev, at_us=at_us,
            change=event_change(step.slot, step.before, step.read), request_id=job.request_id, trace=job.trace,
            reason=job.reason, plan=_plan(job), until_us=until(job),
        )  # fmt: skip

    def _tell(
        self,
        session: ArmSession,
        job: BatchJob,
        changed: list[StepJob],
        result: dict[str, object],
        error: BrokerError | None,
    ) -> Event:
        """The events of the whole; the last of them."""
        rev, told = job.rev or session.state.rev, None
        if changed or error is None:
            told = self._ledger.emit(
                session, CONFIG_APPLIED, cause=PARTIAL if error is not None else "applied" if changed else UNCHANGED,
                stage=_APPLIED, by=job.author, rev=rev, request_id=job.request_id, trace=job.trace,
                reason=job.reason, plan=_plan(job), until_us=until(job), details=result,
                of=job if error is None else None,
            )  # fmt: skip
        if error is not None:
            told = self._ledger.emit(
                session, CHANGE_NOT_APPLIED, cause=_cause(job), stage=Stage.REFUSED.value, by=job.author, rev=rev,
                request_id=job.request_id, trace=job.trace, reason=error.message, plan=_plan(job), until_us=until(job),
                details={"items": by_path(failed(job.outcomes))}, of=job,
            )  # fmt: skip
        if told is None:
            raise TypeError(job.method)
        return told

    def _end_factory(self, session: ArmSession, job: BatchJob) -> None:
        """One event, one reply; what could not be restored is told in both, and is desired as it was read."""
        outcomes = job.outcomes
        restored = not CHANGED.isdisjoint(outcomes.values())
        error = job.error if job.error is not None and not restored else shortfall(session.state, outcomes)
        restored = restored or error is None
        event = self._ledger.emit(
            session,
            FACTORY_RESTORED if restored else CHANGE_NOT_APPLIED,
            cause="reset" if restored else job.cause or "refused",
            stage=Stage.APPLIED.value if restored else Stage.REFUSED.value,
            by=job.author,
            rev=job.rev or session.state.rev,
            request_id=job.request_id,
            trace=job.trace,
            reason=job.reason if error is None else error.message,
            of=job,
        )
        outcome = "applied" if error is None else job.cause or "refused"
        self._endings.settle(session, job, outcome, event.seq)
        reply = self._replies.change_reply(
            session, job, ok=error is None, stage=Stage.APPLIED if error is None else Stage.REFUSED, final=True,
            seq=event.seq, result={"items": by_item(outcomes)} if error is None else None, error=error,
        )  # fmt: skip
        self._replies.deliver(session, job, reply, settled=True)


def _warnings(changed: list[StepJob]) -> tuple[Warned, ...]:
    return tuple(one for step in changed for one in ending_warning(step.outcome, place_of("items", step.slot)))


def until(job: BatchJob) -> int:
    """When a batch that is an override ends; 0 of others."""
    return 0 if job.terms is None else job.terms.until_us


def _plan(job: BatchJob) -> int:
    return 0 if job.terms is None else job.terms.plan


def _cause(job: BatchJob) -> str:
    """The cause of what is told of the slots that failed."""
    return job.cause or cause_of(worst(failed(job.outcomes).values()))


def _error(session: ArmSession, job: BatchJob, changed: list[StepJob]) -> BrokerError:
    """What the reply says of a batch of which slots failed, all of them in words."""
    missed = failed(job.outcomes)
    steps = [step for step in job.steps if step.slot in missed and step.undoes is None]
    told = ", ".join(
        f"{slot_path(step.slot)} {step.outcome}" + (f" ({step.error.name})" if step.error is not None else "")
        for step in steps
    )
    text = f"{session.arm}: {len(changed)} of {len(job.outcomes)} slots took effect; not: {told}."
    violations = tuple(one for step in steps if step.error is not None for one in step.error.violations)
    if changed:
        return BrokerError(PARTIAL, text, violations)
    if job.error is not None and len({*missed.values()}) == 1:
        return BrokerError(job.error.kind, f"{text} {job.error.message}", violations, name=job.error.name)
    return BrokerError(kind_of(worst(missed.values())), text, violations)
