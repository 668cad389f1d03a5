"""What waits in the queue of an arm."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from broker.life import Origin, State
from broker.store.rows import Terms
from broker.timers import Timer
from handlers.rpc.outcome import Proposal
from handlers.rpc.request import PROVEN, Request
from handlers.state.provenance import NOBODY, Setter, Stamp
from schema.arms import Slot, Verb
from schema.codecs.json_codec import pack
from schema.envelope import Author, Reply, Stage, Wait, Warned, When
from schema.items import ITEMS, ConfigItem
from schema.messages import Message


class Kept(msgspec.Struct, eq=False):
    """What is stored of a change: what was there before it, and its value; and of one slot these themselves."""

    before: bytes | None
    after: bytes | None
    was: Message | None = None
    wanted: Message | None = None


UNTIMED = -1.0
"""Stands for a time that was not."""


class Address(msgspec.Struct, eq=False, gc=False):
    """Where a reply goes, and how it is encoded; `user` is who waits for it, empty after a start."""

    topic: str
    correlation: bytes
    codec: str
    user: str = ""
    trace: str = ""
    """The `traceparent` of the request."""
    received_s: float = 0.0
    """When the request came, on the monotonic clock; 0 after a start."""


class Waiter(msgspec.Struct, eq=False, gc=False):
    """Somebody who gets the reply of a change: the first request, or a repeat of it (`request_n` 0)."""

    address: Address
    wait: Wait
    request_n: int = 0
    warnings: tuple[Warned, ...] = ()


@dataclass(slots=True, eq=False)
class ChangeJob:
    """One accepted change on its way to the arm.

    `expires` is a time of the monotonic clock (0 = never); `reverts` the arm's count of reverts when it was decided.
    """

    n: int
    request_n: int
    rev: int
    slot: Slot
    item: ConfigItem
    verb: Verb
    wanted: Message | None
    loosening: bool
    unchanged: bool
    author: Author
    request_id: str
    method: str
    reason: str
    warnings: tuple[Warned, ...] = ()
    terms: Terms | None = None
    back: int = 0
    """Of a change that leads back at the end of an override: the revision of that; 0 of all others."""
    expires: float = 0.0
    at_us: int = 0
    kept: Kept | None = None
    """What this run stored of it when it was accepted."""
    since: float = 0.0
    """When this run accepted it, on the monotonic clock."""
    trace: str = ""
    """The `traceparent` of its request; of one of an earlier run nobody knows."""
    received_s: float = UNTIMED
    """When its request was received; as the next three in seconds of the monotonic clock, if in this run."""
    stored_s: float = UNTIMED
    """When commit 1 stood."""
    written_s: float = UNTIMED
    """When its command was last given to the adapter."""
    ended_s: float = UNTIMED
    """When its end was decided; commit 2 follows."""
    state: State = State.ACCEPTED
    why: str = ""
    """The reason of its state: what it waits for; of one that is resumed why its command is not sent again."""
    outcome: str = ""
    """What became of it; empty while it is open."""
    origin: Origin = Origin.NEW
    epoch: int = 0
    cmd_seq: int = 0
    before: Message | None = None
    setter: Setter = NOBODY
    """Who sets each number of what is wanted."""
    named: frozenset[str] | None = None
    """The parts of what is wanted that it asks for itself; None: the whole."""
    ground: Message | None = None
    """Once it took effect: what is there without overrides, where these hold parts of the value."""
    unread: tuple[Message, Setter] | None = None
    """Its entry among what the state knows as accepted and not read back."""
    reverts: int = 0
    foreign: bool = False
    waits_turn: bool = False
    """Whether its plan lets it begin later; what comes behind it in its queue does not wait for that."""
    committed: bool = False
    """Whether commit 1 stands: before it nothing goes to the arm."""
    confirmed: bool = False
    """Somebody confirmed it: its age does not matter."""
    fatal_reads: int = 0
    """How often the service ended while it read back a change that was given up."""
    reply_follows: bool = False
    """Whether its last reply is published behind its event: both are marked as published with the reply."""
    replied: Stage | None = None
    """The stage of the reply already given to the first request."""
    told: Callable[["ChangeJob", Reply], None] | None = None
    """Hears what would be answered, where no request of its own asks for it: a row of a plan."""
    waiters: list[Waiter] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    overtaken: list[tuple[Message, Setter]] = field(default_factory=list)
    """What an earlier run may have written before it to the same slot, oldest first, and who set it."""

    @property
    def idles(self) -> bool:
        """Whether it waits until its arm is idle, unless somebody confirmed it."""
        return self.terms is not None and self.terms.when_idle and not self.confirmed

    @property
    def stamp(self) -> Stamp:
        """Who sets what it asks for, when, and with which recipe."""
        author, terms = self.author, self.terms
        recipe = "" if terms is None else terms.recipe
        return Stamp(f"{author.user}/{author.connection}", self.at_us, recipe)

    @property
    def awaited(self) -> bool:
        """Whether anybody waits to hear how far it got."""
        return bool(self.waiters) or self.told is not None

    @property
    def places(self) -> tuple[Slot, ...]:
        """The slots that it changes."""
        return (self.slot,)

    @property
    def parts(self) -> Sequence["ChangeJob"]:
        """What is open of it, slot by slot: itself, or steps of it."""
        return (self,)

    @property
    def current(self) -> "ChangeJob":
        """What may be with the arm at this moment: itself, or the step that it is at."""
        return self

    def of_slot(self, slot: Slot) -> "ChangeJob | None":
        """What it still does to a slot: itself, or a step of it; None for a slot that it leaves alone."""
        return self if slot == self.slot else None

    @property
    def record(self) -> bytes | None:
        """What the store keeps of its value."""
        return pack(self.wanted) if self.wanted is not None else None


class ContactJob(msgspec.Struct, eq=False):
    """Connect (where `connect`), describe and read everything again; a `quiet` one tells of nothing but differences."""

    connect: bool
    why: str
    quiet: bool = False


class FollowJob(msgspec.Struct, eq=False):
    """The arm changed a slot by itself: read it."""

    slot: Slot
    event: int
    connection: str


class ForwardJob(msgspec.Struct, eq=False):
    """An event that the arm raised and that carries no value of ours."""

    event: int
    connection: str


def common_of(request: Request, *, n: int, request_n: int, expires: float) -> dict[str, Any]:
    """What a change has of its request, whatever it changes."""
    return {
        "n": n, "request_n": request_n, "rev": 0, "author": request.author, "request_id": request.request_id,
        "method": request.method, "reason": request.envelope.reason, "expires": expires, "at_us": request.at_us,
        "terms": terms_of(request),
    }  # fmt: skip


def terms_of(request: Request) -> Terms | None:
    """What belongs to a change beside its value: its end, counted from acceptance, and whether it waits for idle."""
    envelope = request.envelope
    if envelope.valid_for_ms is not None:
        until_us = request.at_us + envelope.valid_for_ms * 1_000
    else:
        until_us = envelope.until_us or 0
    idle = envelope.when is When.IDLE
    return Terms(until_us=until_us, when_idle=idle) if until_us or idle else None


def job_of(request: Request, outcome: Proposal, *, n: int, request_n: int, expires: float) -> ChangeJob:
    """The change of one slot that a request asks for, as it was decided."""
    envelope, user, conn = request.envelope, request.user, request.conn
    ends = envelope.valid_for_ms is not None or envelope.until_us is not None
    terms = terms_of(request) if ends or envelope.when else None
    if outcome.named is not None:
        terms = msgspec.structs.replace(terms or Terms(), named=sorted(outcome.named))
    return ChangeJob(  # by place where that is clear: a call with more than 15 names costs five times as much
        n, request_n, 0, outcome.slot, ITEMS[outcome.slot[0]], outcome.verb, outcome.value, outcome.loosening,
        unchanged=outcome.unchanged and not ends, author=Author(user, conn, request.identity == PROVEN), terms=terms,
        request_id=f"{user}/{conn}/{request.id}", method=request.method, reason=envelope.reason, expires=expires,
        at_us=request.at_us, warnings=outcome.warnings, named=outcome.named,
    )  # fmt: skip


Job = ChangeJob | ContactJob | FollowJob | ForwardJob
