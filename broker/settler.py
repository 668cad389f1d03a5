"""Stage 2: accepted changes go to the arm in order, are read back, and end."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec
import structlog

from broker.arm_session import ArmSession
from broker.deadlines import Deadlines
from broker.documents import Documents
from broker.endings import Endings, refusal_of_arm
from broker.jobs import ChangeJob, Phase, Waiter
from broker.ledger import Ledger
from broker.obstacles import Obstacles
from broker.queues import Queues
from broker.replies import JSON, Replies
from broker.store.rows import ChangeState, RequestRow
from devices.adapter import ArmAwayError, ArmError, ArmRefusedError, ArmTimeoutError, Command
from handlers.config_items import held_by_service
from handlers.settling import Ending, classify, same
from schema.arms import Verb
from schema.envelope import Stage, Wait
from schema.errors import BrokerError
from schema.messages import Message

log = structlog.get_logger()

READ_RETRY_FIRST_S, READ_RETRY_MOST_S = 0.2, 5.0
WAITERS_MOST = 64
"""Repeats of one request that may wait for its reply."""
Reach = Callable[[ArmSession], Awaitable[bool]]


class Settler:
    """Settles changes; `unsettled` holds those with a request, by the request's number."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        replies: Replies,
        documents: Documents,
        queues: Queues,
        loop: asyncio.AbstractEventLoop,
        pending_max_age_us: int,
    ) -> None:
        self._ledger = ledger
        self._replies = replies
        self._documents = documents
        self._queues = queues
        self._loop = loop
        self._obstacles = Obstacles(ledger.clock, pending_max_age_us)
        self.unsettled: dict[int, ChangeJob] = {}
        self.endings = Endings(ledger, replies, documents, self.unsettled)
        self.deadlines = Deadlines(ledger, replies, self.endings, loop)
        self.reach: Reach | None = None
        """How to reach an arm again while its queue stands; set by the composition root."""

    # ------------------------------------------------------------------ accepting

    def admit(self, session: ArmSession, job: ChangeJob, row: RequestRow, waiter: Waiter) -> None:
        """Commit 1: request, change, slot and arm; then the change may begin, or is in force where no arm is needed."""
        state, slot = session.state, job.slot
        if job.unchanged:
            row = msgspec.structs.replace(row, rev=state.desired_rev.get(slot, 0))
        else:
            wanted = job.wanted if job.wanted is not None else state.desired[slot]
            job.setter = session.setter_of(job, wanted)
            job.rev = self._ledger.desire(session, slot, wanted, job.setter)
            row = msgspec.structs.replace(row, rev=job.rev)
        job.reverts = session.reverts
        session.count_in(job)
        self.unsettled[job.request_n] = job
        job.waiters.append(waiter)
        held = held_by_service(state, slot[0])
        if not session.jobs and not job.unchanged and not held:
            self._ledger.mark_writing(session, job)
        batch = self._ledger.store.batch
        if waiter.wait is Wait.STORED:
            row = self._answer_stored(session, job, row, waiter)
        batch.add_request(row)
        self._ledger.add_change(session, job)
        self._ledger.put_slot(session, slot)
        self._ledger.put_arm(session)
        self._ledger.audit(
            at=job.at_us, request=job.request_id, arm=state.arm, method=job.method, rev=job.rev, decision="accepted"
        )
        if held and job.wanted is not None:
            self.endings.took_effect(session, job, job.wanted, Ending.APPLIED)
            return
        session.jobs.append(job)
        batch.on_commit(partial(self._accepted, session, job))
        self._documents.mark(session, "config")
        self._ledger.store.flush_soon()

    def _answer_stored(self, session: ArmSession, job: ChangeJob, row: RequestRow, waiter: Waiter) -> RequestRow:
        """The reply of `wait: stored` goes with commit 1."""
        job.waiters.remove(waiter)
        job.replied = Stage.STORED
        reply = self._replies.change_reply(session, job, ok=True, stage=Stage.STORED, final=False)
        reply = msgspec.structs.replace(reply, warnings=reply.warnings + waiter.warnings)
        outcome = JSON.encode_reply(reply)
        self._ledger.store.batch.on_commit(partial(self._replies.give, waiter.address, reply, row.n, outcome))
        return msgspec.structs.replace(row, outcome=outcome, reply_open=True)

    def _accepted(self, session: ArmSession, job: ChangeJob) -> None:
        """After commit 1: the clocks run, the queue runs."""
        job.committed = True
        self.deadlines.start(session, job)
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
        self._ledger.after_commit(partial(self._replies.give, waiter.address, known))

    # ------------------------------------------------------------------ settling

    async def settle(self, session: ArmSession, job: ChangeJob) -> None:
        """Bring one change to its end; returns when the next may begin."""
        if job.phase is not Phase.DONE and not self._refused_before(session, job):
            session.busy_with = job
            try:
                await self._carry_out(session, job)
            finally:
                session.busy_with = None
        if self._mark_next(session, job):
            await self._ledger.store.committed()

    def _refused_before(self, session: ArmSession, job: ChangeJob) -> bool:
        """Whether the change cannot begin; then it is ended."""
        if session.may_be_with_arm(job) or (error := self._obstacles.of(session, job)) is None:
            return False
        cause = "expired" if error.kind == "expired" else "refused"
        self.endings.failed(session, job, error, cause, None)
        return True

    async def _carry_out(self, session: ArmSession, job: ChangeJob) -> None:
        if job.unchanged:
            await self._confirm_unchanged(session, job)
            return
        if job.phase is Phase.ACCEPTED:
            self._mark_writing(session, job)
            await self._ledger.store.committed()
        elif not job.committed:
            await self._ledger.store.committed()
        if job.resumed:
            await self._resume(session, job)
            return
        try:
            returned = await self._write(session, job)
        except ArmRefusedError as refused:
            self._refused_by_arm(session, job, refused)
            return
        except ArmAwayError:
            text = f"{session.arm} went away before it was told. Nothing was changed."
            self.endings.failed(session, job, BrokerError("arm_away", text), "refused", None)
            return
        await self._judge(session, job, returned if job.verb is Verb.RESET else job.wanted)

    def _refused_by_arm(self, session: ArmSession, job: ChangeJob, refused: ArmRefusedError) -> None:
        error = refusal_of_arm(refused.code, refused.sub_code, refused.name, str(refused))
        self.endings.failed(session, job, error, "refused", None)

    async def _write(self, session: ArmSession, job: ChangeJob) -> Message | None:
        """Send the command; without an answer in time the outcome is unknown."""
        try:
            return await session.adapter.write(Command(job.epoch, job.cmd_seq, job.verb, job.slot, job.wanted))
        except ArmTimeoutError:
            job.phase = Phase.UNKNOWN
            self._documents.mark(session, "config")
            return None

    async def _judge(self, session: ArmSession, job: ChangeJob, wanted: Message | None) -> None:
        """Read back and end the change; what looks refused is read once more."""
        read = await self.read_back(session, job)
        ending = self._ending(session, job, wanted, read)
        if ending is Ending.REFUSED:
            read = await self.read_back(session, job)
            ending = self._ending(session, job, wanted, read)
        if ending.took_effect:
            self.endings.took_effect(session, job, read, ending)
        elif ending is Ending.REFUSED:
            error = BrokerError("arm_refused", f"{session.arm} still has the value it had before")
            self.endings.failed(session, job, error, "refused", read)
        else:
            error = BrokerError("overwritten", f"another writer changed {job.slot[0]} of {session.arm} meanwhile")
            self.endings.failed(session, job, error, "overwritten", read)

    def _ending(self, session: ArmSession, job: ChangeJob, wanted: Message | None, read: Message) -> Ending:
        before = job.before if job.before is not None else session.state.reported[job.slot]
        if wanted is None:  # a Reset whose answer was lost: whatever is new is what the arm took
            kept = same(job.slot[0], read, before, session.state.resolution_rad)
            return Ending.REFUSED if kept else Ending.APPLIED
        return classify(job.item, wanted, before, read, session.state.resolution_rad, foreign=job.foreign)

    async def read_back(self, session: ArmSession, job: ChangeJob) -> Message:
        """Read a slot; while that fails the queue stands, and the arm is reached again if it went away.

        An arm that is held is another one than the command went to: it is not asked.
        """
        delay_s = READ_RETRY_FIRST_S
        while True:
            if not session.state.held:
                try:
                    return await session.adapter.read(job.slot)
                except ArmError as error:
                    log.warning("read_back_failed", arm=session.arm, slot=job.slot, why=str(error))
            if job.phase is not Phase.UNKNOWN:
                job.phase = Phase.UNKNOWN
                self._documents.mark(session, "config")
            await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2, READ_RETRY_MOST_S)
            if self.reach is not None and (session.state.held or not session.state.online):
                await self.reach(session)

    async def _confirm_unchanged(self, session: ArmSession, job: ChangeJob) -> None:
        """Read what is there already; if the arm has something else after all, it is a change like others."""
        read = await self.read_back(session, job)
        wanted = job.wanted
        if wanted is None or same(job.slot[0], read, wanted, session.state.resolution_rad):
            self.endings.took_effect(session, job, read, Ending.APPLIED if read == wanted else Ending.ROUNDED)
            return
        self.endings.foreign(session, job.slot, read, "")
        job.unchanged = False
        later = session.state.pending[job.slot] > 1
        job.setter = session.setter_of(job, wanted)
        job.rev = self._ledger.desire(session, job.slot, None if later else wanted, job.setter)
        session.await_reading(job, wanted)
        self._ledger.put_slot(session, job.slot)
        self._ledger.update_change(job, ChangeState.SETTLED, "reopened")
        job.n = self._ledger.new_change()
        self._ledger.add_change(session, job)
        await self._carry_out(session, job)

    async def _resume(self, session: ArmSession, job: ChangeJob) -> None:
        """A command of an earlier run: read first, then at most one re-send of the same pair."""
        read = await self.read_back(session, job)
        ending = self._ending(session, job, job.wanted, read)
        ready = session.state.ready and not session.state.held and self._obstacles.free(session, job)
        if ending is Ending.REFUSED and ready and not self._obstacles.bars(job):
            try:
                await self._write(session, job)
            except ArmRefusedError as refused:
                self._refused_by_arm(session, job, refused)
                return
            except ArmAwayError as error:
                log.warning("resend_failed", arm=session.arm, slot=job.slot, why=str(error))
        await self._judge(session, job, job.wanted)

    def _mark_next(self, session: ArmSession, job: ChangeJob) -> bool:
        """Let the next change share the commit of this one; whether there is something to wait for."""
        index = session.jobs.index(job) + 1
        if index >= len(session.jobs):
            return False
        following = session.jobs[index]
        if not isinstance(following, ChangeJob) or following.phase is not Phase.ACCEPTED or following.unchanged:
            return True
        if self._obstacles.of(session, following) is None:
            self._mark_writing(session, following)
        return True

    def _mark_writing(self, session: ArmSession, job: ChangeJob) -> None:
        self._ledger.mark_writing(session, job)
        self._ledger.update_change(job, ChangeState.WRITING)
        self._ledger.put_arm(session)

    def close(self) -> None:
        """No clock of a change runs any more."""
        for job in self.unsettled.values():
            job.cancel_timers()
