"""Events that wait in the store while the outbox has enough to do, and in their order to be published."""

from collections.abc import Callable

import msgspec
import structlog

from broker.arms.arm_session import ArmSession
from broker.publish.outbox import Outbox
from broker.store.errors import RowDamagedError
from broker.store.rows import Damage, EventRow
from broker.store.store import Store

WINDOW = 1_000
"""Publications that may wait in memory; beyond, events stay in the store alone."""
PAGE, PAGE_BYTES = 100, 256 * 1024
"""Events of one arm that are read at once."""
_UNUSABLE = (msgspec.MsgspecError, ValueError, KeyError, TypeError)

log = structlog.get_logger()


class Backfill:
    """The arms that are late: some of their committed events were not given to the outbox yet.

    All later events of a late arm stay in the store, too, until those before them were given: each arm's events are
    given in the order of their seq, from the store or from memory.

    Args:
        store: where they lie.
        outbox: asks for more when it has room.
        publish: gives a stored event to the outbox.
    """

    def __init__(self, store: Store, outbox: Outbox, publish: Callable[[ArmSession, EventRow], None]) -> None:
        self._store = store
        self._outbox = outbox
        self._publish = publish
        self._late: dict[str, ArmSession] = {}
        self._then: dict[str, list[Callable[[], None]]] = {}
        self._feeding = False
        outbox.on_room = self.feed

    @property
    def late(self) -> int:
        """How many arms are late."""
        return len(self._late)

    def begin(self, session: ArmSession) -> None:
        """Take up an arm as the store knows it: what the MQTT server may not have is published before anything new."""
        session.given_seq = session.published_seq
        if session.given_seq < session.state.seq:
            self._late[session.arm] = session

    def takes(self, session: ArmSession, seq: int) -> bool:
        """Whether an event that was just committed is not to be given now: it was, or it will be from the store."""
        if seq <= session.given_seq:
            return True
        if session.arm not in self._late and self._outbox.backlog < WINDOW:
            session.given_seq = seq
            return False
        self._late[session.arm] = session
        return True

    def then(self, session: ArmSession, callback: Callable[[], None]) -> None:
        """Call back once an arm is not late; at once if it is not."""
        if session.arm in self._late:
            self._then.setdefault(session.arm, []).append(callback)
        else:
            callback()

    def feed(self) -> None:
        """Give what fits, arm by arm in turns."""
        if self._feeding:
            return
        self._feeding = True
        try:
            while self._late and self._outbox.backlog < WINDOW:
                arm, session = next(iter(self._late.items()))
                del self._late[arm]
                if self._read_page(session):
                    self._late[arm] = session
                else:
                    for callback in self._then.pop(arm, ()):
                        callback()
        finally:
            self._feeding = False

    def _read_page(self, session: ArmSession) -> bool:
        """Give some events of an arm; whether there are more."""
        try:
            page = self._store.events(session.arm, session.given_seq, PAGE, PAGE_BYTES)
        except RowDamagedError as error:
            log.warning("events_not_published", arm=session.arm, after=session.given_seq, why=str(error))
            session.given_seq = session.state.seq
            return False
        for row in page.events:
            session.given_seq = row.seq
            try:
                self._publish(session, row)
            except _UNUSABLE as error:
                self._store.on_damage(Damage("event", session.arm, str(row.seq), f"it cannot be used: {error}"))
        return page.more
