"""Pending changes outside the queue: those whose arm cannot take them, and those that wait for somebody's decision."""

from functools import partial

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import BatchJob, StepJob
from broker.arms.jobs import ChangeJob, ContactJob, FollowJob, ForwardJob, Job
from broker.life import WAITING, Origin, State
from broker.record.ledger import Ledger
from broker.record.replies import Replies
from broker.settle.endings import SUPERSEDED, Endings
from broker.settle.idle import IdleWatch
from broker.settle.obstacles import Obstacle, Obstacles, Park, loosens
from broker.settle.overrides.returns import DISCARDED
from broker.settle.queues import Queues
from handlers.batch.outcomes import HELD
from handlers.batch.outcomes import SUPERSEDED as TAKEN
from handlers.methods.pending import ALL
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import Verb
from schema.envelope import Author, Stage
from schema.errors import BrokerError


class Parking:
    """Parks changes and lets them go on: when their arm returns, or when somebody confirms them.

    A parked change stays unsettled: it counts as pending, and its time to live runs on.
    """

    def __init__(
        self,
        ledger: Ledger,
        replies: Replies,
        obstacles: Obstacles,
        endings: Endings,
        queues: Queues,
        idle: IdleWatch,
    ) -> None:
        self._ledger = ledger
        self._replies = replies
        self._documents = ledger.documents
        self._obstacles = obstacles
        self._endings = endings
        self._queues = queues
        self.idle = idle

    # ------------------------------------------------------------------ in

    def place(self, session: ArmSession, job: ChangeJob, obstacle: Park) -> None:
        """Put a change beside the queue; its row is the caller's."""
        job.state, job.why = State.HELD if obstacle.held else State.PENDING, obstacle.why
        job.confirmed, job.waits_turn = job.confirmed and not obstacle.held, False
        job.origin, job.epoch, job.cmd_seq = max(job.origin, Origin.WAITED), 0, 0
        session.parked.append(job)
        session.parked.sort(key=lambda one: one.n)
        if job.rev:
            session.state.parked[job.rev] = obstacle.held or job.idles
        if job.idles:
            self.idle.wait(session)
        self._documents.mark(session, "config")

    def park(self, session: ArmSession, job: ChangeJob, obstacle: Park) -> None:
        """A change that was in the queue cannot begin: it waits, and says so to everybody who waits for its reply."""
        for part in job.parts:
            if (newer := self._newer(session, job, part, obstacle)) is not None:
                self._give_way(session, job, part, newer)
        if job.state is State.SETTLED or not job.parts:
            return
        self.place(session, job, obstacle)
        self._ledger.update_change(job)
        if job.awaited:
            reply = self._replies.change_reply(
                session, job, ok=True, stage=Stage.STORED, final=False, warnings=obstacle.warnings
            )
            self._replies.deliver(session, job, reply, settled=False)
        self.supersede(session, job)
        self._ledger.store.flush_soon()

    def restore(self, session: ArmSession, job: ChangeJob) -> None:
        """A change that an earlier run held stays held."""
        self.place(session, job, Park("it was held before the service restarted", (), held=True))

    def set_aside(self, session: ArmSession, job: ChangeJob) -> bool:
        """Park or end a change that cannot begin now; whether that was so: the caller takes it out of the queue."""
        obstacle = self._obstacles.of(session, job)
        if obstacle is not None:
            self.park_or_end(session, job, obstacle)
        return obstacle is not None

    def park_or_end(self, session: ArmSession, job: ChangeJob, obstacle: Obstacle) -> None:
        """Park or end a change that cannot begin; the caller takes it out of the queue."""
        if isinstance(obstacle, Park):
            self.park(session, job, obstacle)
        else:
            self._endings.fail(session, job, obstacle.error, obstacle.cause, None)

    def stop_waiting(self, session: ArmSession) -> None:
        """Park or end what has not begun, where the authority over its arm or a lock does not let it any more."""
        self._explain(session)
        for job in session.waiting():
            if not isinstance(job, ChangeJob) or job.state is State.SETTLED or session.may_be_with_arm(job):
                continue
            if not self._obstacles.free(session, job) and self.set_aside(session, job):
                session.jobs.remove(job)

    def _explain(self, session: ArmSession) -> None:
        """What keeps the parked changes may be another reason than when they were parked."""
        for job in session.parked:
            obstacle = self._obstacles.of(session, job)
            if isinstance(obstacle, Park) and obstacle.held is (job.state is State.HELD) and obstacle.why != job.why:
                job.why = obstacle.why
                self._documents.mark(session, "config")

    def _newer(self, session: ArmSession, job: ChangeJob, part: ChangeJob, obstacle: Park) -> ChangeJob | None:
        """A newer change of a slot, whose turn comes; where the arm cannot take any now, one that may wait itself."""
        if self._obstacles.goes_first(session, part):
            return None
        for other in session.unsettled():
            if other.back:
                continue
            if other.rev > job.rev and _takes(other, part) and (obstacle.held or other.verb is Verb.SET):
                return other
        return None

    def _give_way(self, session: ArmSession, job: ChangeJob, part: ChangeJob, newer: ChangeJob) -> None:
        """A newer change takes the place of one, or of a slot of a batch."""
        _carry_on(newer, part)
        self._leave_out(session, job, part, _superseded(session, part, newer.rev), TAKEN)

    def _leave_out(self, session: ArmSession, job: ChangeJob, part: ChangeJob, error: BrokerError, why: str) -> None:
        """A change, or a slot of a batch, ends without a write; without any slot left that ends, too."""
        if not isinstance(job, BatchJob) or not isinstance(part, StepJob):
            if job.state in WAITING:
                session.take_out(job)
            self._endings.fail(session, job, error, SUPERSEDED, None)
            return
        self._endings.give_up(session, job, part, error, why)
        if job.open:
            self._ledger.update_change(job)
        elif session.busy_with is not job:
            if job.state in WAITING:
                session.take_out(job)
            self._endings.end_batch(session, job)

    # ------------------------------------------------------------------ out

    def supersede(self, session: ArmSession, newer: ChangeJob) -> None:
        """A newer change of a slot ends the older ones that are parked, without a write."""
        if newer.back:
            return
        for job in [one for one in session.parked if one.n < newer.n]:
            for part in job.parts:
                if _takes(newer, part) and not self._obstacles.goes_first(session, part):
                    self._give_way(session, job, part, newer)

    def discard(self, session: ArmSession, rev: int, by: Author) -> None:
        """End the parked change of a revision, or all of them, because somebody said so; of a return what may loosen.

        Raises:
            BrokerError: revision_conflict: it tightens at the end of an override, and is never given up.
        """
        who = f"{by.user}/{by.connection}"
        for job in [one for one in session.parked if rev in (ALL, one.rev)]:
            parts = [part for part in job.parts if not self._obstacles.goes_first(session, part)]
            if len(parts) == len(job.parts):
                self.discard_one(session, job, who)
                continue
            for part in parts:
                self._leave_out(session, job, part, _discarded(who), HELD)
            if rev != ALL and not parts:
                text = f"params.rev: {rev} tightens {session.arm} at the end of an override, it cannot be discarded"
                raise BrokerError("revision_conflict", f"{text}. {NOTHING_CHANGED}")

    def give_up(self, session: ArmSession, job: ChangeJob, part: ChangeJob, error: BrokerError, why: str) -> None:
        """End a change, or a slot of a batch, that has become pointless, unless it has begun."""
        is_step = isinstance(part, StepJob)
        if job.state is State.RESUMED or (
            part.state is not State.ACCEPTED if is_step else session.may_be_with_arm(job)
        ):
            return
        self._leave_out(session, job, part, error, why)
        if job.state is State.SETTLED and job in session.jobs:
            session.take_out(job)

    def discard_one(self, session: ArmSession, job: ChangeJob, who: str) -> None:
        """End one change because somebody said so."""
        session.take_out(job)
        self._endings.fail(session, job, _discarded(who), DISCARDED, None)

    # ------------------------------------------------------------------ on

    def confirm(self, session: ArmSession, rev: int, by: Author) -> None:
        """Let the change of a revision that is held or waits for idle, or all of them, go on whatever their age."""
        for job in [one for one in session.parked if (one.state is State.HELD or one.idles) and rev in (ALL, one.rev)]:
            job.confirmed = True
            self._go_on(session, job)
            self._ledger.update_change(job)
            self._ledger.audit(
                at=self._ledger.clock.now_us(), arm=session.arm, rev=job.rev, slot=job.slot, user=by.user,
                conn=by.connection, decision="confirmed",
            )  # fmt: skip
        self._ledger.after_commit(partial(self._kick, session))

    def release(self, session: ArmSession) -> None:
        """The arm is there, ready and read: what waits for it goes on, tightenings first, and is decided again."""
        first = self._obstacles.goes_first
        waiting = [
            job
            for job in session.parked
            if (job.state is State.PENDING and self._obstacles.free(session, job)) or first(session, job)
        ]
        looser = [job for job in waiting if loosens(session, job) and not first(session, job)]
        tighter = [job for job in waiting if job not in looser]
        returns = [job for job in tighter if job.back]
        for job in reversed([*returns, *(job for job in tighter if not job.back)]):
            self._go_on(session, job, first=True)
        for job in looser:
            self._go_on(session, job)
        self.idle.note_released(session)
        if waiting:
            self._queues.kick(session)

    def resume(self, session: ArmSession, job: ChangeJob) -> None:
        """A parked change goes on if nothing stands in its way any more."""
        if job.state in WAITING and self._obstacles.of(session, job) is None:
            self._go_on(session, job, first=self._obstacles.goes_first(session, job))
            self._ledger.after_commit(partial(self._kick, session))

    def place_in(self, session: ArmSession, job: ChangeJob) -> int:
        """Where a change goes in the queue of its arm: last, unless it tightens at the end of an override."""
        return place_of(session, job) if self._obstacles.goes_first(session, job) else len(session.jobs)

    def _kick(self, session: ArmSession) -> None:
        self._queues.kick(session)

    def _go_on(self, session: ArmSession, job: ChangeJob, *, first: bool = False) -> None:
        """Move a change into the queue: to its end, or before what has not begun."""
        session.take_out(job)
        job.state, job.why = State.ACCEPTED, ""
        session.jobs.insert(place_of(session, job) if first else len(session.jobs), job)
        self._documents.mark(session, "config")


def _takes(newer: ChangeJob, job: ChangeJob) -> bool:
    """Whether a newer change takes the place of one: of its slot, and with an end of either for all that it names."""
    part = newer.of_slot(job.slot)
    if part is None:
        return False
    if part.named is None or not (_ends(newer) or _ends(job)):
        return True
    return job.named is not None and job.named <= part.named


def _ends(job: ChangeJob) -> bool:
    return job.terms is not None and job.terms.until_us > 0


def _carry_on(newer: ChangeJob, job: ChangeJob) -> None:
    """A newer change asks from now on for the parts that it had taken over from an older one."""
    if (part := newer.of_slot(job.slot)) is not None:
        part.named = None if part.named is None or job.named is None else part.named | job.named


def _superseded(session: ArmSession, job: ChangeJob, rev: int) -> BrokerError:
    newer = f"a newer change of {job.slot[0]}, revision {rev},"
    if job.named is not None:
        return BrokerError("overwritten", f"{newer} took what it named along before {session.arm} was told.")
    return BrokerError("overwritten", f"{newer} took its place before {session.arm} was told. {NOTHING_CHANGED}")


def _discarded(who: str) -> BrokerError:
    return BrokerError("held", f"{who} discarded it. {NOTHING_CHANGED}")


def place_of(session: ArmSession, job: ChangeJob) -> int:
    """The first place in the queue behind what runs, what has a command number, and older changes of the same slot.

    What tightens at the end of an override stands before these.
    """
    place = 1 if session.running else 0
    for index, other in enumerate(session.jobs):
        if _stays_before(other, job):
            place = max(place, index + 1)
    return place


def _stays_before(other: Job, job: ChangeJob) -> bool:
    if isinstance(other, ContactJob | FollowJob | ForwardJob):
        return False
    if other.state is not State.ACCEPTED:
        return True
    return not job.back and other.n < job.n and not set(other.places).isdisjoint(job.places)
