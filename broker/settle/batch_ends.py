"""How changes of several slots end: events and reply in one transaction."""

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import BatchJob
from broker.record.ledger import Ledger
from broker.record.replies import Replies
from broker.settle.endings import Endings
from handlers.batch.outcomes import CHANGED, by_item
from handlers.methods.factory import shortfall
from schema.enums import ControlConfigurationEvent
from schema.envelope import Stage
from schema.events import CHANGE_NOT_APPLIED

FACTORY_RESTORED = ControlConfigurationEvent.CONTROL_CONFIGURATION_FACTORY_RESTORED.name


class BatchEnds:
    """Ends batches of which every slot is over."""

    def __init__(self, ledger: Ledger, replies: Replies, endings: Endings) -> None:
        self._ledger = ledger
        self._replies = replies
        self._endings = endings

    def end(self, session: ArmSession, job: BatchJob) -> None:
        """One end for all slots."""
        self._end_factory(session, job)

    def _end_factory(self, session: ArmSession, job: BatchJob) -> None:
        """One event, one reply; what could not be restored is told in both, and is desired as it was read."""
        outcomes = {step.slot: step.outcome for step in job.steps}
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
        self._endings.settled(session, job, outcome, event.seq)
        reply = self._replies.change_reply(
            session, job, ok=error is None, stage=Stage.APPLIED if error is None else Stage.REFUSED, final=True,
            seq=event.seq, result={"items": by_item(outcomes)}, error=error,
        )  # fmt: skip
        self._replies.deliver(session, job, reply, settled=True)
