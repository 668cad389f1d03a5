"""Bodies of events: what an event of a change says stands in the row of that, and is put together when it is read."""

from typing import Any

from broker.arms.jobs import ChangeJob
from broker.record.principals import Principals
from broker.store.rows import ChangeRow, EventParts, EventRow
from schema.arms import Slot
from schema.codecs.codec import Codec
from schema.codecs.json_codec import pack, unpack
from schema.enums import ControlConfigurationEvent, ControlMode
from schema.envelope import Author, Event, EventChange
from schema.events import CONTROL_MODE_CHANGED, EVENTS
from schema.items import ITEMS, MODE_NAMES
from schema.messages import (
    ControlConfigurationNotification,
    ControlModeInformation,
    ControlModeNotification,
    Message,
    Timestamp,
)


def known_mode(number: int) -> ControlMode | int:
    """The control mode of a number, or the number where no revision has it."""
    try:
        return ControlMode(number)
    except ValueError:
        return number


def event_change(slot: Slot, before: Message | None, after: Message | None) -> EventChange:
    """What an event says of a slot."""
    item = ITEMS[slot[0]]
    return EventChange(slot[0], MODE_NAMES[slot[1]], item.field, before, after)


def mode_of(value: Message | None) -> int | None:
    """The control mode in a value of the control mode item."""
    return int(value.control_mode) if isinstance(value, ControlModeInformation) else None


_MICRO = 1_000_000


class EventBodies:
    """Makes the payloads of events."""

    def __init__(self, principals: Principals, codec: Codec) -> None:
        self._principals = principals
        self.codec = codec

    def stored(self, change: ChangeRow | None, row: EventRow) -> bytes:
        """The body of a stored event, as it was published.

        Raises:
            ValueError, KeyError, msgspec.MsgspecError: the row is of another version.
        """
        parts = row.parts
        if change is None or parts is None:
            return row.body
        by = Author(change.user, change.conn, change.proven)
        told: EventChange | None = None
        if parts.slotted:
            record = ITEMS[change.key].record
            before, after = (
                unpack(blob, record) if isinstance(blob, bytes) else None for blob in (parts.before, parts.after)
            )
            told = event_change((change.key, change.mode), before, after)
        terms = change.terms
        event = Event(
            arm=row.arm, epoch=row.epoch, seq=row.seq, prev=row.prev, rev=row.rev, at_us=row.at_us, cause=parts.cause,
            stage=parts.stage, by=by, event=parts.event, request_id=change.request_id,
            notification=self.notification(parts.event, row.at_us, by, parts.mode), change=told, reason=parts.reason,
            plan=0 if terms is None else terms.plan, until_us=0 if terms is None else terms.until_us,
        )  # fmt: skip
        return self.codec.encode_event(event)

    def notification(self, name: str, at_us: int, by: Author, mode: int | None) -> Message | None:
        """The Kinova message of an event; None for our own events."""
        number = _NUMBERS[name]
        if number is None and name != CONTROL_MODE_CHANGED:
            return None
        known, key = self._principals.known, (by.user, by.connection)
        user, connection = known[key] if key in known else self._principals.of(by)
        stamp = Timestamp(at_us // _MICRO, at_us % _MICRO)
        if number is None:
            return ControlModeNotification(known_mode(mode or 0), stamp, user, connection)
        return ControlConfigurationNotification(number, stamp, user, connection)


class _Numbers(dict[str, ControlConfigurationEvent | int | None]):
    """Kinova's numbers by the names of events; None for our own events."""

    def __missing__(self, name: str) -> int:
        """The number of an event that is in no public revision, which has its number as a name."""
        return int(name)


_NUMBERS = _Numbers(
    {name: None if row.number is None else ControlConfigurationEvent(row.number) for name, row in EVENTS.items()}
)


def parts_of(event: Event, mode: int | None, job: ChangeJob) -> EventParts:
    """What the event of a change says beside what the row of that says."""
    change, kept = event.change, job.kept
    if change is None:
        return EventParts(event.event, event.cause, event.stage, event.reason, mode)
    before: Any = change.before
    after: Any = change.after
    if kept is not None and before is not None and before is kept.was:
        before = True
    else:
        before = None if before is None else pack(before)
        before = True if kept is not None and before == kept.before else before
    after = None if after is None else pack(after)
    if job.wanted is not None:
        wanted = kept.after if kept is not None and job.wanted is kept.wanted else pack(job.wanted)
        after = True if after == wanted else after
    return EventParts(event.event, event.cause, event.stage, event.reason, mode, before, after, slotted=True)
