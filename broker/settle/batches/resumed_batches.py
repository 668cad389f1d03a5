"""Changes of several slots that an earlier run began: what it left is read, then the rest is decided again."""

from typing import Protocol

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import BatchJob, StepJob
from broker.life import Origin, State
from broker.settle.parts import Parts
from handlers.items.config_items import kept_by_service
from handlers.items.settling import Ending
from schema.errors import BrokerError
from schema.messages import Message


class Steps(Protocol):
    """Carries out single steps."""

    def may_restore(self, session: ArmSession, job: BatchJob, step: StepJob) -> bool:
        """Whether a step of a RestoreFactory may begin."""

    def take(self, session: ArmSession, job: BatchJob, step: StepJob, read: Message, ending: Ending) -> None:
        """Keep what was read of a slot that has what was asked for."""

    def fail(self, session: ArmSession, job: BatchJob, step: StepJob, error: BrokerError, outcome: str = "") -> None:
        """A slot does not become what was asked for."""

    def judge_step(self, session: ArmSession, job: BatchJob, step: StepJob, read: Message, ending: Ending) -> None:
        """A step is over, as what was read back tells."""

    async def settle_step(self, session: ArmSession, job: BatchJob, step: StepJob) -> None:
        """Write one slot and read it back."""


class ResumedBatches:
    """Reads what is left of batches that were begun before a start."""

    def __init__(self, parts: Parts, batches: Steps) -> None:
        self._ledger = parts.ledger
        self._endings = parts.endings
        self._exchange = parts.exchange
        self._obstacles = parts.obstacles
        self._parking = parts.parking
        self._fatal_reads = parts.fatal_reads
        self._batches = batches

    async def resume(self, session: ArmSession, job: BatchJob) -> None:
        """What an earlier run began: each open slot is read, the first that is as before is sent once more.

        Of a RestoreFactory nothing is sent.
        """
        await self._fatal_reads.begin(session, job)
        resend = not job.factory and not job.why
        for step in job.open:
            if job.factory:
                self._batches.may_restore(session, job, step)
            if kept_by_service(session.state, step.slot[0]):
                if job.factory and step.wanted is not None:
                    self._batches.take(session, job, step, step.wanted, Ending.APPLIED)
            elif not await self._read_first(session, job, step):
                if job.factory:
                    self._batches.fail(session, job, step, BrokerError("expired", "the service restarted"))
                elif resend and self._may_resend(session, job, step):
                    await self._batches.settle_step(session, job, step)
                resend = False
            self._ledger.update_change(job)
            self._endings.tell_changed(session, step.slot)
        self._fatal_reads.end(job)
        self._leave(session, job)

    def _leave(self, session: ArmSession, job: BatchJob) -> None:
        """What is left of a batch that an earlier run began is decided again."""
        job.step, job.origin = None, max(job.origin, Origin.WAITED)
        job.state, job.epoch, job.cmd_seq = State.ACCEPTED, 0, 0
        if job.why and job.open:
            self._endings.fail(session, job, BrokerError("quarantined", job.why), "refused", None)
        elif job.open:
            self._parking.set_aside(session, job)

    async def _read_first(self, session: ArmSession, job: BatchJob, step: StepJob) -> bool:
        """Read one slot; whether that tells what became of it: a new value is taken for ours, or another writer's."""
        step.before = session.state.reported.get(step.slot)
        job.step, step.state = step, State.RESUMED
        read = await self._exchange.read_back(session, step)
        ending = self._exchange.ending(session, step, step.wanted, read)
        if ending is Ending.REFUSED:
            step.state = State.ACCEPTED
            return False
        self._batches.judge_step(session, job, step, read, ending)
        return True

    def _may_resend(self, session: ArmSession, job: BatchJob, step: StepJob) -> bool:
        """Whether a step that is as it was may be sent once more, with the number that it had."""
        state = session.state
        if not (state.online and state.ready) or state.distrust or not self._obstacles.free(session, job):
            return False
        return bool(step.cmd_seq) and self._obstacles.of_step(session, job, step) is None
