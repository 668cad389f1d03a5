"""The row of the service: its epoch, its last time, the number of its commits; and what stands in for it."""

import sqlite3

import msgspec

from broker.store import job, meta_keys
from broker.store.anchor import Anchor
from broker.store.digest import digest
from broker.store.errors import REMEDY, StoreBrokenError
from broker.store.rows import Damage
from broker.store.seals import DIFFERS, agrees, all_rows, selected
from broker.store.tables import META, SERVICE

_LAST = 100
"""So many of the newest rows tell the last time."""


class Service(msgspec.Struct, frozen=True):
    """The row of the service; the newest row of the audit may count further: `audit.counts`."""

    epoch: int
    last_time_us: int
    clean: bool
    store: str
    commits: int


# ruff: noqa: S608 - every statement is built from constants
def read_service(connection: sqlite3.Connection) -> Service | None:
    """The row; None if it is not what was written."""
    rows = all_rows(connection, f"SELECT {selected(SERVICE)} FROM service")
    if len(rows) != 1 or not agrees(SERVICE, rows[0]):
        return None
    _, epoch, last_time_us, clean, store, commits, _ = rows[0]
    return Service(epoch, last_time_us, bool(clean), store, commits)


def write_service(connection: sqlite3.Connection, row: Service) -> None:
    """Put the row in the place of the one in the file."""
    values = (1, row.epoch, row.last_time_us, +row.clean, row.store, row.commits)
    marks = ", ".join("?" * (len(values) + 1))
    connection.execute(
        f"REPLACE INTO service ({selected(SERVICE)}, test_writes) VALUES ({marks}, 0)", (*values, digest(values))
    )


def mend_service(connection: sqlite3.Connection, anchor: Anchor | None) -> list[Damage]:
    """Make a damaged row anew of the anchor and the second place of the epoch; what was damaged.

    Raises:
        StoreBrokenError: neither of them is there.
    """
    if read_service(connection) is not None:
        return []
    known = [] if anchor is None else [anchor.epoch]
    known += [int(text) for text in [_second_epoch(connection)] if text.isdecimal()]
    if not known or anchor is None:
        raise StoreBrokenError(f"the row of the service is damaged, and so is what could stand in for it: {REMEDY}")
    row = Service(max(known), _last_time_us(connection), clean=False, store=anchor.store, commits=anchor.commits)
    write_service(connection, row)
    return [Damage(SERVICE.table, "", "1", DIFFERS)]


def _second_epoch(connection: sqlite3.Connection) -> str:
    query = f"SELECT {selected(META)} FROM meta WHERE key = ?"
    rows = all_rows(connection, query, (meta_keys.EPOCH,))
    return next((str(values[1]) for values in rows if agrees(META, values)), "")


def _last_time_us(connection: sqlite3.Connection) -> int:
    """The time of the newest rows."""
    query = f"SELECT {job.SELECT} FROM job ORDER BY n DESC LIMIT {_LAST}"
    return max(
        (values[job.AT] for values in all_rows(connection, query) if job.Job(values).accepted is not None), default=0
    )
