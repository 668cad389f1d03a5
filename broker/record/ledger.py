"""Composes transactions: an arm's state in memory and its rows move together."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from broker import logs
from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import BatchJob, pack_values
from broker.arms.jobs import ChangeJob, Kept
from broker.arms.stream import Stream
from broker.clock import Clock
from broker.counters import Counters
from broker.life import State
from broker.publish.documents import Documents
from broker.publish.notices import Notices
from broker.publish.outbox import Outbox
from broker.record.backfill import WINDOW, Backfill
from broker.record.event_bodies import EventBodies, parts_of
from broker.record.principals import Principals
from broker.record.publications import EventPublication, ReplyPublication, line_of
from broker.record.traffic import Traffic
from broker.store.rows import ChangeRow, ChangeUpdate, EventRow
from broker.store.store import Store
from broker.topics import Topics
from handlers.compare.views import ground_of
from handlers.state.arm_state import HandleEntry
from handlers.state.provenance import PARTED, Setter
from schema.arms import Slot
from schema.codecs.codec import Codec
from schema.codecs.json_codec import pack
from schema.envelope import Author, Denied, Event, EventChange
from schema.events import EVENT_TOPICS, EventClass
from schema.messages import Message

_MICRO = 1_000_000
_encode = msgspec.json.Encoder().encode
FOREIGN = "foreign"
"""What became of a change of another writer."""
RESTORE, BATCH = "restore", "batch"
"""Verbs of the rows of changes of several slots: of a RestoreFactory, and of all others."""
_WRITING = State.WRITING
_PLAIN = frozenset(State) - {State.RESUMED, State.PENDING}
"""States that are stored as they are, whatever else is known of the change."""


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
        next_n: int,
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
        self._bodies = EventBodies(principals, codec)
        self._topics = topics
        self._codec = codec
        self._next_n = next_n
        self.tell_reply: Callable[[ReplyPublication], None] = outbox.send
        """Publishes a reply that is committed; set by `Replies`."""
        store.body_of = self._bodies.stored
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
        self.store.batch.audits.append(_encode(entry))

    def new_change(self) -> int:
        """The number of a new job: a request with its change, or a change or event that nobody asked for."""
        number = self._next_n
        self._next_n += 1
        return number

    def put_slot(self, session: ArmSession, slot: Slot) -> None:
        """Store a slot as it stands when everything that goes with it is done."""
        self.store.batch.changed_slots[session.arm, *slot] = session.item_row

    def put_arm(self, session: Stream) -> None:
        """Store an arm's counters as they stand when everything that goes with them is done."""
        self.store.batch.changed_arms[session.arm] = session.row

    def desire(self, session: ArmSession, slot: Slot, value: Message | None, setter: Setter) -> int:
        """Give a slot a new desired value (None: a later wish stays) in a new revision.

        Of a change that is accepted its own row says so until it ends; for others the caller stores the slot.
        """
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
        job.state = _WRITING
        job.epoch, job.cmd_seq = session.sent = self.epoch, session.cmd_seq

    def add_change(self, session: ArmSession, job: ChangeJob) -> None:
        """Store a new change as it stands; until it ends that stands for the slot and the arm, too."""
        before: bytes | None
        verb, author, (key, mode), reported = str(job.verb), job.author, job.slot, None
        if type(job) is BatchJob:
            verb, before = RESTORE if job.factory else BATCH, _before(session, job)
        else:
            reported = session.state.reported.get(job.slot)
            before = pack(reported) if reported is not None else None
        after = job.record if job.wanted is None else pack(job.wanted)
        job.kept = Kept(before, after, reported, job.wanted)
        self.store.batch.add_change(
            ChangeRow(  # by place where that is clear: a call with more than 15 names costs five times as much
                job.n, session.arm, job.rev, verb, key, job.at_us, author.user, author.connection, mode, before, after,
                job.state if job.state in _PLAIN else _stored(job), job.epoch, job.cmd_seq,
                expires_us=self._expiry_us(job) if job.expires else 0, loosening=job.loosening, proven=author.proven,
                request_id=job.request_id, method=job.method, reason=job.reason,
                warnings=msgspec.json.encode(job.warnings) if job.warnings else b"", terms=job.terms,
            )
        )  # fmt: skip

    def _expiry_us(self, job: ChangeJob) -> int:
        return self.clock.now_us() + int((job.expires - self.clock.monotonic()) * _MICRO)

    def reopen_change(self, session: ArmSession, job: ChangeJob) -> None:
        """Store that a change takes a revision after all."""
        before: bytes | None
        if isinstance(job, BatchJob):
            before = _before(session, job)
        else:
            reported = session.state.reported.get(job.slot)
            before = pack(reported) if reported is not None else None
            self.put_slot(session, job.slot)
        job.kept = Kept(before, job.record if job.kept is None else job.kept.after)
        self.store.batch.reopen_change(job.n, job.rev, before)
        self.update_change(job)

    def end_change(self, session: ArmSession, job: ChangeJob, outcome: str, seq: int, at_us: int) -> None:
        """Store the end of a change, with its slots as they stand."""
        batch, arm = self.store.batch, session.arm
        for slot in (job.slot,) if type(job) is ChangeJob else job.places:
            if slot in session.state.reported:  # a damaged slot is unknown before ConfirmArm
                batch.changed_slots[arm, *slot] = session.item_row
        batch.changed_arms[arm] = session.row
        found = _found(session, job) if type(job) is BatchJob else None
        self.update_change(job, outcome, seq, at_us, found)

    def update_change(
        self, job: ChangeJob, outcome: str = "", seq: int = 0, at_us: int = 0, found: bytes | None = None
    ) -> None:
        """Store how far a change got, at its end with the time of that."""
        kept, wanted = job.kept, job.wanted
        as_kept = kept is not None and wanted is not None and wanted is kept.wanted
        self.store.batch.update_change(
            ChangeUpdate(
                n=job.n,
                state=job.state if job.state in _PLAIN else _stored(job),
                epoch=job.epoch,
                cmd_seq=job.cmd_seq,
                after=True if as_kept else _after(job),
                outcome=outcome,
                seq=seq,
                settled_at_us=at_us or (self.clock.now_us() if job.state is State.SETTLED else 0),
                ground=None if job.ground is None else pack(job.ground),
                before=found,
            )
        )

    def log_revision(
        self, session: ArmSession, slot: Slot, before: Message, author: Author, method: str, outcome: str,
        told: Event | None = None, number: int = 0,
    ) -> None:  # fmt: skip
        """Store a settled change that no queue carried: a foreign one, or a return to what was reported."""
        now_us, number = self.clock.now_us(), number or self.new_change()
        seq = told.seq if told is not None else 0
        self.put_slot(session, slot)
        self.put_arm(session)
        state = session.state
        after = state.reported[slot] if outcome == FOREIGN else state.desired[slot]
        parted = outcome == FOREIGN and state.overrides is not None and type(after) in PARTED
        ground = ground_of(state, slot) if parted else None
        self.store.batch.add_change(
            ChangeRow(
                n=number, arm=session.arm, rev=session.state.rev, verb="set", key=slot[0], mode=slot[1],
                before=pack(before), after=pack(after), state=State.SETTLED, at_us=now_us, user=author.user,
                conn=author.connection, proven=author.proven, method=method,
            )
        )  # fmt: skip
        self.store.batch.update_change(
            ChangeUpdate(
                n=number,
                state=State.SETTLED,
                after=pack(after),
                outcome=outcome,
                seq=seq,
                settled_at_us=now_us,
                ground=None if ground is None else pack(ground),
            )
        )

    def emit(
        self, session: Stream, name: str, *, cause: str, stage: str, by: Author, rev: int,
        change: EventChange | None = None, request_id: str = "", reason: str = "", mode: int | None = None,
        to: HandleEntry | None = None, denied: Denied | None = None, trace: str = "", plan: int = 0, until_us: int = 0,
        details: dict[str, Any] | None = None, number: int = 0, of: ChangeJob | None = None, at_us: int = 0,
    ) -> Event:  # fmt: skip
        """Store an event and publish it after the commit: to the handles and on its topic, or to one handle alone.

        `number` is that of its change, if it has one; of a change `of` a job its body is made whenever it is read.
        """
        state, below = session.state, EVENT_TOPICS[name]
        state.seq += 1
        prev, session.heads[below] = session.heads.get(below, 0), state.seq
        at_us = at_us or self.clock.now_us()
        if of is not None and of.terms is not None:
            plan, until_us = of.terms.plan, of.terms.until_us
        event = Event(  # by place, as in `add_change`
            state.arm, self.epoch, state.seq, prev, rev, at_us, cause, stage, by, name, request_id=request_id,
            notification=self._bodies.notification(name, at_us, by, mode), change=change, reason=reason, denied=denied,
            plan=plan, until_us=until_us, details=details,
        )  # fmt: skip
        body, batch = self._codec.encode_event(event), self.store.batch
        parts = None if of is None or details is not None else parts_of(event, mode, of)
        batch.add_event(
            EventRow(
                n=of.n if of is not None else number or self.new_change(), arm=state.arm, seq=state.seq, prev=prev,
                epoch=self.epoch, rev=rev, at_us=at_us, topic=below, body=body if parts is None else b"", parts=parts,
            )
        )  # fmt: skip
        batch.changed_arms[session.arm] = session.row
        if to is None:
            batch.tellings.append(
                EventPublication(
                    self._topics.events[state.arm, below], body, self._codec.content_type, trace=trace,
                    store=self.store, session=session, seq=state.seq, below=below, event=event, of=of,
                )
            )  # fmt: skip
        else:
            batch.tellings.append(partial(self._last_notice, session, event, to))
        return event

    def _last_notice(self, session: Stream, event: Event, entry: HandleEntry) -> None:
        """Not marked as published: that would mark the events before it, too."""

        def tell() -> None:
            self.notices.send_to(entry, event)
            self.notices.close(entry.identifier)

        self.backfill.takes(session, event.seq)
        self.backfill.then(session, tell)

    def publish_again(self, session: Stream, row: EventRow) -> None:
        """Publish a stored event that the MQTT server may not have."""
        if row.topic == EventClass.NOTICE.value:
            return
        self.notices.send_stored(row)
        topic, content_type = self._topics.events[session.arm, row.topic], self._codec.content_type
        self.outbox.send(
            EventPublication(
                topic, row.body, content_type, store=self.store, session=session, seq=row.seq, below=row.topic
            )
        )

    def tell(self, tellings: list[Any]) -> None:
        """Publish what is committed, in this order; an event that has to wait is given from the store later."""
        if stamp := logs.moment():
            logs.put([line_of(each.event, stamp) for each in tellings if type(each) is EventPublication and each.event])
        backfill, outbox, notices, tell_reply = self.backfill, self.outbox, self.notices, self.tell_reply
        for told in tellings:
            if type(told) is ReplyPublication:
                tell_reply(told)
                continue
            if type(told) is not EventPublication:
                told()
                continue
            session, seq, event, of = told.session, told.seq, told.event, told.of
            if backfill.late or outbox.backlog >= WINDOW or seq <= session.given_seq:
                if backfill.takes(session, seq):
                    continue
            else:
                session.given_seq = seq
            if notices.handles and event is not None:
                notices.send(event, told.below, told.trace)
            told.event, told.of, told.watched = None, None, of is None or not of.reply_follows
            outbox.send(told)


def _before(session: ArmSession, job: BatchJob) -> bytes:
    """What the store keeps of what is reported now of the slots of a batch."""
    reported = session.state.reported
    return pack_values({step.slot: reported[step.slot] for step in job.steps if step.slot in reported})


def _found(session: ArmSession, job: BatchJob) -> bytes | None:
    """What was there when the slots of a batch were written; None where that is what is kept of its acceptance."""
    reported = session.state.reported
    steps = [(step.slot, step.before or reported.get(step.slot)) for step in job.steps if step.undoes is None]
    found = pack_values({slot: value for slot, value in steps if value is not None})
    return None if job.kept is not None and found == job.kept.before else found


def _after(job: ChangeJob) -> bytes | bool | None:
    """The value of a change as its row is told: True where that has it."""
    after = job.record
    return True if job.kept is not None and after == job.kept.after else after


def _stored(job: ChangeJob) -> State:
    """As which a start is to find a change: one that waits for idle and was confirmed has waited enough."""
    if job.state is State.RESUMED:
        return State.WRITING
    if job.state is State.PENDING and job.confirmed and job.terms is not None and job.terms.when_idle:
        return State.ACCEPTED
    return job.state
