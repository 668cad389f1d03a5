"""What one transaction will hold, gathered on the event loop."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sized
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec

from broker.life import State
from broker.store.rows import (
    ArmRow,
    ChangeRow,
    ChangeUpdate,
    EventRow,
    FirstRow,
    GroundRow,
    HandleRow,
    ItemRow,
    OverrideRow,
    RecipeRow,
    RequestRow,
    RequestUpdate,
)

RequestKey = tuple[str, str, str]
"""User, connection and id of a request."""
SlotKey = tuple[str, str, int]
"""Arm, item and mode."""
_AT_US, _SETTLED_AT_US = attrgetter("at_us"), attrgetter("settled_at_us")


MOST_LATE, MOST_LATE_SLOTS = 4096, 512
"""So many rows of arms and slots are late at most, each as often as it was written; and so many slots: each may lie in
a page of its own."""


class Late:
    """The rows of arms and slots that are committed, but not written in their own tables yet."""

    __slots__ = ("arms", "count", "items")

    def __init__(self) -> None:
        self.arms: dict[str, ArmRow] = {}
        self.items: dict[SlotKey, ItemRow] = {}
        self.count = 0

    def takes(self, arms: Sized, items: Sized) -> bool:
        """Whether these may be late, too."""
        slots = len(items)
        return self.count + len(arms) + slots <= MOST_LATE and len(self.items) + slots <= MOST_LATE_SLOTS

    def add(self, arms: Mapping[str, ArmRow], items: Mapping[SlotKey, ItemRow]) -> None:
        """These are the last ones now; adding them again changes nothing but the count."""
        self.arms.update(arms)
        self.items.update(items)
        self.count += len(arms) + len(items)


class Journal:
    """Requests, changes, events and audit entries of a batch: added once, ended later."""

    def __init__(self) -> None:
        self.requests: dict[int, RequestRow] = {}
        self.request_numbers: dict[RequestKey, int] = {}
        self.request_updates: dict[int, RequestUpdate] = {}
        self.replies: set[int] = set()
        self.changes: dict[int, ChangeRow] = {}
        self.change_updates: dict[int, ChangeUpdate] = {}
        self.events: dict[int, EventRow] = {}
        self.reopened: dict[int, tuple[int, bytes | None]] = {}
        self.published_seqs: dict[str, int] = {}
        self.audits: list[bytes] = []
        self.last_time_us = 0
        """A time that the file is told of, beside those of the rows."""

    def add_request(self, row: RequestRow) -> None:
        """Remember a request; ValueError when its (user, conn, id) is in the batch already."""
        key = (row.user, row.conn, row.id)
        if key in self.request_numbers:
            raise ValueError(f"request {'/'.join(key)} is already in the batch")
        self.request_numbers[key] = row.n
        self.requests[row.n] = row

    def update_request(self, update: RequestUpdate) -> None:
        """Give a request a new outcome, in the batch of its change if that ends; the last update of the batch wins."""
        self.request_updates[update.n] = update

    def reply_published(self, n: int) -> None:
        """A reply that went without an event is no longer owed; wins over every update in the same batch."""
        self.replies.add(n)

    def add_change(self, row: ChangeRow) -> None:
        """Store a change; the request that asks for it, if any, has its number."""
        self.changes[row.n] = row

    def reopen_change(self, n: int, rev: int, before: bytes | None) -> None:
        """A change that was committed takes a revision after all; what was there before it."""
        self.reopened[n] = (rev, before)

    def update_change(self, update: ChangeUpdate) -> None:
        """Say how far a change got; the last update of the batch wins."""
        self.change_updates[update.n] = update

    def add_event(self, row: EventRow) -> None:
        """Store an event, with the change that has its number, if any; ValueError when that has one already."""
        if row.n in self.events:
            raise ValueError(f"{row.n} has an event already")
        self.events[row.n] = row

    def mark_published(self, arm: str, seq: int) -> None:
        """The MQTT server took the arm's events up to `seq`, and the replies of their changes."""
        self.published_seqs[arm] = max(seq, self.published_seqs.get(arm, 0))

    def audit(self, entry: bytes) -> None:
        """Append an entry to the audit chain."""
        self.audits.append(entry)

    def latest_us(self) -> int:
        """The latest time in it."""
        asked, done = map(_AT_US, self.requests.values()), map(_SETTLED_AT_US, self.change_updates.values())
        begun, told = map(_AT_US, self.changes.values()), map(_AT_US, self.events.values())
        latest_us: int = max(chain((self.last_time_us,), asked, begun, told, done))
        return latest_us

    def few(self, most: int) -> bool:
        """Whether so few requests, changes and ends of changes are in it."""
        return len(self.requests) + len(self.changes) + len(self.change_updates) <= most

    def latest(self, row: RequestRow) -> RequestRow:
        """The request as it will be once this batch is committed."""
        update = self.request_updates.get(row.n)
        if update is not None:
            row = msgspec.structs.replace(row, outcome=update.outcome, reply_open=update.reply_open, rev=update.rev)
        change = self.change_updates.get(row.n) or self.changes.get(row.n)
        if change is not None:
            row = msgspec.structs.replace(row, settled=change.state == State.SETTLED)
        return msgspec.structs.replace(row, reply_open=False) if row.n in self.replies else row


class FleetRows(Journal):
    """Rows of the operations of a fleet."""

    def __init__(self) -> None:
        super().__init__()
        self.grounds: dict[SlotKey, GroundRow | None] = {}
        self.overrides: dict[tuple[str, int], OverrideRow | None] = {}
        self.recipes: dict[tuple[str, int], RecipeRow | None] = {}
        self.put: dict[str, dict[Hashable, Any]] = {}
        """Rows of all other tables, by the names of these and by their keys."""

    def put_ground(self, slot: SlotKey, value: bytes | None) -> None:
        """Keep the ground of a slot, or (None) keep it no longer; the last one of the batch wins."""
        self.grounds[slot] = None if value is None else GroundRow(arm=slot[0], key=slot[1], mode=slot[2], value=value)

    def put_override(self, arm: str, rev: int, body: bytes | None) -> None:
        """Keep an override, or (None) keep it no longer; the last one of the batch wins."""
        self.overrides[arm, rev] = None if body is None else OverrideRow(arm=arm, rev=rev, body=body)

    def put_recipe(self, name: str, version: int, row: RecipeRow | None) -> None:
        """Keep a version of a recipe, or (None) keep it no longer; the last one of the batch wins."""
        self.recipes[name, version] = row

    def put_row(self, table: str, key: Hashable, row: Any) -> None:
        """Insert or replace a row, as its table takes it (`tables.TABLES`); the last one of the batch wins."""
        self.put.setdefault(table, {})[key] = row


class Batch(FleetRows):
    """Rows of one transaction, and what to call when it is committed."""

    def __init__(self) -> None:
        super().__init__()
        self.arms: dict[str, ArmRow] = {}
        self.items: dict[tuple[str, str, int], ItemRow] = {}
        self.dropped_handles: list[int] = []
        self.epochs: set[int] = set()
        self.changed_arms: dict[str, Callable[[], ArmRow]] = {}
        """Makes the row of an arm as it stands when the batch is handed over."""
        self.changed_slots: dict[SlotKey, Callable[[SlotKey], ItemRow]] = {}
        """The same of a slot."""
        self.made: Any = None
        """Its rows as the writer executes them (`statements.Made`), once it is handed over."""
        self.first_callbacks: list[Callable[[], None]] = []
        self.callbacks: list[Callable[[], None]] = []
        self.tellings: list[Any] = []
        """What is told after the commit, behind all callbacks and in this order: events and replies."""

    def put_arm(self, row: ArmRow) -> None:
        """Insert or replace an arm; the last one of the batch wins."""
        self.arms[row.arm] = row

    def put_item(self, row: ItemRow) -> None:
        """Insert or replace a slot of an arm; the last one of the batch wins."""
        self.items[row.arm, row.key, row.mode] = row

    def make_rows(self) -> None:
        """Make the rows of what changed; called once, when nothing more is put into the batch."""
        for arm, make_arm in self.changed_arms.items():
            self.arms[arm] = make_arm()
        for slot, make_item in self.changed_slots.items():
            self.items[slot] = make_item(slot)
        self.changed_arms, self.changed_slots = {}, {}

    def put_first(self, row: FirstRow) -> None:
        """Keep what was adopted of a slot; the last one of the batch wins."""
        self.put_row("first_value", (row.arm, row.key, row.mode), row)

    def raise_epoch(self, epoch: int) -> None:
        """Never number anything below this epoch any more."""
        self.epochs.add(epoch)

    def put_handle(self, row: HandleRow) -> None:
        """Insert or replace a handle."""
        self.put_row("handle", row.identifier, row)

    def latest_us(self) -> int:
        """The latest time in it."""
        handles: Iterable[HandleRow] = self.put.get("handle", {}).values()
        return max([super().latest_us(), *(row.last_seen_us for row in handles)])

    def drop_handle(self, identifier: int) -> None:
        """Remove a handle; harmless when there is none."""
        self.put.get("handle", {}).pop(identifier, None)
        self.dropped_handles.append(identifier)

    def put_principal(self, name: str, number: int) -> None:
        """Give a user (`user:<u>`) or connection (`conn:<u>/<c>`) its number, for good."""
        self.put_row("principal", name, (name, number))

    def set_meta(self, key: str, value: str) -> None:
        """Keep a small value under a key of the caller's own."""
        self.put_row("meta", key, (key, value))

    def on_commit(self, callback: Callable[[], None]) -> None:
        """Call back on the event loop after the commit, in order; never when the batch failed."""
        self.callbacks.append(callback)

    def before_next(self, callback: Callable[[], None]) -> None:
        """As `on_commit`, but before the next batch is handed over: what it puts into that is not late."""
        self.first_callbacks.append(callback)

    @property
    def weight(self) -> int:
        """Number of rows to write."""
        parts: tuple[Sized, ...] = (
            self.requests, self.request_updates, self.replies, self.changes, self.change_updates, self.events,
            self.published_seqs, self.audits, self.arms, self.items, self.dropped_handles, self.epochs, self.grounds,
            self.overrides, self.reopened, self.recipes, self.changed_arms, self.changed_slots,
            *self.put.values(),
        )  # fmt: skip
        return sum(map(len, parts))

    @property
    def due(self) -> bool:
        """Whether there is anything to commit or to call back."""
        return bool(self.callbacks or self.tellings or self.first_callbacks or self.weight)
