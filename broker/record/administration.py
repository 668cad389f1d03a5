"""Who may change an arm, and which arm it is: each change of that is told in event, history, audit and log alike."""

import msgspec
import structlog

from broker.arms.arm_session import ArmSession
from broker.life import State
from broker.record.ledger import Ledger
from broker.store.rows import ChangeRow, ChangeUpdate
from handlers.methods.queries import ARM_ITEM, AUTHORITY_ITEM, LOCK_ITEM
from handlers.rpc.request import Request
from handlers.state.limit_sources import SETTINGS_USER
from schema.envelope import Author, Denied, EventChange, Plain, Stage
from schema.events import AdminEvent

log = structlog.get_logger()

CLOCK = Author("@service", "clock", proven=True)
"""The author of what ends by itself in time."""
SETTINGS = Author(SETTINGS_USER, "file", proven=True)
"""The author of what the settings say."""
_ITEM_OF = {
    AdminEvent.AUTHORITY_CHANGED: AUTHORITY_ITEM,
    AdminEvent.ARM_HELD: LOCK_ITEM,
    AdminEvent.ARM_RELEASED: LOCK_ITEM,
}
_ITEM_ASKED = {"SetAuthority": AUTHORITY_ITEM, "HoldArm": LOCK_ITEM, "ReleaseArm": LOCK_ITEM}


class Asked(msgspec.Struct, frozen=True):
    """Which request asked for it, and why; nothing of either where nobody did."""

    method: str = ""
    request_id: str = ""
    reason: str = ""
    trace: str = ""


NOBODY_ASKED = Asked()


def asked_by(request: Request, reason: str = "") -> Asked:
    """The request, with the reason among its params or else its own."""
    return Asked(request.method, request.request_id, reason or request.envelope.reason, request.trace)


class Administration:
    """Tells of administration; `ledger` composes the transaction that it becomes part of."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def tell_change(
        self,
        session: ArmSession,
        event: AdminEvent,
        by: Author,
        before: Plain,
        after: Plain,
        asked: Asked = NOBODY_ASKED,
    ) -> None:
        """Tell that something changed, from what to what."""
        item = _ITEM_OF.get(event, ARM_ITEM)
        number = self._ledger.new_change()
        told = self._ledger.emit(
            session, event, cause="applied", stage=Stage.APPLIED, by=by, rev=session.state.rev,
            change=EventChange(item, before=before, after=after), request_id=asked.request_id, reason=asked.reason,
            trace=asked.trace, number=number,
        )  # fmt: skip
        self._log(session, item, by, asked, "applied", (number, told.seq), (before, after))
        log.info(
            "administered", arm=session.arm, what=event.value, by=_name(by), before=before, after=after,
            reason=asked.reason,
        )  # fmt: skip

    def tell_denial(self, session: ArmSession, by: Author, asked: Asked, denied: Denied) -> None:
        """Tell that requests were refused because their sender may not do that; the reason tells of the last one."""
        number = self._ledger.new_change()
        told = self._ledger.emit(
            session, AdminEvent.REQUEST_DENIED, cause="refused", stage=Stage.REFUSED, by=by, rev=session.state.rev,
            request_id=asked.request_id, reason=asked.reason, denied=denied, number=number,
        )  # fmt: skip
        item = _ITEM_ASKED.get(asked.method, ARM_ITEM)
        self._log(session, item, by, asked, "refused", (number, told.seq), (None, None))
        log.warning(
            "request_denied", arm=session.arm, by=_name(by), kind=denied.kind, count=denied.count, method=asked.method,
            why=asked.reason,
        )  # fmt: skip

    def _log(
        self,
        session: ArmSession,
        item: str,
        by: Author,
        asked: Asked,
        outcome: str,
        numbers: tuple[int, int],
        values: tuple[Plain, Plain],
    ) -> None:
        """An entry of the history; it stands at the arm's present revision, as it takes none.

        `numbers`: its own, and the seq of its event.
        """
        ledger, (before, after) = self._ledger, map(_packed, values)
        now_us, (number, seq) = ledger.clock.now_us(), numbers
        ledger.store.batch.add_change(
            ChangeRow(
                n=number, arm=session.arm, rev=max(session.state.rev, 1), verb=item, key=item, mode=0, before=before,
                after=after, state=State.SETTLED, at_us=now_us, user=by.user, conn=by.connection,
                proven=by.proven, request_id=asked.request_id, method=asked.method, reason=asked.reason,
            )
        )  # fmt: skip
        ledger.store.batch.update_change(
            ChangeUpdate(n=number, state=State.SETTLED, after=after, outcome=outcome, seq=seq, settled_at_us=now_us)
        )
        ledger.store.flush_soon()


def _packed(value: Plain) -> bytes | None:
    return None if value is None else msgspec.json.encode(value)


def _name(by: Author) -> str:
    return f"{by.user}/{by.connection}"
