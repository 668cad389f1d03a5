"""The clocks of a change: a reply within 10 s, and the end of its time to live."""

from collections.abc import Iterable

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
        self._rings = False

    def start(self, begun: Iterable[tuple[ArmSession, ChangeJob]]) -> None:
        """Promise a reply within 10 s to each of these changes, and end it when its time to live is over."""
        due_s, promised = self._timers.time() + REPLY_WITHIN_S, self._endings.promised
        for session, job in begun:
            if job.state is State.SETTLED:
                continue
            if job.replied is None and not job.waits_turn:
                promised[job] = session, due_s
            if job.expires:
                wait_s = max(0.0, job.expires - self._ledger.clock.monotonic())
                job.timers.append(self._timers.put(wait_s, self._expire, session, job))
        if promised and not self._rings:
            self._ring_for_the_oldest()

    def _ring_for_the_oldest(self) -> None:
        """All have the same time, so that they are due in their order: one timer is enough."""
        self._rings = True
        _, due_s = next(iter(self._endings.promised.values()))
        self._timers.put(max(0.0, due_s - self._timers.time()), self._ring)

    def _ring(self) -> None:
        promised, now_s = self._endings.promised, self._timers.time()
        self._rings = False
        while promised:
            job, (session, due_s) = next(iter(promised.items()))
            if due_s > now_s:
                self._ring_for_the_oldest()
                return
            del promised[job]
            self.answer_overdue(session, job)

    def promise(self, session: ArmSession, job: ChangeJob) -> None:
        """Promise a reply within 10 s for what waited for its turn, which is now."""
        self._endings.promised[job] = session, self._timers.time() + REPLY_WITHIN_S
        if not self._rings:
            self._ring_for_the_oldest()

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
