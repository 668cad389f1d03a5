"""The changes of all arms in a store, newest first, also while a service runs on it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from broker.store import job
from broker.store.audit_check import open_database
from broker.store.rows import PastChange

PAGE = 1_000
"""Rows of one read: a longer one would keep the service from shortening its log."""
_TOP = (1 << 63) - 1
_ROWS = f"SELECT {job.SELECT} FROM job WHERE n < ? ORDER BY n DESC LIMIT {PAGE}"  # noqa: S608 - constants


def past_changes(path: Path, since_us: int) -> Iterator[PastChange | None]:
    """What was accepted since a service time in µs and took a revision; None for a row that is damaged.

    Raises:
        sqlite3.Error, OSError: the file cannot be read.
    """
    with closing(open_database(path)) as connection:
        yield from _read(connection, since_us)


def _read(connection: sqlite3.Connection, since_us: int) -> Iterator[PastChange | None]:
    below = _TOP
    while rows := connection.execute(_ROWS, (below,)).fetchall():
        for values in rows:
            if values[job.AT] < since_us:
                return
            if values[job.REV] > 0:
                row = job.Job(values)
                yield row.past() if row.tells else None
        below = rows[-1][job.N]
