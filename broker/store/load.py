"""What a start reads, and the marks it leaves."""

import sqlite3
from typing import TypeVar

import msgspec

from broker.store.reader import columns, make_event, make_request, maker
from broker.store.rows import ArmRow, ChangeRow, EventRow, FirstRow, HandleRow, ItemRow, Loaded, RequestRow

R = TypeVar("R", bound=msgspec.Struct)

# ruff: noqa: S608 - every statement is built from constants
_ARMS = (
    "SELECT arm, rev, arm.seq, cmd_seq, coalesce(published.seq, 0), adopted, serial, "
    "coalesce(description, x''), read_at_us, mode_seen_at_us "
    "FROM arm LEFT JOIN published USING (arm) LEFT JOIN description USING (arm) ORDER BY arm"
)
_OPEN_REQUESTS = f"SELECT {columns(RequestRow)} FROM request WHERE settled = 0 OR reply_open = 1 ORDER BY n"
_OPEN_CHANGES = f"SELECT {columns(ChangeRow)} FROM change WHERE state <> 'settled' ORDER BY n"
_UNPUBLISHED = (
    f"SELECT {', '.join(f'event.{name}' for name in EventRow.__struct_fields__)} FROM arm "
    "LEFT JOIN published USING (arm) JOIN event ON event.arm = arm.arm AND event.seq > coalesce(published.seq, 0) "
    "ORDER BY event.arm, event.seq"
)
_NEXT_HANDLE = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'handle'), 0) + 1"


def load(connection: sqlite3.Connection, *, blame: bool = True) -> Loaded:
    """Raise the epoch, count this start on every change under way after an unclean end if `blame`, read the rest.

    Runs inside the caller's transaction.
    """
    epoch, last_time_us, clean = connection.execute("SELECT epoch, last_time_us, clean FROM service").fetchone()
    connection.execute("UPDATE service SET epoch = epoch + 1, clean = 0")
    if blame and not clean:
        connection.execute("UPDATE change SET starts = starts + 1 WHERE state NOT IN ('settled', 'pending', 'held')")
    unpublished: dict[str, list[EventRow]] = {}
    for event in map(make_event, connection.execute(_UNPUBLISHED)):
        unpublished.setdefault(event.arm, []).append(event)
    make_arm, make_change = maker(ArmRow), maker(ChangeRow)
    return Loaded(
        epoch=epoch + 1,
        last_time_us=last_time_us,
        clean=bool(clean),
        arms=[make_arm(values) for values in connection.execute(_ARMS)],
        items=_all(connection, "item", ItemRow),
        firsts=_all(connection, "first_value", FirstRow),
        open_changes=[make_change(values) for values in connection.execute(_OPEN_CHANGES)],
        open_requests=[make_request(values) for values in connection.execute(_OPEN_REQUESTS)],
        unpublished=unpublished,
        handles=_all(connection, "handle", HandleRow),
        principals=dict(connection.execute("SELECT name, number FROM principal")),
        topic_heads={(arm, topic): seq for arm, topic, seq in connection.execute("SELECT * FROM topic_head")},
        meta=dict(connection.execute("SELECT key, value FROM meta")),
        next_request_n=_next(connection, "request"),
        next_change_n=_next(connection, "change"),
        next_handle=connection.execute(_NEXT_HANDLE).fetchone()[0],
    )


def _all(connection: sqlite3.Connection, table: str, row: type[R]) -> list[R]:
    make = maker(row)
    return [make(values) for values in connection.execute(f"SELECT {columns(row)} FROM {table} ORDER BY 1, 2, 3")]


def _next(connection: sqlite3.Connection, table: str) -> int:
    (highest,) = connection.execute(f"SELECT coalesce(max(n), 0) FROM {table}").fetchone()
    return int(highest) + 1
