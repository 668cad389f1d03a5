"""Stage 2: accepted changes go to the arm in order, are read back, and end."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial

import msgspec
import structlog

from broker.arms.arm_session import ArmSession, is_clear
from broker.arms.batch_job import BatchJob
from broker.arms.jobs import ChangeJob, Job, Waiter
from broker.life import WAITING, State
from broker.publish.documents import Documents
from broker.record.ledger import Ledger
from broker.record.replies import JSON, Replies
from broker.settle.batches.batch_ends import BatchEnds
from broker.settle.batches.batches import Batches, take_revision
from broker.settle.batches.reversals import Reversals
from broker.settle.deadlines import REPLY_WITHIN_S, Deadlines
from broker.settle.endings import Endings, not_taken, refusal_of_arm
from broker.settle.exchange import EndedError, Exchange
from broker.settle.fatal_reads import FatalReads
from broker.settle.idle import IdleWatch
from broker.settle.obstacles import Obstacles, Park, needs_arm
from broker.settle.overrides.overriding import Overriding
from broker.settle.overrides.returns import Returns
from broker.settle.parking import Parking
from broker.settle.parts import Parts
from broker.settle.queues import Queues
from broker.settle.rebase import in_turn
from broker.settle.resumed import Resumed
from broker.settle.rights.policing import Policing
from broker.store.batch import Batch
from broker.store.rows import RequestRow
from broker.timers import Timers
from devices.adapter import ArmAwayError, ArmRefusedError
from handlers.items.config_items import kept_by_service
from handlers.items.settling import TOOK_EFFECT, Ending, same
from schema.arms import Verb
from schema.envelope import Stage, Wait, Warned
from schema.errors import BrokerError
from schema.messages import Message

log = structlog.get_logger()

_STORED, _REFUSED, _ACCEPTED = Wait.STORED, Ending.REFUSED, State.ACCEPTED
_WRITING, _SETTLED = State.WRITING, State.SETTLED
WAITERS_MOST = 64
"""Repeats of one request that may wait for its reply."""


class Settler:
    """Settles changes; `unsettled` holds those with a request, by the request's number."""

    def __init__(
        self, *, ledger: Ledger, replies: Replies, documents: Documents,
        queues: Queues, loop: asyncio.AbstractEventLoop, pending_max_age_us: int, idle_for_s: float = 2.0,
    ) -> None:  # fmt: skip
        self._ledger, self._replies, self._documents, self._queues = ledger, replies, documents, queues
        self.policing, self._returns = Policing(ledger.clock), Returns(ledger)
        self.overriding = Overriding(ledger, self._returns, loop)
        self.unsettled: dict[int, ChangeJob] = {}
        self.on_accepted: Callable[[ArmSession, ChangeJob], None] | None = None
        """Hears of every change that is accepted, where somebody has to know."""
        self._batch: Batch | None = None
        self._accepted: list[tuple[ArmSession, ChangeJob]] = []
        """What was accepted with `_batch`."""
        self._timers = timers = Timers(loop)
        self.endings = Endings(ledger, replies, documents, self.unsettled, timers, self.overriding)
        self.deadlines = Deadlines(ledger, replies, self.endings, timers)
        self.idle = idle = IdleWatch(timers, documents, ledger.clock.monotonic, idle_for_s)
        self.endings.on_mode = idle.look
        self._obstacles = Obstacles(ledger.clock, pending_max_age_us, self.policing, idle)
        self.parking = Parking(ledger, replies, self._obstacles, self.endings, queues, idle)
        self._returns.work(timers, self.admit, self.parking.resume, self.parking.give_up)
        self.exchange = Exchange(documents, ledger.clock.monotonic)
        parts = Parts(ledger, self.endings, self.exchange, self._obstacles, self.parking, FatalReads(ledger))
        self._resumed = Resumed(parts, self)
        self.batch_ends = ends = BatchEnds(ledger, replies, self.endings)
        self.endings.end_batch = ends.end
        self._batches = Batches(parts, ends)
        self.reversals = Reversals(ledger, self.parking, self.overriding)

    # ------------------------------------------------------------------ accepting

    def admit(
        self, session: ArmSession, job: ChangeJob, row: RequestRow | None = None, waiter: Waiter | None = None
    ) -> None:
        """Commit 1: a change, with its request unless it is our own; then it may begin, waits, or is in force."""
        job.since = self._ledger.clock.monotonic()
        self._take_revision(session, job)
        session.count_in(job)
        obstacle = None if is_clear(session, job) else self._obstacles.of(session, job)
        parks = obstacle if type(obstacle) is Park else None
        several = job if type(job) is BatchJob else None
        in_force = parks is None and (job.item.kept_by_service or several is not None) and not needs_arm(session, job)
        in_force = in_force and not (job.back and obstacle)
        numbered = obstacle is None and not (job.unchanged or job.waits_turn or in_force)
        if numbered and (not session.jobs or session.numbers_ahead()):
            self._number(session, job)
        if row is not None and waiter is not None:
            self._remember(session, job, row, waiter, parks)
        if parks is not None:
            self.parking.place(session, job, parks)
        self._write_down(session, job)
        if session.parked:
            self.parking.supersede(session, job)
        if in_force and several is not None:
            self._batches.take_own(session, several)
            return
        if in_force and job.wanted is not None:
            in_turn(session, self._ledger, job, job)
            self.endings.record_applied(session, job, job.wanted, Ending.APPLIED)
            return
        if job.back and parks is None:
            session.jobs.insert(self.parking.place_in(session, job), job)
        elif parks is None:
            session.jobs.append(job)
        batch = self._ledger.store.batch
        if batch is not self._batch:
            self._batch, self._accepted = batch, []
            batch.before_next(partial(self._begin, self._accepted))
            self._ledger.store.flush_soon()
        self._accepted.append((session, job))
        self._documents.mark(session, "config")

    def _number(self, session: ArmSession, job: ChangeJob) -> None:
        """Give a change its command number, a batch one for each of its commands."""
        if type(job) is BatchJob:
            self._batches.number(session, job)
        else:
            self._ledger.mark_writing(session, job)

    def _take_revision(self, session: ArmSession, job: ChangeJob) -> None:
        """What is desired is what the change wants, in a new revision; an unchanged one takes none."""
        if job.terms is not None:
            self.overriding.claim(session, job, job.terms)
        job.reverts = session.reverts
        if job.unchanged:
            return
        if job.back:
            self._returns.take_revision(session, job)
        elif type(job) is BatchJob:
            take_revision(session, job)
        else:
            wanted = job.wanted if job.wanted is not None else session.state.desired[job.slot]
            job.setter = session.setter_of(job, wanted)
            job.rev = self._ledger.desire(session, job.slot, wanted, job.setter)

    def _write_down(self, session: ArmSession, job: ChangeJob) -> None:
        self._ledger.add_change(session, job)
        self._ledger.audit(
            at=job.at_us, request=job.request_id, arm=session.arm, method=job.method, rev=job.rev, decision="accepted"
        )
        if self.on_accepted is not None:
            self.on_accepted(session, job)

    def _remember(
        self, session: ArmSession, job: ChangeJob, row: RequestRow, waiter: Waiter, waits: Park | None
    ) -> None:
        """The row of the request; the reply of `wait: stored`, or of a change that waits, goes with commit 1."""
        row.rev = job.rev or session.state.desired_rev.get(job.slot, 0)
        self.unsettled[job.request_n] = job
        if waits is not None or waiter.wait is _STORED:
            row = self._answer_stored(session, job, row, waiter, () if waits is None else waits.warnings)
        else:
            job.waiters = [waiter]
        self._ledger.store.batch.add_request(row)

    def _answer_stored(
        self, session: ArmSession, job: ChangeJob, row: RequestRow, waiter: Waiter, warnings: tuple[Warned, ...]
    ) -> RequestRow:
        """The reply that goes with commit 1."""
        job.replied = Stage.STORED
        reply = self._replies.change_reply(
            session, job, ok=True, stage=Stage.STORED, final=False, warnings=warnings + waiter.warnings
        )
        outcome = JSON.encode_reply(reply)
        self._replies.give_then(waiter.address, reply, row.n, outcome)
        return msgspec.structs.replace(row, outcome=outcome, reply_open=True)

    def _begin(self, accepted: list[tuple[ArmSession, ChangeJob]]) -> None:
        """After commit 1: the clocks run, the queues run."""
        stored_s, promised = self._ledger.store.committed_s, self.endings.promised
        due_s = stored_s + REPLY_WITHIN_S
        for session, job in accepted:
            job.committed, job.stored_s = True, stored_s
            if job.state is _SETTLED:
                continue
            if job.replied is None and not job.waits_turn:
                promised[job] = session, due_s
            if job.expires:
                self.deadlines.end_in_time(session, job)
        if promised and not self.deadlines.rings:
            self.deadlines.ring_for_the_oldest()
        self._queues.begin(accepted)

    def let_begin(self, session: ArmSession, job: ChangeJob) -> None:
        """It is the turn of a change that waited for it."""
        job.waits_turn = False
        self.deadlines.promise(session, job)
        self._queues.kick(session)

    def wait(self, session: ArmSession, job: ChangeJob, waiter: Waiter) -> None:
        """A repeat of an unsettled request waits for the same reply, by its own `wait`.

        Raises:
            BrokerError: busy, when too many wait already.
        """
        if waiter.wait is Wait.APPLIED:
            if len(job.waiters) >= WAITERS_MOST:
                raise BrokerError("busy", f"{WAITERS_MOST} repeats of this request wait for its reply already.")
            job.waiters.append(waiter)
            return
        reply = self._replies.change_reply(session, job, ok=True, stage=Stage.STORED, final=False)
        known = msgspec.structs.replace(
            reply, duplicate=True, in_force=False, warnings=reply.warnings + waiter.warnings
        )
        self._replies.give_committed(waiter.address, known)

    # ------------------------------------------------------------------ settling

    async def settle(self, session: ArmSession, job: ChangeJob) -> None:
        """Bring one change to its end, or park it; returns when the next may begin."""
        if job.waits_turn:  # something came behind it, which does not wait for that turn
            job.waits_turn = False
            self.deadlines.promise(session, job)
        over = job.state is State.SETTLED
        if not over and (session.may_be_with_arm(job) or not self.parking.set_aside(session, job)):
            session.busy_with = job
            try:
                with contextlib.suppress(EndedError):
                    await self._carry_out(session, job)
            finally:
                session.busy_with = None
        if job.state not in WAITING and self._mark_next(session, job):
            await self._ledger.store.committed()

    def settle_now(self, session: ArmSession, job: ChangeJob) -> bool:
        """Bring a change to its end, or park it, where its arm answers without waiting; False: `settle` has to."""
        if type(job) is BatchJob:
            return self._batches.settle_now(session, job)
        begun = _ACCEPTED if job.unchanged else _WRITING
        if job.wanted is None or job.named is not None or not job.committed or job.state is not begun:
            return False
        fenced = not job.unchanged and (job.epoch, job.cmd_seq) <= session.fence
        if fenced or (job.item.kept_by_service and kept_by_service(session.state, job.slot[0])):
            return False
        obstacle = None if is_clear(session, job) else self._obstacles.of(session, job)
        if obstacle is not None:
            self.parking.park_or_end(session, job, obstacle)
            return True
        if job.unchanged:
            return self._end_if_same(session, job, session.adapter.read_now(job.slot))
        try:
            read = self.exchange.write_and_read_now(session, job)
        except ArmRefusedError as refused:
            self.refuse(session, job, refused)
            return True
        except ArmAwayError:
            return self.parking.set_aside(session, job)
        if read is None:
            return False
        ending = self.exchange.ending(session, job, job.wanted, read)
        if ending is _REFUSED:  # it is read once more
            job.state = State.UNKNOWN
            return False
        end = self.endings.record_applied if ending in TOOK_EFFECT else self._end
        end(session, job, read, ending)
        return True

    async def _carry_out(self, session: ArmSession, job: ChangeJob) -> None:
        if isinstance(job, BatchJob):
            await self._batches.carry_out(session, job)
            return
        if job.unchanged:
            await self._confirm_unchanged(session, job)
            return
        anew = in_turn(session, self._ledger, job, job)
        if job.wanted is not None and kept_by_service(session.state, job.slot[0]):
            self.endings.record_applied(session, job, job.wanted, Ending.APPLIED)
            return
        if job.state is State.ACCEPTED or (job.state is State.WRITING and _is_fenced(session, job)):
            self._mark_writing(session, job)
            await self._ledger.store.committed()
        elif anew or not job.committed:
            await self._ledger.store.committed()
        await self._tell_arm(session, job)

    async def _tell_arm(self, session: ArmSession, job: ChangeJob) -> None:
        """Send the command, unless that was done before; read back and end the change."""
        if job.state is State.RESUMED:
            if await self._resumed.resume(session, job):
                await self._carry_out(session, job)
            return
        if job.state is State.UNKNOWN:
            await self.judge(session, job, job.wanted)
            return
        try:
            returned = await self.exchange.write(session, job)
        except ArmRefusedError as refused:
            self.refuse(session, job, refused)
        except ArmAwayError:
            self.parking.set_aside(session, job)
        else:
            await self.judge(session, job, returned if job.verb is Verb.RESET else job.wanted)

    def refuse(self, session: ArmSession, job: ChangeJob, refused: ArmRefusedError) -> None:
        """End a change that the arm did not take."""
        error = refusal_of_arm(refused.code, refused.sub_code, refused.name, str(refused))
        self.endings.fail(session, job, error, "refused", None)

    async def judge(self, session: ArmSession, job: ChangeJob, wanted: Message | None) -> None:
        """Read back and end the change."""
        self._end(session, job, *await self.exchange.judge(session, job, wanted))

    def _end(self, session: ArmSession, job: ChangeJob, read: Message, ending: Ending) -> None:
        """End the change as what was read back tells."""
        if ending in TOOK_EFFECT:
            self.endings.record_applied(session, job, read, ending)
        else:
            error = not_taken(session.arm, job.slot[0], ending)
            self.endings.fail(session, job, error, ending.value, read)

    async def _confirm_unchanged(self, session: ArmSession, job: ChangeJob) -> None:
        """Read what is there already; if the arm has something else after all, it is a change like others."""
        read, wanted = await self.exchange.read_back(session, job), job.wanted
        if wanted is None or self._end_if_same(session, job, read):
            return
        self.endings.record_foreign(session, job.slot, read, "")
        job.unchanged = False
        later = session.state.open[job.slot] > 1
        job.setter = session.setter_of(job, wanted)
        job.rev = self._ledger.desire(session, job.slot, None if later else wanted, job.setter)
        session.await_reading(job, wanted)
        job.state = State.ACCEPTED
        self._ledger.reopen_change(session, job)
        if not self.parking.set_aside(session, job):
            await self._carry_out(session, job)

    def _end_if_same(self, session: ArmSession, job: ChangeJob, read: Message | None) -> bool:
        """End an unchanged change if the arm has what it wants, as it should; whether it has."""
        wanted = job.wanted
        if read is None or wanted is None or not same(job.slot[0], read, wanted, session.state.resolution_rad):
            return False
        self.endings.record_applied(session, job, read, Ending.APPLIED if read == wanted else Ending.ROUNDED)
        return True

    def _mark_next(self, session: ArmSession, job: ChangeJob) -> bool:
        """Let what follows share the commit of this one; whether there is something to wait for.

        That is the next change, and of a prompt arm all behind it up to one that cannot have its number yet.
        """
        following = session.jobs[session.jobs.index(job) + 1 :]
        for later in following:
            if not self._gets_number(session, later) or not session.adapter.prompt:
                break
        return bool(following)

    def _gets_number(self, session: ArmSession, job: Job) -> bool:
        """Whether a change that follows has its command number now, unless it had one before."""
        if type(job) is not ChangeJob or job.waits_turn or job.unchanged:
            return False
        if job.state is _ACCEPTED and self._obstacles.of(session, job) is None:
            self._mark_writing(session, job)
        return job.state is _WRITING

    def _mark_writing(self, session: ArmSession, job: ChangeJob) -> None:
        self._ledger.mark_writing(session, job)
        self._ledger.update_change(job)

    def pending_max_age(self, max_age_us: int) -> None:
        """How old a loosening may be from now on when its arm returns."""
        self._obstacles.max_age_us = max_age_us

    def leave(self, session: ArmSession, job: ChangeJob) -> None:
        """A change may be with an arm that is taken out of the settings: who waits for it is told that nobody knows."""
        self.deadlines.answer_overdue(session, job)
        for timer in job.timers:
            self._timers.drop(timer)
        self.endings.promised.pop(job, None)
        self.unsettled.pop(job.request_n, None)

    def take_back(self, session: ArmSession) -> None:
        """The arm came back: what was left is known again."""
        self.unsettled |= {job.request_n: job for job in session.unsettled() if job.request_n}

    def close(self) -> None:
        """No clock of a change runs any more."""
        self._timers.close()
        self.overriding.times.close()


def _is_fenced(session: ArmSession, job: ChangeJob) -> bool:
    """Whether the arm would refuse a command of this run, for it knows a higher number."""
    return (job.epoch, job.cmd_seq) <= session.fence
