"""Events and replies as they are published, with what the MQTT server's taking them leads to; lines of the log."""

import msgspec

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import Address, ChangeJob
from broker.arms.stream import Stream
from broker.publish.outbox import Publication
from broker.publish.shortening import shorten_event
from broker.record.fitting import ErrorOf, fit
from broker.store.store import Store
from schema.codecs.codec import Codec
from schema.envelope import Event, Reply


class EventPublication(Publication, eq=False, kw_only=True):
    """An event on its topic, `below` that of its arm; until it is told `event`, with the job it is `of` if any.

    Where it is `watched` the arm is marked once it is taken; else the reply that follows does so.
    """

    store: Store
    session: Stream
    seq: int
    below: str
    event: Event | None = None
    of: ChangeJob | None = None
    watched: bool = True

    def taken(self) -> None:
        """See `Publication.taken`."""
        self.session.published_seq = self.seq
        self.store.mark_published(self.session.arm, self.seq)

    def shortened(self, room: int) -> bytes:
        """See `Publication.shortened`."""
        return shorten_event(self.payload, room)


class ReplyPublication(Publication, eq=False, kw_only=True):
    """A reply on its topic; one without a `codec` is not made shorter.

    The last one of a change is `behind` its event: once it is taken both were, and the arm is marked. With `request_n`
    the row of that is told.
    """

    store: Store
    address: Address
    reply: Reply
    codec: Codec | None
    error_of: ErrorOf
    request_n: int = 0
    behind: ArmSession | None = None

    def taken(self) -> None:
        """See `Publication.taken`."""
        if self.behind is not None:
            self.behind.published_seq = seq = self.reply.seq
            self.store.mark_published(self.behind.arm, seq)
        else:
            self.store.batch.reply_published(self.request_n)
            self.store.flush_later()

    def shortened(self, room: int) -> bytes:
        """See `Publication.shortened`."""
        return self.payload if self.codec is None else fit(self.reply, self.codec, self.error_of, room)


class ChangeLine(msgspec.Struct, omit_defaults=True):
    """What the log says of an event, in this order."""

    arm: str
    name: str
    cause: str
    rev: int
    seq: int
    by: str
    request_id: str
    item: str = ""
    slot: str = ""
    event: str = ""
    level: str = ""
    timestamp: str = ""


def line_of(event: Event, stamp: str) -> ChangeLine:
    """The line of an event, with this time."""
    change, by = event.change, f"{event.by.user}/{event.by.connection}"
    item, slot = ("", "") if change is None else (change.item, change.slot)
    return ChangeLine(
        event.arm, event.event, event.cause, event.rev, event.seq, by, event.request_id, item, slot,
        "change", "info", stamp,
    )  # fmt: skip
