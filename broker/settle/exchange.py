"""What is said to an arm about one change: the command, the read-back, and what came of it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import structlog

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob
from broker.life import State
from broker.publish.documents import Documents
from devices.adapter import ArmAwayError, ArmError, ArmTimeoutError, Command
from handlers.items.settling import Ending, classify, equal
from schema.backoff import Backoff
from schema.messages import Message

log = structlog.get_logger()

READ_RETRY_FIRST_S, READ_RETRY_MOST_S = 0.2, 5.0
Reach = Callable[[ArmSession], Awaitable[bool]]


class EndedError(Exception):
    """The change was ended while its arm did not answer."""


class Exchange:
    """Speaks to arms; one change of an arm at a time."""

    def __init__(self, documents: Documents, monotonic: Callable[[], float]) -> None:
        self._documents = documents
        self._monotonic = monotonic
        self.reach: Reach | None = None
        """How to reach an arm again while its queue stands; set by the composition root."""
        self.on_lost: Callable[[ArmSession], None] = lambda _: None
        """What to do when an arm is not there that should be; set by the composition root."""

    async def write(self, session: ArmSession, job: ChangeJob) -> Message | None:
        """Send the command; without an answer in time the outcome is unknown.

        Raises:
            ArmRefusedError: the arm took nothing.
            ArmAwayError: nothing was sent.
        """
        session.with_arm, job.written_s = True, self._monotonic()
        job.before = session.state.reported.get(job.slot)
        try:
            return await session.adapter.write(Command(job.epoch, job.cmd_seq, job.verb, job.slot, job.wanted))
        except ArmTimeoutError:
            job.state = State.UNKNOWN
            self._documents.mark(session, "config")
            return None
        except ArmAwayError:
            self.on_lost(session)
            raise
        finally:
            session.with_arm = False

    def write_and_read_now(self, session: ArmSession, job: ChangeJob) -> Message | None:
        """As `write` and `read_back` where the arm needs no waiting; None where it does, or the outcome is unknown.

        Raises:
            ArmRefusedError: the arm took nothing.
            ArmAwayError: nothing was sent.
        """
        session.busy_with, job.written_s = job, self._monotonic()
        job.before = session.state.reported.get(job.slot)
        try:
            return session.adapter.exchange_now(Command(job.epoch, job.cmd_seq, job.verb, job.slot, job.wanted))
        except ArmTimeoutError:
            job.state = State.UNKNOWN
            self._documents.mark(session, "config")
            return None
        except ArmAwayError:
            self.on_lost(session)
            raise
        finally:
            session.busy_with = None

    async def judge(self, session: ArmSession, job: ChangeJob, wanted: Message | None) -> tuple[Message, Ending]:
        """Read back and tell how the change ended; what looks refused is read once more.

        Raises:
            EndedError: as `read_back`.
        """
        read = await self.read_back(session, job)
        ending = self.ending(session, job, wanted, read)
        if ending is Ending.REFUSED:
            read = await self.read_back(session, job)
            ending = self.ending(session, job, wanted, read)
        return read, ending

    def ending(self, session: ArmSession, job: ChangeJob, wanted: Message | None, read: Message) -> Ending:
        """How a change ended that left this value."""
        if wanted is not None and read == wanted:
            return Ending.APPLIED
        resolution_rad = session.state.resolution_rad
        before = job.before if job.before is not None else session.state.reported[job.slot]
        if wanted is None:  # a Reset whose answer was lost: whatever is new is what the arm took
            return Ending.REFUSED if equal(job.slot[0], read, before, resolution_rad) else Ending.APPLIED
        return classify(job.item, wanted, before, read, resolution_rad, foreign=job.foreign)

    async def read_back(self, session: ArmSession, job: ChangeJob) -> Message:
        """Read a slot; while that fails the queue stands, and the arm is reached again if it went away.

        An arm that is held is another one than the command went to: it is not asked.

        Raises:
            EndedError: the change was ended meanwhile.
        """
        session.with_arm = True
        try:
            return await self._until_read(session, job)
        finally:
            session.with_arm = False

    async def _until_read(self, session: ArmSession, job: ChangeJob) -> Message:
        waits = Backoff(READ_RETRY_FIRST_S, READ_RETRY_MOST_S, jitter=None)
        back = session.back = session.back or asyncio.Event()
        while True:
            back.clear()
            if not session.state.distrust and (session.compared or job.state is not State.RESUMED):
                try:
                    return await session.adapter.read(job.slot)
                except ArmError as error:
                    log.warning("read_back_failed", arm=session.arm, slot=job.slot, why=str(error))
            if _ended(job):
                raise EndedError
            if job.state is State.ACCEPTED or job.state is State.WRITING:
                job.state = State.UNKNOWN
                self._documents.mark(session, "config")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(waits.next_s()):
                    await back.wait()
            known = session.state.online and session.compared and not session.state.distrust
            if self.reach is not None and not _ended(job) and not known:
                await self.reach(session)
            if _ended(job):
                raise EndedError


def _ended(job: ChangeJob) -> bool:
    return job.state is State.SETTLED
