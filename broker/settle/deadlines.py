"""The clocks of a change: a reply within 10 s, and the end of its time to live."""

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob
from broker.life import State
from broker.record.ledger import Ledger
from broker.record.replies import Replies
from broker.settle.endings import Endings
from broker.settle.obstacles import expired
from broker.timers import Timers
from schema.envelope import Stage
from schema.errors import BrokerError

REPLY_WITHIN_S = 10.0
"""The reply comes at the latest this long after commit 1."""


class Deadlines:
    """Starts the clocks of changes, and does what is due when they ring."""

    def __init__(self, ledger: Ledger, replies: Replies, endings: Endings, timers: Timers) -> None:
        self._ledger = ledger
        self._replies = replies
        self._endings = endings
        self._timers = timers
        self.rings = False
        """Whether somebody looks after the replies that are promised."""

    def start(self, session: ArmSession, job: ChangeJob) -> None:
        """Promise a reply within 10 s, and end the change when its time to live is over."""
        if job.state is State.SETTLED:
            return
        if job.replied is None and not job.waits_turn:
            self.promise(session, job)
        if job.expires:
            self.end_in_time(session, job)

    def end_in_time(self, session: ArmSession, job: ChangeJob) -> None:
        """End a change when its time to live is over."""
        wait_s = max(0.0, job.expires - self._ledger.clock.monotonic())
        job.timers.append(self._timers.put(wait_s, self._expire, session, job))

    def ring_for_the_oldest(self) -> None:
        """Look after all replies that are promised: they have the same time, so that one timer is enough."""
        self.rings = True
        _, due_s = next(iter(self._endings.promised.values()))
        self._timers.put(max(0.0, due_s - self._timers.time()), self._ring)

    def _ring(self) -> None:
        promised, now_s = self._endings.promised, self._timers.time()
        self.rings = False
        while promised:
            job, (session, due_s) = next(iter(promised.items()))
            if due_s > now_s:
                self.ring_for_the_oldest()
                return
            del promised[job]
            self.answer_overdue(session, job)

    def promise(self, session: ArmSession, job: ChangeJob) -> None:
        """Promise a reply within 10 s from now."""
        self._endings.promised[job] = session, self._timers.time() + REPLY_WITHIN_S
        if not self.rings:
            self.ring_for_the_oldest()

    def answer_overdue(self, session: ArmSession, job: ChangeJob) -> None:
        """Say how far it got, 10 s after commit 1."""
        if job.state is State.SETTLED or not job.awaited:
            return
        if session.may_be_with_arm(job):
            text = f"{session.arm} gave no answer yet; ask again with the same id, or wait for its event"
            error = BrokerError("outcome_unknown", text)
            reply = self._replies.change_reply(session, job, ok=False, stage=Stage.STORED, final=False, error=error)
        else:
            reply = self._replies.change_reply(session, job, ok=True, stage=Stage.STORED, final=False)
        self._replies.deliver(session, job, reply, settled=False)
        self._ledger.store.flush_soon()

    def _expire(self, session: ArmSession, job: ChangeJob) -> None:
        """The time to live is over: a change that has not begun ends, wherever it waits."""
        if job.state is State.SETTLED or session.may_be_with_arm(job):
            return
        self._endings.fail(session, job, expired(session), "expired", None)
        session.take_out(job)
