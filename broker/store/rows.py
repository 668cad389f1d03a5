"""Rows of the store. Times are µs since 1970, blobs opaque bytes that the caller encoded."""

from collections.abc import Sequence

import msgspec

from broker.life import State
from schema.envelope import Warned


class Damage(msgspec.Struct, frozen=True, order=True):
    """A row that is not what was written: its table, its arm ("" if none, or not known), its key, what is wrong."""

    table: str
    arm: str
    key: str
    what: str


class ArmRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One arm: its counters, and what was read of it. `published_seq` is moved by `Batch.mark_published` alone.

    `heads` is the last seq of each topic of its events, as a JSON object. Changes without an end may have higher
    numbers: see ChangeRow.
    """

    arm: str
    rev: int = 0
    seq: int = 0
    cmd_seq: int = 0
    published_seq: int = 0
    adopted: bool = False
    serial: str = ""
    description: bytes = b""
    read_at_us: int = 0
    mode_seen_at_us: int = 0
    heads: bytes = b"{}"


class ItemRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One slot of an arm: desired with the revision it comes from, last revision that touched it, and reported.

    `set_by` says who set both, number by number. What changes without an end ask for may be missing: it counts where
    their revision is above `last_rev`.
    """

    arm: str
    key: str
    mode: int = 0
    desired: bytes = b""
    desired_rev: int = 0
    last_rev: int = 0
    reported: bytes = b""
    set_by: bytes = b""


class FirstRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What was adopted of a slot that the arm itself cannot reset."""

    arm: str
    key: str
    mode: int = 0
    value: bytes = b""


class GroundRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is desired of a slot without the overrides that are live there, or whose return is owed."""

    arm: str
    key: str
    mode: int = 0
    value: bytes = b""


class OverrideRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One override, live or owing its return, named by its revision; it has no row once it is over."""

    arm: str
    rev: int
    body: bytes = b""


class RequestRow(msgspec.Struct, kw_only=True, gc=False):
    """One remembered request; (user, conn, id) is unique. The change that it asks for has its number.

    `address` and `correlation` say where the reply goes, `reply_open` that it is owed: until the event of its change is
    published, or else `Batch.reply_published`. `settled`: `outcome` is the last one; of a request with a change that is
    what the change says.
    """

    n: int
    user: str
    conn: str
    id: str
    fingerprint: bytes
    arm: str
    method: str
    at_us: int
    address: str = ""
    correlation: bytes = b""
    codec: str = ""
    outcome: bytes = b""
    settled: bool = False
    reply_open: bool = False
    rev: int = 0
    key: int = 0
    """What it is found by (`job.key_of`), where somebody reckoned it already; 0 elsewhere."""


class RequestUpdate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The new outcome of request `n`, whose change says whether it is the last one.

    `applied_rev` above 0: the outcome tells that the change took effect, with this revision and `warnings`, and nothing
    more that its row does not say at its end; it is put together when it is read (`outcome.applied`).
    """

    n: int
    outcome: bytes
    reply_open: bool
    rev: int
    applied_rev: int = 0
    warnings: tuple[Warned, ...] = ()


class Terms(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What belongs to a change beside value, author and request; a new field is appended."""

    until_us: int = 0
    """The end of an override, µs since 1970; 0 of a change for good."""
    recipe: str = ""
    """`name@version`."""
    plan: int = 0
    approved_by: str = ""
    returned_from: int = 0
    """The revision of the override whose end this change is."""
    ground: bytes | None = None
    """What was to be in force without overrides, where that is not what the change says."""
    when_idle: bool = False
    named: Sequence[str] | None = None
    """The parts of its value that it asks for itself; None: the whole."""


class ChangeRow(msgspec.Struct, frozen=True, gc=False):
    """One change, as it was accepted.

    `rev` 0 takes no revision (unchanged); every other one is unique to its arm, but that entries about administration
    stand at the revision they found.
    `expires_us` 0: never. `starts` counts the starts after an unclean end that found it unsettled; it stands
    elsewhere.
    """

    n: int
    arm: str
    rev: int
    verb: str
    key: str
    at_us: int
    user: str
    conn: str
    mode: int = 0
    before: bytes | None = None
    after: bytes | None = None
    state: str = State.ACCEPTED
    epoch: int = 0
    cmd_seq: int = 0
    expires_us: int = 0
    loosening: bool = False
    proven: bool = False
    request_id: str = ""
    method: str = ""
    reason: str = ""
    warnings: bytes = b""
    terms: Terms | None = None
    starts: int = 0


class ChangeUpdate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is known of change `n` now; `outcome`, `seq` and `settled_at_us` stay empty until it is settled.

    `after` True: as it was accepted.
    """

    n: int
    state: str
    epoch: int = 0
    cmd_seq: int = 0
    after: bytes | bool | None = None
    outcome: str = ""
    seq: int = 0
    settled_at_us: int = 0
    ground: bytes | None = None
    """What is there without overrides, where some parts of the value are overridden."""
    before: bytes | None = None
    """What it found, where its event does not tell that and it is not what was there when it was accepted."""


class PastChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One entry of an arm's history."""

    arm: str
    rev: int
    seq: int
    at_us: int
    settled_at_us: int
    user: str
    conn: str
    proven: bool
    request_id: str
    method: str
    key: str
    mode: int
    before: bytes | None
    after: bytes | None
    reason: str
    state: str
    outcome: str
    loosening: bool = False
    terms: Terms | None = None
    ground: bytes | None = None


class EventParts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What the event of a change says beside what its row says: values as bytes of `blobs.pack`.

    Where a value is that of its change, True stands for it in the file.
    """

    event: str
    cause: str
    stage: str
    reason: str = ""
    mode: int | None = None
    before: bytes | bool | None = None
    after: bytes | bool | None = None
    slotted: bool = False
    """Whether it tells of the slot."""

    def resolved(self, change: ChangeRow) -> "EventParts":
        """With the values themselves."""
        if self.before is not True and self.after is not True:
            return self
        before = change.before if self.before is True else self.before
        after = change.after if self.after is True else self.after
        return msgspec.structs.replace(self, before=before, after=after)


class EventRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event; `seq` counts from 1 without gap in its arm, `prev` is the seq before it on `topic` (0 = none).

    `n` is that of its change, or its own. It has a body, or `parts` that its body is made of when it is read.
    """

    n: int
    arm: str
    seq: int
    epoch: int
    prev: int
    rev: int
    at_us: int
    topic: str
    body: bytes = b""
    parts: EventParts | None = None


class HandleRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One subscription handle; identifiers count from 1 and are never used twice."""

    identifier: int
    user: str
    conn: str
    arm: str
    topic: str
    created_us: int
    last_seen_us: int
    last_seq: int = 0


class RecipeRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One version of a recipe; one that is not `listed` is kept for arms, or without a body for its number alone."""

    name: str
    version: int
    body: bytes
    digest: str = ""
    note: str = ""
    user: str = ""
    conn: str = ""
    proven: bool = False
    at_us: int = 0
    listed: bool = True


class PlanRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One plan; `settled`: it has ended, and nothing more becomes of any of its rows. `reply_to` says who asked.

    `asked` never changes; `kind`, `user` and `at_us` stand in it, too, and `state` in `progress`.
    """

    n: int
    request_n: int
    kind: str
    state: str
    settled: bool = False
    user: str
    at_us: int
    asked: bytes
    progress: bytes
    reply_to: bytes = b""


class PlanArmRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One arm of a plan that has begun: the change of that number is its own, if it has one, and its revision."""

    plan_n: int
    arm: str
    state: str
    final: bool = False
    rev: int = 0
    seq: int = 0
    change_n: int = 0
    job_rev: int = 0
    error: bytes = b""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the service needs at a start.

    `damages` are rows that were not what was written: they are left out. `epoch` is the new one, already committed.
    `open_changes` and `open_requests`, those of them that somebody asked for, are in the order of their `n`.
    `plans` are those that are not settled, with all of their rows.
    """

    epoch: int
    last_time_us: int
    clean: bool
    arms: list[ArmRow]
    items: list[ItemRow]
    firsts: list[FirstRow]
    grounds: list[GroundRow]
    overrides: list[OverrideRow]
    open_changes: list[ChangeRow]
    open_requests: list[RequestRow]
    handles: list[HandleRow]
    plans: list[tuple[PlanRow, list[PlanArmRow]]]
    recipes: list[RecipeRow]
    principals: dict[str, int]
    meta: dict[str, str]
    next_n: int
    next_handle: int
    damages: list[Damage]


class HistoryPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of an arm's history, newest first; `more` when older entries in range were left out.

    `missing` are revisions in its range that are damaged.
    """

    changes: list[PastChange]
    more: bool
    missing: list[int]


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of an arm's events, oldest first; `first_seq` and `head_seq` of all that is held (0 = none).

    `missing` are ranges of seq (both ends included) in its range that are held no longer, or damaged.
    """

    events: list[EventRow]
    missing: list[tuple[int, int]]
    requests: dict[int, RequestRow]
    """By the seq of the event that a reply goes with."""
    first_seq: int
    head_seq: int
    more: bool


class Purged(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows a purge removed or left only what the history tells of, and how many of those it removed later."""

    forgotten: int
    removed: int
