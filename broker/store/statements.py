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
from typing import Any, NamedTuple

from broker.store.batch import Batch
from broker.store.digest import FIXED_COLUMNS, STATE_COLUMNS, audit_hash, row_hash
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

Values = tuple[Any, ...]
"""Bound values of one row."""


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


_ARM_COLUMNS = tuple(name for name in ArmRow.__struct_fields__ if name not in {"published_seq", "description"})
_CHANGE_COLUMNS = (*ChangeRow.__struct_fields__, "outcome", "seq", "settled_at_us", "row_hash", "state_hash")

PUT_PRINCIPAL = _insert("principal", ("name", "number"))
PUT_ARM = _replace("arm", _ARM_COLUMNS)
PUT_DESCRIPTION = _replace("description", ("arm", "description"))
PUT_ITEM = _replace("item", ItemRow.__struct_fields__)
ADD_REQUEST = _insert("request", RequestRow.__struct_fields__)
UPDATE_REQUEST = _update("request", ("outcome", "settled", "reply_open", "rev"), ("n",))
REPLY_PUBLISHED = Statement("UPDATE request SET reply_open = 0 WHERE n IN (", "?", ")")
ADD_CHANGE = _insert("change", _CHANGE_COLUMNS)
UPDATE_CHANGE = _update("change", (*STATE_COLUMNS[1:], "state_hash"), ("n",))
ADD_EVENT = _insert("event", EventRow.__struct_fields__)
PUT_TOPIC_HEAD = _replace("topic_head", ("arm", "topic", "seq"))
PUBLISHED = _replace("published", ("arm", "seq"))
PUT_HANDLE = _insert(
    "handle",
    HandleRow.__struct_fields__,
    " ON CONFLICT (identifier) DO UPDATE SET last_seen_us = excluded.last_seen_us, last_seq = excluded.last_seq",
)
TOUCH_HANDLES = _update("handle", ("last_seen_us",), ("user", "conn"))
DROP_HANDLE = Statement("DELETE FROM handle WHERE identifier IN (", "?", ")")
PUT_FIRST = _replace("first_value", FirstRow.__struct_fields__)
SET_META = _replace("meta", ("key", "value"))
ADD_AUDIT = _insert("audit", ("n", "prev", "entry", "hash"))
RAISE_EPOCH = "UPDATE service SET epoch = max(epoch, ?)"
COUNT = "UPDATE service SET commits = commits + 1, last_time_us = max(last_time_us, ?) RETURNING store, epoch, commits"
"""Ends every transaction that writes; takes the latest time in it."""

_SIZES = (64, 16, 4, 1)
"""Rows of one statement; each size of each kind is prepared once."""
_text = cache(Statement.text)

_fixed = attrgetter(*FIXED_COLUMNS)
_state = attrgetter(*STATE_COLUMNS)
_handle = attrgetter(*HandleRow.__struct_fields__)


class BatchWriter:
    """Executes batches on one connection and keeps what the next one builds on.

    `descriptions` are those in the file: they are long and rarely change, so only a new one is written.
    """

    def __init__(self, connection: sqlite3.Connection, head: AuditHead) -> None:
        self._connection = connection
        self.head = head
        self.descriptions: dict[str, bytes] = {}

    def write(self, batch: Batch) -> None:
        """Execute the batch inside the open transaction; after an error only a new writer may go on."""
        for statement, rows in self._statements(batch):
            self._execute(statement, rows)
        if batch.epochs:
            self._connection.execute(RAISE_EPOCH, (max(batch.epochs),))

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
            (PUT_PRINCIPAL, list(batch.principals.items())),
            (PUT_ARM, [_arm(row) for row in batch.arms.values()]),
            (PUT_DESCRIPTION, self._new_descriptions(batch)),
            (PUT_ITEM, [_item(row) for row in batch.items.values()]),
            (ADD_REQUEST, [_request(row) for row in batch.requests.values()]),
            (UPDATE_REQUEST, [_request_update(update) for update in batch.request_updates.values()]),
            (REPLY_PUBLISHED, [(n,) for n in batch.replies]),
            (ADD_CHANGE, [_change(row) for row in batch.changes]),
            (UPDATE_CHANGE, [_change_update(update) for update in batch.change_updates.values()]),
            (ADD_EVENT, [_event(row) for row in batch.events]),
            (PUT_TOPIC_HEAD, [(arm, topic, seq) for (arm, topic), seq in heads.items()]),
            (PUBLISHED, list(batch.published_seqs.items())),
            (PUT_HANDLE, [_handle(row) for row in batch.handles.values()]),
            (TOUCH_HANDLES, [(at_us, user, conn) for (user, conn), at_us in batch.touched.items()]),
            (DROP_HANDLE, [(identifier,) for identifier in batch.dropped_handles]),
            (SET_META, list(batch.meta.items())),
            (PUT_FIRST, [(row.arm, row.key, row.mode, bytearray(row.value)) for row in batch.firsts.values()]),
            (ADD_AUDIT, self._chained(batch.audits)),
        )

    def _new_descriptions(self, batch: Batch) -> list[Values]:
        known = self.descriptions
        new = [row for row in batch.arms.values() if known.get(row.arm) != row.description]
        known.update((row.arm, row.description) for row in new)
        return [(row.arm, bytearray(row.description)) for row in new]

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


def _arm(row: ArmRow) -> Values:
    return (row.arm, row.rev, row.seq, row.cmd_seq, +row.adopted, row.serial, row.read_at_us, row.mode_seen_at_us)


def _item(row: ItemRow) -> Values:
    desired, reported = bytearray(row.desired), bytearray(row.reported)
    return (row.arm, row.key, row.mode, desired, row.desired_rev, row.last_rev, reported, bytearray(row.set_by))


def _request(row: RequestRow) -> Values:
    return (
        row.n, row.user, row.conn, row.id, bytearray(row.fingerprint), row.arm, row.method, row.at_us, row.address,
        bytearray(row.correlation), row.codec, bytearray(row.outcome), +row.settled, +row.reply_open, row.rev,
    )  # fmt: skip


def _request_update(update: RequestUpdate) -> Values:
    return (bytearray(update.outcome), +update.settled, +update.reply_open, update.rev, update.n)


def _change(row: ChangeRow) -> Values:
    state = (row.n, row.state, row.epoch, row.cmd_seq, row.after, "", 0, 0)
    return (
        row.n, row.request_n, row.arm, row.rev, row.verb, row.key, row.mode, _blob(row.before), _blob(row.after),
        row.state, row.epoch, row.cmd_seq, row.at_us, row.expires_us, +row.loosening, row.user, row.conn, +row.proven,
        row.request_id, row.method, row.reason, row.starts, "", 0, 0,
        bytearray(row_hash(_fixed(row))), bytearray(row_hash(state)),
    )  # fmt: skip


def _change_update(update: ChangeUpdate) -> Values:
    return (
        update.state, update.epoch, update.cmd_seq, _blob(update.after), update.outcome, update.seq,
        update.settled_at_us, bytearray(row_hash(_state(update))), update.n,
    )  # fmt: skip


def _event(row: EventRow) -> Values:
    return (row.arm, row.seq, row.epoch, row.prev, row.rev, row.at_us, row.topic, bytearray(row.body))


def _blob(value: bytes | None) -> bytearray | None:
    return None if value is None else bytearray(value)
