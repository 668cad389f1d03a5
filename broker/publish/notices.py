"""Notification handles: the book of them, and the notices they get."""

from collections.abc import Callable
from functools import partial

import msgspec

from broker.clock import Clock
from broker.publish.outbox import Outbox, Watched
from broker.publish.shortening import event_shortener
from broker.store.meta_keys import NEXT_HANDLE
from broker.store.rows import EventRow, HandleRow
from broker.store.store import Store
from broker.topics import Topics
from handlers.methods.notifications import HANDLE_LIFE_US
from handlers.state.arm_state import HandleEntry
from schema.codecs.codec import Codec
from schema.envelope import Event
from schema.events import EventClass

EXPIRY_S = 3600
TOUCH_US = 60_000_000
"""A connection's sign of life is stored at most this often."""


def _row(entry: HandleEntry) -> HandleRow:
    return HandleRow(
        identifier=entry.identifier, user=entry.user, conn=entry.conn, arm=entry.arm, topic=entry.topic,
        created_us=entry.created_us, last_seen_us=entry.last_seen_us, last_seq=entry.last_seq,
    )  # fmt: skip


class Notices:
    """The open handles. `handles` is shared with the handlers, who only read it."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        outbox: Outbox,
        topics: Topics,
        codec: Codec,
        rows: list[HandleRow],
        first: int,
    ) -> None:
        self._store = store
        self._clock = clock
        self._outbox = outbox
        self._topics = topics
        self._codec = codec
        self._next = first
        self.handles: dict[int, HandleEntry] = {}
        self._by_arm: dict[str, list[HandleEntry]] = {}
        self._by_sender: dict[tuple[str, str], list[HandleEntry]] = {}
        for row in rows:
            fields = {name: getattr(row, name) for name in HandleEntry.__slots__}
            self._enter(HandleEntry(**fields))

    def _enter(self, entry: HandleEntry) -> None:
        self.handles[entry.identifier] = entry
        self._by_arm.setdefault(entry.arm, []).append(entry)
        self._by_sender.setdefault((entry.user, entry.conn), []).append(entry)

    def open(self, user: str, conn: str, arm: str, topic: str) -> int:
        """Open a handle; its number, which was never used before."""
        now_us = self._clock.now_us()
        entry = HandleEntry(self._next, user, conn, arm, topic, now_us, now_us)
        self._next += 1
        self._store.batch.set_meta(NEXT_HANDLE, str(self._next))
        self._enter(entry)
        self._store.batch.put_handle(_row(entry))
        return entry.identifier

    def close(self, identifier: int) -> None:
        """End a handle; harmless when it ended already."""
        entry = self.handles.pop(identifier, None)
        if entry is None:
            return
        self._by_arm[entry.arm].remove(entry)
        self._by_sender[entry.user, entry.conn].remove(entry)
        self._store.batch.drop_handle(identifier)

    def touch(self, user: str, conn: str) -> None:
        """The connection sent a request: its handles live on."""
        entries = self._by_sender.get((user, conn))
        if not entries:
            return
        now_us = self._clock.now_us()
        stale = now_us - entries[0].last_seen_us >= TOUCH_US
        for entry in entries:
            entry.last_seen_us = now_us
            if stale:
                self._store.batch.put_handle(_row(entry))

    def expired(self) -> list[HandleEntry]:
        """The handles whose connection was silent for too long."""
        oldest = self._clock.now_us() - HANDLE_LIFE_US
        return [entry for entry in self.handles.values() if entry.last_seen_us < oldest]

    def send(self, event: Event, below: str, trace: str = "") -> None:
        """Send a committed event to the handles of its arm and topic."""
        for entry in self._by_arm.get(event.arm, ()):
            if _handle_topic(below) == entry.topic:
                self.send_to(entry, event, trace)

    def send_to(self, entry: HandleEntry, event: Event, trace: str = "") -> None:
        """Send an event to one handle, with `prev` of that handle."""
        notice = msgspec.structs.replace(event, prev=entry.last_seq)
        self._give(entry, event.seq, self._codec.encode_event(notice), trace)

    def send_stored(self, row: EventRow) -> None:
        """Send a stored event to the handles that did not get it."""
        for entry in self._by_arm.get(row.arm, ()):
            if _handle_topic(row.topic) == entry.topic and row.seq > entry.last_seq and row.at_us >= entry.created_us:
                document = msgspec.json.decode(row.body)
                document["prev"] = entry.last_seq
                self._give(entry, row.seq, self._codec.encode_document(document))

    def _give(self, entry: HandleEntry, seq: int, payload: bytes, trace: str = "") -> None:
        entry.last_seq = seq
        topic = self._topics.notice(entry.user, entry.conn, entry.identifier)
        taken: Callable[[], None] = partial(self._given, entry, seq)
        self._outbox.send(
            Watched(
                topic,
                payload,
                self._codec.content_type,
                expiry_s=EXPIRY_S,
                on_taken=taken,
                shorten=event_shortener(payload),
                trace=trace,
            )
        )

    def _given(self, entry: HandleEntry, seq: int) -> None:
        if entry.identifier in self.handles:
            self._store.batch.put_handle(msgspec.structs.replace(_row(entry), last_seq=seq))
            self._store.flush_later()


def _handle_topic(below: str) -> str:
    """The topic of the handles that get an event: those of configuration get what ends of it, too."""
    kind = below.partition("/")[0]
    return EventClass.CONFIG.value if kind == EventClass.OVERRIDE.value else kind
