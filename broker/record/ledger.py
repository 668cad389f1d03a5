"""Composes transactions: an arm's state in memory and its rows move together."""

from collections.abc import Callable
from functools import partial

import msgspec

from broker import logs
from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob, Phase, RestoreJob
from broker.blobs import pack, pack_setters
from broker.clock import Clock
from broker.counters import Counters
from broker.publish.documents import Documents
from broker.publish.notices import Notices
from broker.publish.outbox import Outbox, Publication
from broker.publish.shortening import event_shortener
from broker.record.backfill import Backfill
from broker.record.event_parts import known_mode
from broker.record.principals import Principals
from broker.record.traffic import Traffic
from broker.store.rows import ChangeRow, ChangeState, ChangeUpdate, EventRow, ItemRow
from broker.store.store import Store
from broker.topics import Topics
from handlers.state.arm_state import HandleEntry
from handlers.state.provenance import NOBODY, Setter
from schema.arms import Slot
from schema.codecs.codec import Codec
from schema.enums import ControlConfigurationEvent
from schema.envelope import Author, Denied, Event, EventChange
from schema.events import CONTROL_MODE_CHANGED, EVENTS, EventClass, event_topic
from schema.messages import (
    ControlConfigurationNotification,
    ControlModeNotification,
    Message,
    Timestamp,
)

_MICRO = 1_000_000
RESTORE = "restore"
"""Verb of the row of a RestoreFactory."""


class Ledger:
    """Writes what was decided: changes, slots, events. Publishes only what is committed."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        epoch: int,
        outbox: Outbox,
        documents: Documents,
        notices: Notices,
        principals: Principals,
        topics: Topics,
        codec: Codec,
        next_change: int,
        counters: Counters,
        traffic: Traffic,
    ) -> None:
        self.store = store
        self.clock = clock
        self.epoch = epoch
        self.outbox = outbox
        self.documents = documents
        self.notices = notices
        self.counters, self.traffic = counters, traffic
        self._principals = principals
        self._topics = topics
        self._codec = codec
        self._next_change = next_change
        self.backfill = Backfill(store, outbox, self.publish_again)

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Call back once everything decided so far is committed; at once if it is."""
        if self.store.settled:
            callback()
        else:
            self.store.batch.on_commit(callback)
            self.store.flush_soon()

    def audit(self, **entry: object) -> None:
        """Append to the audit chain."""
        self.store.batch.audit(msgspec.json.encode(entry))

    def new_change(self) -> int:
        """The number of a new change."""
        number = self._next_change
        self._next_change += 1
        return number

    def put_slot(self, session: ArmSession, slot: Slot) -> None:
        """Store a slot as it stands."""
        state = session.state
        self.store.batch.put_item(
            ItemRow(
                arm=state.arm,
                key=slot[0],
                mode=slot[1],
                desired=pack(state.desired[slot]),
                desired_rev=state.desired_rev.get(slot, 0),
                last_rev=state.last_rev.get(slot, 0),
                reported=pack(state.reported[slot]),
                set_by=pack_setters(state.desired_by.get(slot, NOBODY), state.reported_by.get(slot, NOBODY)),
            )
        )

    def put_arm(self, session: ArmSession) -> None:
        """Store an arm's counters as they stand."""
        self.store.batch.put_arm(session.row())

    def desire(self, session: ArmSession, slot: Slot, value: Message | None, setter: Setter) -> int:
        """Give a slot a new desired value (None: a later wish stays) in a new revision; the caller stores both."""
        state = session.state
        state.rev += 1
        state.last_rev[slot] = state.rev
        if value is not None:
            state.desired[slot] = value
            state.desired_rev[slot] = state.rev
            state.desired_by[slot] = setter
        return state.rev

    def mark_writing(self, session: ArmSession, job: ChangeJob) -> None:
        """Give a change its command number; the first byte goes out only after the commit."""
        session.cmd_seq += 1
        job.phase = Phase.WRITING
        job.epoch, job.cmd_seq = session.sent = self.epoch, session.cmd_seq
        job.before = session.state.reported.get(job.slot)

    def add_change(self, session: ArmSession, job: ChangeJob) -> None:
        """Store a new change as it stands."""
        reported = session.state.reported.get(job.slot)
        self.store.batch.add_change(
            ChangeRow(
                n=job.n,
                request_n=job.request_n,
                arm=session.arm,
                rev=job.rev,
                verb=RESTORE if isinstance(job, RestoreJob) else job.verb.value,
                key=job.slot[0],
                mode=job.slot[1],
                before=pack(reported) if reported is not None else None,
                after=job.record,
                state=state_of(job),
                epoch=job.epoch,
                cmd_seq=job.cmd_seq,
                at_us=job.at_us,
                expires_us=self._expiry_us(job),
                loosening=job.loosening,
                user=job.author.user,
                conn=job.author.connection,
                proven=job.author.proven,
                request_id=job.request_id,
                method=job.method,
                reason=job.reason,
                warnings=msgspec.json.encode(job.warnings) if job.warnings else b"",
            )
        )

    def _expiry_us(self, job: ChangeJob) -> int:
        if not job.expires:
            return 0
        return self.clock.now_us() + int((job.expires - self.clock.monotonic()) * _MICRO)

    def update_change(self, job: ChangeJob, state: ChangeState, outcome: str = "", seq: int = 0) -> None:
        """Store how far a change got."""
        settled = state is ChangeState.SETTLED
        self.store.batch.update_change(
            ChangeUpdate(
                n=job.n,
                state=state,
                epoch=job.epoch,
                cmd_seq=job.cmd_seq,
                after=job.record,
                outcome=outcome,
                seq=seq,
                settled_at_us=self.clock.now_us() if settled else 0,
            )
        )

    def log_revision(
        self, session: ArmSession, slot: Slot, before: Message, author: Author, method: str, outcome: str, seq: int = 0
    ) -> None:
        """Store a settled change that no queue carried: a foreign one, or a return to what was reported."""
        now_us, number = self.clock.now_us(), self.new_change()
        after = session.state.reported[slot] if outcome == "foreign" else session.state.desired[slot]
        self.store.batch.add_change(
            ChangeRow(
                n=number, arm=session.arm, rev=session.state.rev, verb="set", key=slot[0], mode=slot[1],
                before=pack(before), after=pack(after), state=ChangeState.SETTLED, at_us=now_us, user=author.user,
                conn=author.connection, proven=author.proven, method=method,
            )
        )  # fmt: skip
        self.store.batch.update_change(
            ChangeUpdate(
                n=number, state=ChangeState.SETTLED, after=pack(after), outcome=outcome, seq=seq, settled_at_us=now_us
            )
        )

    def emit(
        self,
        session: ArmSession,
        name: str,
        *,
        cause: str,
        stage: str,
        by: Author,
        rev: int,
        change: EventChange | None = None,
        request_id: str = "",
        reason: str = "",
        mode: int | None = None,
        to: HandleEntry | None = None,
        denied: Denied | None = None,
        trace: str = "",
    ) -> Event:
        """Store an event and publish it after the commit: to the handles and on its topic, or to one handle alone."""
        state = session.state
        state.seq += 1
        below = event_topic(name)
        prev, session.heads[below] = session.heads.get(below, 0), state.seq
        at_us = self.clock.now_us()
        event = Event(
            arm=state.arm, epoch=self.epoch, seq=state.seq, prev=prev, rev=rev, at_us=at_us, cause=cause, stage=stage,
            by=by, event=name, request_id=request_id, notification=self._notification(name, at_us, by, mode),
            change=change, reason=reason, denied=denied,
        )  # fmt: skip
        body = self._codec.encode_event(event)
        batch = self.store.batch
        row = EventRow(
            arm=state.arm, seq=state.seq, epoch=self.epoch, prev=prev, rev=rev, at_us=at_us, topic=below, body=body
        )
        batch.add_event(row)
        self.put_arm(session)
        if to is None:
            batch.on_commit(partial(self._publish, session, event, below, body, trace))
        else:
            batch.on_commit(partial(self._last_notice, session, event, to))
        return event

    def _last_notice(self, session: ArmSession, event: Event, entry: HandleEntry) -> None:
        """Not marked as published: that would mark the events before it, too."""

        def tell() -> None:
            self.notices.send_to(entry, event)
            self.notices.close(entry.identifier)

        self.backfill.takes(session, event.seq)
        self.backfill.then(session, tell)

    def publish_again(self, session: ArmSession, row: EventRow) -> None:
        """Publish a stored event that the MQTT server may not have."""
        if row.topic == EventClass.NOTICE.value:
            return
        self.notices.send_stored(row)
        self._send(session, row.seq, row.topic, row.body)

    def _publish(self, session: ArmSession, event: Event, below: str, body: bytes, trace: str) -> None:
        logs.info("change", _told(event))
        if self.backfill.takes(session, event.seq):
            return
        self.notices.send(event, below, trace)
        self._send(session, event.seq, below, body, trace)

    def _send(self, session: ArmSession, seq: int, below: str, body: bytes, trace: str = "") -> None:
        self.outbox.send(
            Publication(
                self._topics.event(session.arm, below),
                body,
                self._codec.content_type,
                done=partial(self._published, session, seq),
                shorten=event_shortener(body),
                trace=trace,
            )
        )

    def _published(self, session: ArmSession, seq: int) -> None:
        session.published_seq = seq
        self.store.batch.published(session.arm, seq)
        self.store.flush_later()

    def _notification(self, name: str, at_us: int, by: Author, mode: int | None) -> Message | None:
        """The Kinova message of an event; None for our own events."""
        row = EVENTS.get(name)
        number = row.number if row is not None else int(name)
        if number is None and name != CONTROL_MODE_CHANGED:
            return None
        user, connection = self._principals.of(by)
        stamp = Timestamp(*divmod(at_us, _MICRO))
        if number is None:
            return ControlModeNotification(known_mode(mode or 0), stamp, user, connection)
        event = ControlConfigurationEvent(number) if row is not None else number
        return ControlConfigurationNotification(event, stamp, user, connection)


def _told(event: Event) -> dict[str, object]:
    """What the log says of an event."""
    line: dict[str, object] = {
        "arm": event.arm, "name": event.event, "cause": event.cause, "rev": event.rev, "seq": event.seq,
        "by": f"{event.by.user}/{event.by.connection}", "request_id": event.request_id,
    }  # fmt: skip
    if event.change is not None:
        line["item"], line["slot"] = event.change.item, event.change.slot
    return line


def state_of(job: ChangeJob) -> ChangeState:
    """How far a new change got."""
    if job.parked:
        return ChangeState.HELD if job.held else ChangeState.PENDING
    return ChangeState.WRITING if job.phase is Phase.WRITING else ChangeState.ACCEPTED
