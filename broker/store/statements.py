"""The statements that carry a batch into the file: one per kind of row, many rows in one statement.

Python's sqlite3 lets go of the interpreter's lock for each statement and has to win it back from the event loop, so a
statement takes up to 64 rows. It binds `str`, `int` and `bytearray` directly; `bytes` and `bool` go through its
adapters, at a cost above that of the row itself: hence `bytearray(...)` and `+flag` below.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from broker.store.batch import Batch
from broker.store.digest import audit_hash, digest
from broker.store.rows import (
    ArmRow,
    ChangeRow,
    ChangeUpdate,
    EventRow,
    FirstRow,
    HandleRow,
    ItemRow,
    RequestRow,
    RequestUpdate,
)
from broker.store.seals import (
    ARM_COLUMNS,
    CHANGE_FIXED,
    CHANGE_PROGRESS,
    HASH,
    PROGRESS_HASH,
    Values,
)


class AuditHead(NamedTuple):
    """Number and hash of the last audit entry."""

    n: int
    hash: bytes


class Statement(NamedTuple):
    """A statement for any number of rows: `head`, then `row` for each of them, then `tail`."""

    head: str
    row: str
    tail: str = ""

    def text(self, rows: int) -> str:
        """The SQL for so many rows."""
        return f"{self.head}{', '.join([self.row] * rows)}{self.tail}"


def _marks(count: int) -> str:
    return f"({', '.join('?' * count)})"


def _insert(table: str, columns: Sequence[str], tail: str = "", verb: str = "INSERT") -> Statement:
    return Statement(f"{verb} INTO {table} ({', '.join(columns)}) VALUES ", _marks(len(columns)), tail)


def _replace(table: str, columns: Sequence[str]) -> Statement:
    return _insert(table, columns, verb="REPLACE")


def _update(table: str, columns: Sequence[str], keys: Sequence[str]) -> Statement:
    """Rows hold the new values of `columns`, then those of `keys`."""
    sets = ", ".join(f"{name} = new.column{at}" for at, name in enumerate(columns, 1))
    where = " AND ".join(f"{table}.{name} = new.column{at}" for at, name in enumerate(keys, len(columns) + 1))
    row = _marks(len(columns) + len(keys))
    head = f"UPDATE {table} SET {sets} FROM (VALUES "  # noqa: S608 - constants
    return Statement(head, row, f") AS new WHERE {where}")


PUT_PRINCIPAL = _insert("principal", ("name", "number", HASH))
PUT_ARM = _replace("arm", (*ARM_COLUMNS, HASH))
PUT_DESCRIPTION = _replace("description", ("arm", "description", HASH))
PUT_ITEM = _replace("item", (*ItemRow.__struct_fields__, HASH))
ADD_REQUEST = _insert("request", (*RequestRow.__struct_fields__, HASH, PROGRESS_HASH))
UPDATE_REQUEST = _update("request", ("outcome", "settled", "reply_open", "rev", PROGRESS_HASH), ("n",))
REPLY_PUBLISHED = Statement(
    f"UPDATE request SET {PROGRESS_HASH} = {PROGRESS_HASH} - reply_open, reply_open = 0 WHERE n IN (",  # noqa: S608
    "?",
    ")",
)
ADD_CHANGE = _insert("change", (*CHANGE_FIXED, *CHANGE_PROGRESS.columns[1:], HASH, PROGRESS_HASH))
UPDATE_CHANGE = _update("change", (*CHANGE_PROGRESS.columns[1:], PROGRESS_HASH), ("n",))
ADD_EVENT = _insert("event", (*EventRow.__struct_fields__, HASH))
PUT_TOPIC_HEAD = _replace("topic_head", ("arm", "topic", "seq", HASH))
PUBLISHED = _replace("published", ("arm", "seq", HASH))
PUT_HANDLE = _replace("handle", (*HandleRow.__struct_fields__, HASH))
DROP_HANDLE = Statement("DELETE FROM handle WHERE identifier IN (", "?", ")")
PUT_FIRST = _replace("first_value", (*FirstRow.__struct_fields__, HASH))
SET_META = _replace("meta", ("key", "value", HASH))
ADD_AUDIT = _insert("audit", ("n", "prev", "entry", "hash"))
RAISE_EPOCH = (
    """UPDATE service SET epoch = max(epoch, ?1),
        hash = digest(one, max(epoch, ?1), last_time_us, clean, store, commits)""",
    """UPDATE meta SET value = max(CAST(value AS INTEGER), ?1),
        hash = digest(key, CAST(max(CAST(value AS INTEGER), ?1) AS TEXT)) WHERE key = 'epoch'""",
)
"""Both places where the epoch stands."""
COUNT = """UPDATE service SET commits = commits + 1, last_time_us = max(last_time_us, ?1),
    hash = digest(one, epoch, max(last_time_us, ?1), clean, store, commits + 1)"""
"""Ends every transaction that writes; takes the latest time in it."""

_SIZES = (64, 16, 4, 1)
"""Rows of one statement; each size of each kind is prepared once."""
_text = cache(Statement.text)

_change_fixed = attrgetter(*CHANGE_FIXED)
_update_values = attrgetter(*CHANGE_PROGRESS.columns)
_handle_values = attrgetter(*HandleRow.__struct_fields__)


class BatchWriter:
    """Executes batches on one connection and keeps what the next one builds on.

    `descriptions` are those in the file: they are long and rarely change, so only a new one is written.
    """

    def __init__(self, connection: sqlite3.Connection, head: AuditHead) -> None:
        self._connection = connection
        self.head = head
        self.descriptions: dict[str, bytes] = {}
        self._earlier = head
        self._replaced: dict[str, bytes | None] = {}

    def take_back(self) -> None:
        """Forget the batch that was written last: its transaction was rolled back."""
        self.head = self._earlier
        for arm, description in self._replaced.items():
            if description is None:
                self.descriptions.pop(arm, None)
            else:
                self.descriptions[arm] = description
        self._replaced = {}

    def write(self, batch: Batch) -> None:
        """Execute the batch inside the open transaction; after an error call `take_back`."""
        self._earlier = self.head
        for statement, rows in self._statements(batch):
            self._execute(statement, rows)
        if batch.epochs:
            for text in RAISE_EPOCH:
                self._connection.execute(text, (max(batch.epochs),))

    def _execute(self, statement: Statement, rows: Sequence[Values]) -> None:
        done = 0
        for size in _SIZES:
            while len(rows) - done >= size:
                values = chain.from_iterable(rows[done : done + size])
                self._connection.execute(_text(statement, size), list(values))
                done += size

    def _statements(self, batch: Batch) -> Iterable[tuple[Statement, Sequence[Values]]]:
        heads = {(event.arm, event.topic): event.seq for event in batch.events}
        return (
            (PUT_PRINCIPAL, list(map(_sealed, batch.principals.items()))),
            (PUT_ARM, [_arm(row) for row in batch.arms.values()]),
            (PUT_DESCRIPTION, self._new_descriptions(batch)),
            (PUT_ITEM, [_item(row) for row in batch.items.values()]),
            (ADD_REQUEST, [_request(row) for row in batch.requests.values()]),
            (UPDATE_REQUEST, [_request_update(update) for update in batch.request_updates.values()]),
            (REPLY_PUBLISHED, [(n,) for n in batch.replies]),
            (ADD_CHANGE, [_change(row) for row in batch.changes]),
            (UPDATE_CHANGE, [_change_update(update) for update in batch.change_updates.values()]),
            (ADD_EVENT, [_event(row) for row in batch.events]),
            (PUT_TOPIC_HEAD, [_sealed((arm, topic, seq)) for (arm, topic), seq in heads.items()]),
            (PUBLISHED, list(map(_sealed, batch.published_seqs.items()))),
            (PUT_HANDLE, [_handle(row) for row in batch.handles.values()]),
            (DROP_HANDLE, [(identifier,) for identifier in batch.dropped_handles]),
            (SET_META, list(map(_sealed, batch.meta.items()))),
            (PUT_FIRST, [_first(row) for row in batch.firsts.values()]),
            (ADD_AUDIT, self._chained(batch.audits)),
        )

    def _new_descriptions(self, batch: Batch) -> list[Values]:
        known = self.descriptions
        new = [row for row in batch.arms.values() if known.get(row.arm) != row.description]
        self._replaced = {row.arm: known.get(row.arm) for row in new}
        known.update((row.arm, row.description) for row in new)
        return [(row.arm, bytearray(row.description), digest((row.arm, row.description))) for row in new]

    def _chained(self, entries: list[bytes]) -> list[Values]:
        n, prev = self.head
        rows: list[Values] = []
        for entry in entries:
            n += 1
            new = audit_hash(n, prev, entry)
            rows.append((n, bytearray(prev), bytearray(entry), bytearray(new)))
            prev = new
        self.head = AuditHead(n, prev)
        return rows


def _sealed(values: Values) -> Values:
    """Values without bytes or flags, and their hash."""
    return (*values, digest(values))


def _arm(row: ArmRow) -> Values:
    return _sealed(
        (row.arm, row.rev, row.seq, row.cmd_seq, +row.adopted, row.serial, row.read_at_us, row.mode_seen_at_us)
    )


def _item(row: ItemRow) -> Values:
    arm, key, mode, rev, last, set_by = row.arm, row.key, row.mode, row.desired_rev, row.last_rev, row.set_by
    said = digest((arm, key, mode, row.desired, rev, last, row.reported, set_by))
    return (arm, key, mode, bytearray(row.desired), rev, last, bytearray(row.reported), bytearray(set_by), said)


def _first(row: FirstRow) -> Values:
    return (row.arm, row.key, row.mode, bytearray(row.value), digest((row.arm, row.key, row.mode, row.value)))


def _request(row: RequestRow) -> Values:
    fixed = (
        row.n, row.user, row.conn, row.id, row.fingerprint, row.arm, row.method, row.at_us, row.address,
        row.correlation, row.codec,
    )  # fmt: skip
    return (
        row.n, row.user, row.conn, row.id, bytearray(row.fingerprint), row.arm, row.method, row.at_us, row.address,
        bytearray(row.correlation), row.codec, bytearray(row.outcome), +row.settled, +row.reply_open, row.rev,
        digest(fixed), _request_progress(row),
    )  # fmt: skip


def _request_progress(row: RequestRow | RequestUpdate) -> int:
    return digest((row.n, row.outcome, +row.settled, row.rev)) + row.reply_open


def _request_update(update: RequestUpdate) -> Values:
    said = _request_progress(update)
    return (bytearray(update.outcome), +update.settled, +update.reply_open, update.rev, said, update.n)


def _change(row: ChangeRow) -> Values:
    fixed = tuple(+value if value is True or value is False else value for value in _change_fixed(row))
    progress = (row.n, row.state, row.epoch, row.cmd_seq, row.after, "", 0, 0)
    return (
        *(bytearray(value) if isinstance(value, bytes) else value for value in fixed),
        row.state, row.epoch, row.cmd_seq, _blob(row.after), "", 0, 0, digest(fixed), digest(progress),
    )  # fmt: skip


def _change_update(update: ChangeUpdate) -> Values:
    return (
        update.state, update.epoch, update.cmd_seq, _blob(update.after), update.outcome, update.seq,
        update.settled_at_us, digest(_update_values(update)), update.n,
    )  # fmt: skip


def _event(row: EventRow) -> Values:
    at = (row.arm, row.seq, row.epoch, row.prev, row.rev, row.at_us, row.topic)
    return (*at, bytearray(row.body), digest((*at, row.body)))


def _handle(row: HandleRow) -> Values:
    return _sealed(_handle_values(row))


def _blob(value: bytes | None) -> bytearray | None:
    return None if value is None else bytearray(value)
