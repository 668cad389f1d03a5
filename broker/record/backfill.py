"""Events and replies that wait in the store while the outbox has enough to do, and in their order to be published."""

from collections.abc import Callable
from typing import Protocol

import msgspec
import structlog

from broker.arms.stream import Stream
from broker.publish.outbox import Outbox
from broker.store.errors import RowDamagedError
from broker.store.rows import Damage, EventRow, RequestRow
from broker.store.store import Store

WINDOW = 1_000
"""Publications that may wait in memory; beyond, events stay in the store alone."""
PAGE, PAGE_BYTES = 100, 256 * 1024
"""Events of one arm, or replies, that are read at once."""
_UNUSABLE = (msgspec.MsgspecError, ValueError, KeyError, TypeError)

log = structlog.get_logger()


class GiveReply(Protocol):
    """Gives the outcome of a request; with `mark` its row is told once the MQTT server took it."""

    def __call__(self, request: RequestRow, *, mark: bool) -> None:
        """Give it."""
        ...


class Backfill:
    """The arms that are late: some of their committed events were not given to the outbox yet.

    All later events of a late arm stay in the store, too, until those before them were given: each arm's events are
    given in the order of their seq, from the store or from memory. Replies that an earlier run owed are read from the
    store, too: those of changes with their events, before all others those that go without.

    Args:
        store: where they lie.
        outbox: asks for more when it has room.
        publish: gives a stored event to the outbox.
    """

    def __init__(self, store: Store, outbox: Outbox, publish: Callable[[Stream, EventRow], None]) -> None:
        self._store = store
        self._outbox = outbox
        self._publish = publish
        self._give: GiveReply | None = None
        self._owed_n: int | None = None
        """The request up to which replies were given that go without an event; None: all were."""
        self._absent: dict[str, int] = {}
        """Arms that are not served, and the seq up to which the replies of their changes were given."""
        self._earlier: dict[str, int] = {}
        """The last seq of each arm whose reply may be one that an earlier run owed."""
        self.late: dict[str, Stream] = {}
        """The arms that are late."""
        self._then: dict[str, list[Callable[[], None]]] = {}
        self._feeding = False

    def owe(self, give: GiveReply, absent: dict[str, int]) -> None:
        """An earlier run owed replies; `absent` are arms that are not served, with the seq that was published."""
        self._give, self._owed_n, self._absent = give, 0, absent
        self._outbox.on_room = self.feed

    def begin(self, session: Stream) -> None:
        """Take up an arm as the store knows it: what the MQTT server may not have is published before anything new."""
        session.given_seq = session.published_seq
        if session.given_seq < session.state.seq:
            self._is_late(session)
            if self._give is not None:
                self._earlier[session.arm] = session.state.seq

    def takes(self, session: Stream, seq: int) -> bool:
        """Whether an event that was just committed is not to be given now: it was, or it will be from the store."""
        if seq <= session.given_seq:
            return True
        if session.arm not in self.late and self._outbox.backlog < WINDOW:
            session.given_seq = seq
            return False
        self._is_late(session)
        return True

    def _is_late(self, session: Stream) -> None:
        self.late[session.arm] = session
        self._outbox.on_room = self.feed

    def then(self, session: Stream, callback: Callable[[], None]) -> None:
        """Call back once an arm is not late; at once if it is not."""
        if session.arm in self.late:
            self._then.setdefault(session.arm, []).append(callback)
        else:
            callback()

    def feed(self) -> None:
        """Give what fits: replies first, then arm by arm in turns."""
        if self._feeding:
            return
        self._feeding = True
        try:
            while self._owed_n is not None and self._outbox.backlog < WINDOW:
                self._owed_n = self._reply_page(self._owed_n)
            while self._absent and self._outbox.backlog < WINDOW:
                self._absent_page(*self._absent.popitem())
            while self.late and self._outbox.backlog < WINDOW:
                arm, session = next(iter(self.late.items()))
                del self.late[arm]
                if self._read_page(session):
                    self.late[arm] = session
                else:
                    self._earlier.pop(arm, None)
                    for callback in self._then.pop(arm, ()):
                        callback()
            if self._owed_n is None and not self._absent and not self.late:
                self._outbox.on_room = None
        finally:
            self._feeding = False

    def _reply_page(self, after_n: int) -> int | None:
        """Give some replies; the number of the last of them, None if there are no more."""
        try:
            requests, last = self._store.owed(after_n, PAGE)
        except RowDamagedError as error:
            log.warning("replies_not_given", after=after_n, why=str(error))
            return None
        for request in requests:
            if request.outcome and self._give is not None:
                self._give(request, mark=True)
        return last or None

    def _absent_page(self, arm: str, after_seq: int) -> None:
        """Give some replies of an arm that is not served."""
        try:
            page = self._store.events(arm, after_seq, PAGE, PAGE_BYTES, replies=True)
        except RowDamagedError as error:
            log.warning("replies_not_given", arm=arm, after=after_seq, why=str(error))
            return
        for request in page.requests.values():
            if self._give is not None:
                self._give(request, mark=True)
        if page.more:
            self._absent[arm] = max([row.seq for row in page.events] + [last for _, last in page.missing])

    def _read_page(self, session: Stream) -> bool:
        """Give some events of an arm; whether there are more."""
        earlier = self._earlier.get(session.arm, 0)
        try:
            page = self._store.events(
                session.arm, session.given_seq, PAGE, PAGE_BYTES, replies=session.given_seq < earlier
            )
        except RowDamagedError as error:
            log.warning("events_not_published", arm=session.arm, after=session.given_seq, why=str(error))
            session.given_seq = session.state.seq
            return False
        events = {row.seq: row for row in page.events}
        for seq in sorted(events.keys() | page.requests.keys()):
            request = page.requests.get(seq)
            if request is not None and request.outcome and seq <= earlier and self._give is not None:
                self._give(request, mark=False)
            if seq in events:
                session.given_seq = seq
                self._give_event(session, events[seq])
        session.given_seq = max([session.given_seq] + [last for _, last in page.missing])
        return page.more

    def _give_event(self, session: Stream, row: EventRow) -> None:
        try:
            self._publish(session, row)
        except _UNUSABLE as error:
            self._store.on_damage(Damage("job", session.arm, f"seq {row.seq}", f"it cannot be used: {error}"))
