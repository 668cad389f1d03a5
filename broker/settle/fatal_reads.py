"""Read-backs that may end the service: noted before they begin, so that the next start knows."""

import msgspec

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob
from broker.record.ledger import Ledger

READS_KEY = "fatal_reads"
"""Key of the small value: the numbers of the changes that are being read back, and how often that was fatal."""


class FatalReads:
    """The changes that were given up and are read back now."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._reads: dict[str, int] = {}

    async def begin(self, session: ArmSession, job: ChangeJob) -> None:
        """A change that was given up is read next, if its arm is there; returns once that is committed."""
        if job.why and session.state.online:
            self._reads[str(job.n)] = job.fatal_reads + 1
            self._store()
            await self._ledger.store.committed()

    def end(self, job: ChangeJob) -> None:
        """It was read."""
        if self._reads.pop(str(job.n), 0):
            self._store()

    def _store(self) -> None:
        self._ledger.store.batch.set_meta(READS_KEY, msgspec.json.encode(self._reads).decode())
        self._ledger.store.flush_soon()


def fatal_reads(text: str) -> dict[int, int]:
    """How often reading each change back was fatal, as the store has it."""
    known: dict[int, int] = msgspec.json.decode(text, type=dict[int, int]) if text else {}
    return known
