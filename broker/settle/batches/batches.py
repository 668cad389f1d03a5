"""Changes of several slots in the queue of an arm: slot after slot, each read back, then one end for all of them."""

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import BatchJob, StepJob, new_step
from broker.arms.jobs import UNTIMED, ChangeJob
from broker.life import QUEUED, WAITING, Origin, State
from broker.settle.batches.batch_ends import BatchEnds, until
from broker.settle.batches.resumed_batches import ResumedBatches
from broker.settle.endings import not_taken, refusal_of_arm
from broker.settle.obstacles import Park
from broker.settle.parts import Parts
from broker.settle.rebase import in_turn
from devices.adapter import ArmAwayError, ArmRefusedError
from handlers.batch.order import turn_of
from handlers.batch.outcomes import CHANGED, NOT_BEGUN, REVERSED, UNCHANGED, outcome_of
from handlers.batch.projection import check_value
from handlers.items.config_items import CHECKS, kept_by_service
from handlers.items.direction import Direction, is_loosening
from handlers.items.settling import Ending, equal, same
from handlers.items.verbs import check_presence
from handlers.methods.factory import step_of
from handlers.state.provenance import NOBODY, PARTED
from schema.arms import Verb
from schema.errors import BrokerError
from schema.messages import Message

_EVEN_SO = frozenset({Direction.TIGHTENING, Direction.UNCHANGED})
"""Directions of slots that are still begun beside one that failed."""


class Batches:
    """Carries out batches; a slot that fails keeps the looser ones behind it from being begun."""

    def __init__(self, parts: Parts, ends: BatchEnds) -> None:
        self._ledger = parts.ledger
        self._endings = parts.endings
        self._exchange = parts.exchange
        self._obstacles = parts.obstacles
        self._parking = parts.parking
        self._ends = ends
        self._resumed = ResumedBatches(parts, self)

    # ------------------------------------------------------------------ before it begins

    def number(self, session: ArmSession, job: BatchJob) -> None:
        """Give each command a number; the first byte goes out only after the commit. The caller stores the change."""
        self._ledger.mark_writing(session, job)
        number = job.cmd_seq - 1
        for step in job.steps:
            if not step.outcome and not kept_by_service(session.state, step.slot[0]):
                number += 1
                step.epoch, step.cmd_seq = job.epoch, number
        session.cmd_seq = max(number, job.cmd_seq)
        session.sent = (job.epoch, session.cmd_seq)
        self._ledger.put_arm(session)

    def take_own(self, session: ArmSession, job: BatchJob) -> None:
        """End a batch of slots that the service holds."""
        self._next(session, job)
        self._end(session, job)

    # ------------------------------------------------------------------ on the arm

    def settle_now(self, session: ArmSession, job: BatchJob) -> bool:
        """Bring a batch to its end, or park it, where its arm answers without waiting; False: `carry_out` has to."""
        if job.factory or not job.committed or job.origin is not Origin.NEW or job.unchanged:
            return False
        if job.state is not State.WRITING:
            return False
        if self._parking.set_aside(session, job):
            return True
        while (step := self._next(session, job)) is not None:
            sent = step.state is not State.ACCEPTED or step.unchanged or not self._is_numbered(session, job, step)
            if sent or not self._settled_now(session, job, step):
                return False
            job.step = None
        self._end(session, job)
        return True

    def _settled_now(self, session: ArmSession, job: BatchJob, step: StepJob) -> bool:
        """Write one slot and read it back where that needs no waiting; whether the step is over, or the arm away."""
        begin(session, step)
        try:
            read = self._exchange.write_and_read_now(session, step)
        except ArmRefusedError as refused:
            self.refuse_step(session, job, step, refused)
            return True
        except ArmAwayError:
            self.put_off(session, job, step)
            return True
        finally:
            note_written(job, step)
        if read is None:
            return False
        ending = self._exchange.ending(session, step, step.wanted, read)
        if ending is Ending.REFUSED:  # it is read once more
            step.state = State.UNKNOWN
            return False
        self.judge_step(session, job, step, read, ending)
        return True

    async def carry_out(self, session: ArmSession, job: BatchJob) -> None:
        """Change slot after slot, and end the change, or park what is left of it.

        Raises:
            EndedError: the change was ended meanwhile.
        """
        if job.state is State.RESUMED:
            await self._resumed.resume(session, job)
        elif not job.committed:
            await self._ledger.store.committed()
        await self._go_on(session, job)

    async def _go_on(self, session: ArmSession, job: BatchJob) -> None:
        if job.state not in QUEUED:
            return
        if job.origin is not Origin.NEW:
            self._arrange(session, job)
        while (step := self._next(session, job)) is not None:
            if not step.unchanged and not self._is_numbered(session, job, step):
                self.number(session, job)
                self._ledger.update_change(job)
                await self._ledger.store.committed()
            await (self._confirm(session, job, step) if step.unchanged else self.settle_step(session, job, step))
            job.step = None
            self._ledger.update_change(job)
            self._endings.tell_changed(session, step.slot)
        self._end(session, job)

    def _is_numbered(self, session: ArmSession, job: BatchJob, step: StepJob) -> bool:
        """Whether a step has a number of this run above what the arm knows, or was sent."""
        if step.state is not State.ACCEPTED:
            return True
        number = (step.epoch, step.cmd_seq)
        return job.state is State.WRITING and step.epoch == job.epoch and step.cmd_seq > 0 and number > session.fence

    def _end(self, session: ArmSession, job: BatchJob) -> None:
        if job.state in QUEUED:
            self._ends.end(session, job)

    def _arrange(self, session: ArmSession, job: BatchJob) -> None:
        """Order what is left anew, by what is reported now; Resets stay as they are."""
        if job.factory:
            return
        state = session.state
        for step in job.open:
            step.loosening = is_loosening(step.item, step.wanted, state.reported.get(step.slot))
        over = [step for step in job.steps if step.outcome]
        job.steps = over + sorted(job.open, key=lambda step: turn_of(state, step.slot, step.direction))

    def _next(self, session: ArmSession, job: BatchJob) -> StepJob | None:
        """The next step that the arm has to be told of, or is at; None when all are over, or what is left is parked.

        What the service holds is in force at once.
        """
        for step in job.steps:
            if step.outcome:
                continue
            if step.state is State.ACCEPTED and not self._may_begin(session, job, step):
                if job.state in WAITING:
                    return None
                continue
            if not kept_by_service(session.state, step.slot[0]):
                job.step = step
                return step
            if step.wanted is None:
                raise TypeError(step.slot[0])
            self.take(session, job, step, step.wanted, Ending.APPLIED)
        return self._next(session, job) if self._turn_back(session, job) else None

    def _turn_back(self, session: ArmSession, job: BatchJob) -> bool:
        """Whether what took effect is to be written back now: slot by slot, where it is as this change left it."""
        if not job.reverse or not job.failed or any(step.undoes is not None for step in job.steps):
            return False
        state = session.state
        for step in [step for step in job.steps if step.outcome in CHANGED]:
            slot, there, left = step.slot, state.reported.get(step.slot), step.read
            if step.before is None or there is None or left is None or state.desired_rev.get(slot) != job.rev:
                continue
            if equal(slot[0], there, left, state.resolution_rad):
                back = new_step(job, slot, Verb.SET, step.before, undoes=step, named=step.named)
                session.desire_step(back)
                session.part_in(back)
        self._arrange(session, job)
        return bool(job.open)

    def _may_begin(self, session: ArmSession, job: BatchJob, step: StepJob) -> bool:
        """Whether a step may begin; else it is over, or all that is left is parked."""
        if job.factory:
            return self.may_restore(session, job, step)
        if step.undoes is not None and not self._obstacles.free(session, job):
            self.fail(session, job, step, BrokerError("held", f"{session.arm} is kept from changes"))
            return False
        if step.undoes is None and step.direction not in _EVEN_SO and job.failed and not job.back:
            error = BrokerError("arm_refused", "a slot before it failed")
            self.fail(session, job, step, error, NOT_BEGUN)
            return False
        obstacle = self._obstacles.of_step(session, job, step)
        if isinstance(obstacle, Park):
            self._parking.park(session, job, obstacle)
            return False
        if obstacle is not None:
            self.fail(session, job, step, obstacle.error, "" if obstacle.cause == "refused" else obstacle.cause)
            return False
        if step.named is not None:
            in_turn(session, self._ledger, job, step)
        if (job.origin is not Origin.NEW or job.reverts != session.reverts) and not step.unchanged and not job.back:
            wanted = {one.slot: one.wanted for one in job.open if one.wanted is not None}
            try:
                check_value(session.state, wanted, step.slot)
            except BrokerError as error:
                self.fail(session, job, step, error)
                return False
        return True

    def may_restore(self, session: ArmSession, job: BatchJob, step: StepJob) -> bool:
        """Whether a step of a RestoreFactory may begin; what it wants is known now."""
        state, slot = session.state, step.slot
        step.verb, step.wanted = step_of(state, step.item, slot)
        if kept_by_service(state, slot[0]) or job.state is State.RESUMED:
            return True
        if step.wanted is not None and equal(slot[0], step.wanted, state.reported[slot], state.resolution_rad):
            if state.desired_rev.get(slot) == job.rev:  # nobody could name it before
                state.desired[slot], state.desired_by[slot] = state.reported[slot], state.reported_by.get(slot, NOBODY)
            self._endings.close(session, step, UNCHANGED)
            return False
        try:
            check_presence(state)
            if step.wanted is not None:
                CHECKS[step.item.key](state, step.wanted)
        except BrokerError as error:
            self.fail(session, job, step, error)
            return False
        return True

    async def settle_step(self, session: ArmSession, job: BatchJob, step: StepJob) -> None:
        """Write one slot and read it back."""
        returned = step.wanted
        if step.state is not State.UNKNOWN:
            begin(session, step)
            try:
                returned = await self._exchange.write(session, step)
            except ArmRefusedError as refused:
                self.refuse_step(session, job, step, refused)
                return
            except ArmAwayError:
                self.put_off(session, job, step)
                return
            finally:
                note_written(job, step)
        wanted = returned if step.verb is Verb.RESET else step.wanted
        self.judge_step(session, job, step, *await self._exchange.judge(session, step, wanted))

    async def _confirm(self, session: ArmSession, job: BatchJob, step: StepJob) -> None:
        """Read what is there already; if the arm has something else after all, it is a change like others."""
        read = await self._exchange.read_back(session, step)
        if not self.confirm_step(session, job, step, read):
            await self._ledger.store.committed()

    # ------------------------------------------------------------------ what came of a step

    def judge_step(self, session: ArmSession, job: BatchJob, step: StepJob, read: Message, ending: Ending) -> None:
        """End a step as what was read back tells; where the arm was away, what is left is decided again."""
        if step.state is State.UNKNOWN and not job.factory:
            job.origin = max(job.origin, Origin.WAITED)
        if ending.took_effect:
            self.take(session, job, step, read, ending)
            return
        self._endings.read_after_all(session, step.slot, read)
        self.fail(session, job, step, not_taken(session.arm, step.slot[0], ending), ending.value)

    def confirm_step(self, session: ArmSession, job: BatchJob, step: StepJob, read: Message) -> bool:
        """End a step whose slot has what it wants already; whether it has, else it is one to be written."""
        if step.wanted is not None and same(step.slot[0], read, step.wanted, session.state.resolution_rad):
            self.take(session, job, step, read, Ending.APPLIED)
            return True
        self._endings.record_foreign(session, step.slot, read, "")
        step.unchanged, step.state = False, State.ACCEPTED
        if job.unchanged:
            job.unchanged = False
            session.state.rev += 1
            job.rev = session.state.rev
            self._ledger.reopen_change(session, job)
        step.rev = job.rev
        session.desire_step(step)
        if step.wanted is not None:
            session.await_reading(step, step.wanted)
        self._ledger.put_slot(session, step.slot)
        self._arrange(session, job)
        self.number(session, job)
        self._ledger.update_change(job)
        return False

    def take(self, session: ArmSession, job: BatchJob, step: StepJob, read: Message, ending: Ending) -> None:
        """Keep what was read of one slot that has what was asked for, clamped at most."""
        state, slot = session.state, step.slot
        before = state.reported.get(slot)
        step.before, step.read = before, read
        self._endings.observe(session, slot, read)
        if not step.unchanged:
            state.reported_by[slot] = step.setter
        if job.factory or ending is Ending.CLAMPED:
            step.wanted = read
            if state.desired_rev.get(slot) == job.rev and not job.back:
                state.desired[slot], state.desired_by[slot] = read, step.setter
        if step.undoes is not None:
            step.undoes.outcome = REVERSED
        unchanged = step.unchanged
        if job.factory and before is not None:
            unchanged = equal(slot[0], read, before, state.resolution_rad)
        if step.item.record in PARTED:
            self._endings.note_ground(session, job, step, step.wanted or read, step.before)
        if step.undoes is not None and until(job):
            self._endings.withdraw(session, job, slot)
        elif until(job) or not job.reverse:
            job.warnings += self._endings.take_place(session, job, step, step.wanted or read, step.before)
        self._endings.close(session, step, UNCHANGED if unchanged else str(ending))

    def refuse_step(self, session: ArmSession, job: BatchJob, step: StepJob, refused: ArmRefusedError) -> None:
        """End a step that the arm did not take."""
        error = refusal_of_arm(refused.code, refused.sub_code, refused.name, str(refused))
        self.fail(session, job, step, error, Ending.REFUSED.value)

    def put_off(self, session: ArmSession, job: BatchJob, step: StepJob) -> None:
        """Let a step wait, with all that is left, where the arm was not there; one that may not wait ends."""
        step.state = State.ACCEPTED
        if job.factory:
            self.fail(session, job, step, BrokerError("arm_away", f"{session.arm} is not connected"))

    def fail(self, session: ArmSession, job: BatchJob, step: StepJob, error: BrokerError, outcome: str = "") -> None:
        """A slot does not become what was asked for."""
        self._endings.give_up(session, job, step, error, outcome or outcome_of(error.kind))


def take_revision(session: ArmSession, job: BatchJob) -> None:
    """What a batch wants is desired in a new revision; of a RestoreFactory that is not known yet."""
    session.state.rev += 1
    job.rev = session.state.rev
    for step in job.steps:
        if not step.unchanged:
            step.rev = job.rev
            session.desire_step(step)


def begin(session: ArmSession, step: StepJob) -> None:
    """A step goes to the arm now."""
    step.state, step.committed, step.before = State.WRITING, True, session.state.reported.get(step.slot)


def note_written(job: ChangeJob, step: StepJob) -> None:
    """Say when a batch was given to the adapter: with its first step."""
    if job.written_s == UNTIMED:
        job.written_s = step.written_s
