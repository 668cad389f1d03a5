"""What arms remember of commands: our numbers go on above the highest that an arm was ever given."""

from collections.abc import Callable

import structlog

from broker.arms.arm_session import ArmSession
from broker.record.ledger import Ledger

log = structlog.get_logger()


class Fences:
    """Raises the epoch, or the command number of one arm, above what an arm knows: it would refuse lower ones."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.raised: Callable[[], None] = lambda: None
        """What to publish in a new epoch; set by the composition root."""

    def respect(self, session: ArmSession, fence: tuple[int, int]) -> None:
        """Number what is sent to an arm above (epoch, cmd_seq)."""
        session.fence = fence
        epoch, cmd_seq = fence
        if epoch > self._ledger.epoch:
            log.warning("epoch_raised", arm=session.arm, known=epoch, epoch=epoch + 1)
            self._raise(epoch + 1)
        elif epoch == self._ledger.epoch:
            session.cmd_seq = max(session.cmd_seq, cmd_seq)

    def _raise(self, epoch: int) -> None:
        """Begin a higher epoch; it is committed with, or before, the first that is numbered in it."""
        self._ledger.epoch = self._ledger.documents.epoch = epoch
        self._ledger.store.batch.raise_epoch(epoch)
        self._ledger.after_commit(self.raised)
