"""The queues of the arms: one FIFO each, a task only while there is work."""

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob, ContactJob, FollowJob, ForwardJob, Job
from broker.settle.starts import AT_ONCE, Starts
from broker.settle.turns import Turns


class Place(Protocol):
    """Whether no other service can have taken our place: see `Presence`."""

    sure_until_s: float

    @property
    def sure(self) -> bool:
        """Whether it can not."""

    async def made_sure(self) -> None:
        """Wait until it can not."""


class Settles(Protocol):
    """Does the changes of an arm, one at a time; they leave the queue when its method returns (`settle_now`: true)."""

    def settle_now(self, session: ArmSession, job: ChangeJob) -> bool:
        """Bring a change to its end if that needs no waiting; false: it is to be settled by a task."""

    async def settle(self, session: ArmSession, job: ChangeJob) -> None:
        """Bring a change to its end."""


class Contacts(Protocol):
    """Does the other jobs of an arm."""

    async def contact(self, session: ArmSession, job: ContactJob) -> None:
        """Connect and read everything."""

    async def follow(self, session: ArmSession, job: FollowJob) -> None:
        """Read what the arm changed."""

    async def forward(self, session: ArmSession, job: ForwardJob) -> None:
        """Publish an event that the arm raised."""


class _Workers(NamedTuple):
    """Who does the jobs of every arm."""

    place: Place
    settler: Settles
    contacts: Contacts


class Queues:
    """Runs the queue of every arm that has work, all arms in parallel."""

    def __init__(self, tasks: asyncio.TaskGroup, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._tasks, self._monotonic = tasks, monotonic
        self._workers: _Workers | None = None
        self._running: dict[str, asyncio.Task[None]] = {}
        self._busy: dict[str, ArmSession] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self.turns = Turns()
        """Of what has a task."""
        self.starts = Starts(self.kick, self._fail)
        """Of what may need none."""
        self._ending = False

    def serve(self, place: Place, settler: Settles, contacts: Contacts) -> None:
        """Who does the jobs; changes are settled while it is sure that no other service does."""
        self._workers = _Workers(place, settler, contacts)

    def put(self, session: ArmSession, job: Job, *, first: bool = False) -> None:
        """Queue a job, or put it before those that wait, and see to it that the queue runs."""
        if first:
            session.jobs.insert(1 if session.running else 0, job)
        else:
            session.jobs.append(job)
        self.kick(session)

    def begin(self, accepted: Sequence[tuple[ArmSession, ChangeJob]]) -> None:
        """Let the queues of changes run whose first commit stands: of many bit by bit, by turns of their users."""
        if len(accepted) > AT_ONCE or self.starts.lanes:
            self.starts.put_all(accepted)
            return
        for session, _ in accepted:
            self.kick(session)

    def kick(self, session: ArmSession, last: ChangeJob | None = None) -> int:
        """See to it that the queue of an arm runs: as far as `last`, where what is behind it has turns of its own.

        How many of its jobs were carried out.
        """
        if session.arm in self._running or session.resting or session.running or self._workers is None:
            return 0
        if last is not None and last not in session.jobs:
            last = None  # it has its end already; what was behind it may have waited for its turn alone
        before = len(session.jobs)
        if self._run_now(session, self._workers, last) or not session.jobs:
            return before - len(session.jobs)
        if _uncommitted(session.jobs[0]) or (self._ending and not _has_changes(session)):
            return before - len(session.jobs)
        session.running = True
        self._idle.clear()
        task = self._tasks.create_task(self._run(session, self._workers), name=session.arm)
        self._running[session.arm] = task
        self._busy[session.arm] = session
        return before - len(session.jobs)

    def _run_now(self, session: ArmSession, workers: _Workers, last: ChangeJob | None) -> bool:
        """Do what needs no waiting at the front of a queue, for a while; whether what is left has its turn later."""
        session.running = True
        left, place, settle_now = AT_ONCE, workers.place, workers.settler.settle_now
        try:
            while session.jobs:
                job = session.jobs[0]
                if not isinstance(job, ChangeJob):
                    return False
                if job.waits_turn and len(session.jobs) == 1:
                    return True
                if not left:
                    self.starts.put((last or job).author.user, session, last)
                    return True
                if self._monotonic() > place.sure_until_s and not place.sure:
                    return False
                if not settle_now(session, job):
                    return False
                session.jobs.remove(job)
                left -= 1
                if job is last:
                    return bool(session.jobs) and isinstance(session.jobs[0], ChangeJob)
            return False
        finally:
            session.running = False

    async def rest(self, session: ArmSession, within_s: float) -> Job | None:
        """Let the queue of an arm stand until `wake`: after the job at hand, which is given up after a while.

        Returns the job that was given up; it is the first of the queue.
        """
        session.resting = True
        task = self._running.get(session.arm)
        if task is None:
            return None
        await asyncio.wait([task], timeout=within_s)
        if task.done():
            return None
        task.cancel()
        await asyncio.wait([task])
        return session.jobs[0] if task.cancelled() else None

    def wake(self, session: ArmSession) -> None:
        """Let the queue of an arm go on."""
        session.resting = False
        self.kick(session)

    @property
    def running(self) -> bool:
        """Whether the queue of any arm runs, or is about to."""
        return bool(self._running) or bool(self.starts.lanes)

    def waiting_for_arms(self, user: str) -> int:
        """How many changes of a user wait because an arm has not answered yet."""
        return sum(
            isinstance(job, ChangeJob) and job.author.user == user
            for session in self._busy.values()
            if session.with_arm
            for job in session.jobs
        )

    async def idle(self) -> None:
        """Wait until no queue runs."""
        await self.starts.passed()
        await self._idle.wait()

    def end_with_changes(self) -> None:
        """Leave what is no change to the next start, which reaches and reads every arm anyway."""
        self._ending = True
        for session in list(self._busy.values()):
            if not _has_changes(session):
                task = self._running[session.arm]
                task.add_done_callback(partial(self._end_run, session))  # one that never began does not tell its end
                task.cancel()

    def cancel(self) -> None:
        """Leave every queue where it stands; none begins again."""
        self._workers = None
        for task in self._running.values():
            task.cancel()

    def _fail(self, error: Exception) -> None:
        """What had its turn failed: nobody knows what of it counts, and the run ends."""
        self._tasks.create_task(_raise(error), name="a turn that failed")

    async def _run(self, session: ArmSession, workers: _Workers) -> None:
        try:
            while session.jobs and not session.resting and not _waits_turn(session):
                await self._turn_of(session)
                if not session.jobs or session.resting or _waits_turn(session):
                    break
                job = session.jobs[0]
                await _do(session, job, workers)
                session.jobs.remove(job)
                if not session.resting and self._run_now(session, workers, None):
                    break
                session.running = True
        finally:
            self._end_run(session)

    def _end_run(self, session: ArmSession, task: asyncio.Task[None] | None = None) -> None:
        """The queue of an arm runs no longer; `task` is given where that may have been said before."""
        if task is not None and self._running.get(session.arm) is not task:
            return
        session.running = False
        del self._running[session.arm], self._busy[session.arm]
        if not self._running:
            self._idle.set()

    async def _turn_of(self, session: ArmSession) -> None:
        """Wait until the first job of an arm may begin; until then it is one that waits."""
        job = session.jobs[0]
        session.running = False
        try:
            await self.turns.take(job.author.user if isinstance(job, ChangeJob) else "")
        finally:
            session.running = True


async def _raise(error: Exception) -> None:
    raise error


def _waits_turn(session: ArmSession) -> bool:
    """Whether all that there is of an arm is a change that begins in a later turn."""
    jobs = session.jobs
    return len(jobs) == 1 and isinstance(jobs[0], ChangeJob) and jobs[0].waits_turn


def _uncommitted(job: Job) -> bool:
    """Whether a change waits for its first commit, after which its queue is kicked."""
    return isinstance(job, ChangeJob) and not job.committed


def _has_changes(session: ArmSession) -> bool:
    return any(isinstance(job, ChangeJob) for job in session.jobs)


async def _do(session: ArmSession, job: Job, workers: _Workers) -> None:
    place, settler, contacts = workers
    if isinstance(job, ChangeJob):
        if not place.sure:
            await place.made_sure()
        await settler.settle(session, job)
    elif isinstance(job, ContactJob):
        await contacts.contact(session, job)
    elif isinstance(job, FollowJob):
        await contacts.follow(session, job)
    else:
        await contacts.forward(session, job)
