"""What arms remember of commands: our numbers go on above all that was ever used, and who knows less is told.

An arm that this store knows, and that had commands of which the store does not know, says that the store is an older
copy or lost its end. Found at a start it ends the run: what the store would tell is not what happened. Found later it
holds that arm, until somebody confirms it; the next start knows that, and holds it again instead of ending.
"""

from collections.abc import Callable

import msgspec
import structlog

from broker.arms.arm_session import ArmSession
from broker.record.ledger import Ledger
from broker.store.errors import HistoryLostError
from broker.store.history import REMEDY
from broker.store.restored import FENCE_KEY, KnownFence, operator

log = structlog.get_logger()

Pair = tuple[int, int]
_NAMED = 5
"""So many arms are named in one error."""


class Fences:
    """Raises the epoch above what others know, and finds arms that know more than the store.

    `accept`: somebody decided that what arms know more is lost.
    """

    def __init__(self, ledger: Ledger, *, accept: bool = False) -> None:
        self._ledger = ledger
        self._accept = accept
        self._starting = True
        self._found: dict[str, str] = {}
        self.on_raised: Callable[[], None] = lambda: None
        """What to publish in a new epoch; set by the composition root."""

    def ahead(self, session: ArmSession, fence: Pair) -> str:
        """Why an arm must not be served: it knows more than the store; empty if it does not, or somebody accepted it.

        An arm that the store does not know yet may know whatever it likes; so may one that was compared in this run
        already: another service gave it commands since.
        """
        if self._accept or session.compared or not session.state.adopted or self._is_known(session, fence):
            return ""
        if fence > session.foreign_fence:
            session.foreign_fence, session.fence_held = fence, True
            if self._starting:
                self._found[session.arm] = _unknown(session)
            else:
                self._keep(session)
        return _unknown(session)

    def check_start(self) -> None:
        """End a start that found arms which know more than the store; those that are met later are held.

        Raises:
            HistoryLostError: names them.
        """
        self._starting = False
        if self._found:
            first = [f"{arm}: {why}" for arm, why in list(self._found.items())[:_NAMED]]
            more = f"; and {len(self._found) - _NAMED} more arms" if len(self._found) > _NAMED else ""
            raise HistoryLostError(f"the store knows less than its arms. {'; '.join(first)}{more}. {REMEDY}")

    def respect(self, session: ArmSession, fence: Pair) -> None:
        """Number what is sent to an arm above (epoch, cmd_seq), which is known from now on."""
        first, session.compared, session.fence = not session.compared, True, fence
        if self._is_known(session, fence):
            return
        if first and session.state.adopted:
            self._ledger.audit(
                at=self._ledger.clock.now_us(), arm=session.arm, decision="fence_accepted", fence=fence,
                known=session.sent, by=operator() if self._accept else "",
            )  # fmt: skip
        session.foreign_fence, session.fence_held = fence, False
        self._keep(session)
        self.go_above(fence[0], session.arm)

    def _is_known(self, session: ArmSession, fence: Pair) -> bool:
        """Whether a command may be one of ours, or is one of others that was accepted."""
        ours = fence[0] <= session.sent[0] and fence[1] <= session.sent[1]
        return ours or (fence <= session.foreign_fence and not session.fence_held)

    def _keep(self, session: ArmSession) -> None:
        known = KnownFence(session.foreign_fence, session.fence_held)
        self._ledger.store.batch.set_meta(FENCE_KEY + session.arm, msgspec.json.encode(known).decode())
        self._ledger.store.flush_soon()

    def go_above(self, epoch: int, whose: str) -> None:
        """Let the epoch be above one that was used by others, or by a later life of this store."""
        if epoch < self._ledger.epoch:
            return
        log.warning("epoch_raised", known_by=whose, known=epoch, epoch=epoch + 1)
        self._ledger.epoch = self._ledger.documents.epoch = epoch + 1
        self._ledger.store.batch.raise_epoch(epoch + 1)
        self._ledger.after_commit(self.on_raised)


def _unknown(session: ArmSession) -> str:
    return (
        f"it was given command {session.foreign_fence}, of which this store does not know: "
        f"its last was {session.sent[1]} in epoch {session.sent[0]} or before"
    )
