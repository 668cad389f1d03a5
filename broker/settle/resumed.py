"""Changes whose command an earlier run may have sent: what they left is read, then they end, or begin anew."""

from typing import Protocol

import structlog

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob
from broker.life import State
from broker.settle.overtaken import end_overtaken, overtaken_by, take_over, was_never_sent
from broker.settle.parts import Parts
from devices.adapter import ArmAwayError, ArmRefusedError
from handlers.items.settling import Ending
from schema.errors import BrokerError
from schema.messages import Message

log = structlog.get_logger()


class Changes(Protocol):
    """Ends changes as their arm tells."""

    def refuse(self, session: ArmSession, job: ChangeJob, refused: ArmRefusedError) -> None:
        """End a change that the arm did not take."""

    async def judge(self, session: ArmSession, job: ChangeJob, wanted: Message | None) -> None:
        """Read back and end the change."""


class Resumed:
    """Reads what an earlier run began."""

    def __init__(self, parts: Parts, changes: Changes) -> None:
        self._endings = parts.endings
        self._exchange = parts.exchange
        self._obstacles = parts.obstacles
        self._parking = parts.parking
        self._fatal_reads = parts.fatal_reads
        self._changes = changes

    async def resume(self, session: ArmSession, job: ChangeJob) -> bool:
        """Read first, then send the same pair at most once more, and end it; True: it is to be carried out anew.

        Raises:
            EndedError: the change was ended meanwhile.
        """
        await self._fatal_reads.begin(session, job)
        read = await self._exchange.read_back(session, job)
        self._fatal_reads.end(job)
        if was_never_sent(session, job):
            return self._begin_anew(session, job)
        if (newer := overtaken_by(session, job)) is not None:
            end_overtaken(session, job, newer, self._endings)
            return False
        take_over(session, job, read, self._endings)
        ending = self._exchange.ending(session, job, job.wanted, read)
        if ending is Ending.REFUSED and job.why:
            self._endings.fail(session, job, BrokerError("quarantined", job.why), "refused", read)
            return False
        if ending is Ending.REFUSED and not self._obstacles.free(session, job):
            return self._begin_anew(session, job)
        ready = session.state.ready and not session.state.distrust
        if ending is not Ending.REFUSED or not ready or self._obstacles.bars(session, job):
            await self._changes.judge(session, job, job.wanted)
        else:
            await self._send_again(session, job)
        return False

    async def _send_again(self, session: ArmSession, job: ChangeJob) -> None:
        job.state = State.WRITING
        try:
            await self._exchange.write(session, job)
        except ArmRefusedError as refused:
            self._changes.refuse(session, job, refused)
            return
        except ArmAwayError as error:
            log.warning("resend_failed", arm=session.arm, slot=job.slot, why=str(error))
        await self._changes.judge(session, job, job.wanted)

    def _begin_anew(self, session: ArmSession, job: ChangeJob) -> bool:
        """A command that the arm does not have: the change is decided again; whether it may begin."""
        job.state, job.epoch, job.cmd_seq = State.ACCEPTED, 0, 0
        if job.why:
            self._endings.fail(session, job, BrokerError("quarantined", job.why), "refused", None)
            return False
        return not self._parking.set_aside(session, job)
