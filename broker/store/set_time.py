"""Puts the time of a store right that a wrong clock wrote."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from broker.store.anchor import AnchorFile
from broker.store.audit import counts
from broker.store.batch import Batch
from broker.store.errors import StoreError, StoreTimeError, store_error
from broker.store.history import check_history, own_anchor
from broker.store.lock import DirectoryLock
from broker.store.restored import operator
from broker.store.rows import HandleRow
from broker.store.schema import connect, migrate
from broker.store.seals import agrees, all_rows, selected
from broker.store.service_row import read_service, write_service
from broker.store.statements import BatchWriter
from broker.store.tables import HANDLE
from broker.store.transaction import transaction
from schema.codecs.times import format_time

SURE_KEY = "clock/sure_since_us"
"""The key among the small values of the time since which ages are known."""
FILE = "store.sqlite3"


def set_time(directory: Path, time_us: int) -> int:
    """Let the store of a directory have reached `time_us` and no later time; blocks; the time that it had told.

    Rows keep their times. Ages from before are unknown from now on; locks that would end after the time that is taken
    back end as much earlier.

    Raises:
        StoreLockedError: a service runs on it.
        HistoryLostError: it knows less than its anchor.
        StoreTimeError: it has not told a later time.
        StoreError: it cannot be read or written.
    """
    path = directory / FILE
    if not path.exists():
        raise StoreTimeError(f"{path} does not exist")
    lock = DirectoryLock(directory)
    try:
        generation, _ = check_history(directory, path)
        with closing(connect(path)) as connection:
            migrate(connection, path)
            before_us = _set(connection, path, time_us)
            AnchorFile(directory, own_anchor(connection), generation).close()
    except (sqlite3.Error, OSError) as error:
        raise store_error(error) from error
    finally:
        lock.release()
    return before_us


def _set(connection: sqlite3.Connection, path: Path, time_us: int) -> int:
    row = read_service(connection)
    if row is None:
        raise StoreError(f"{path}: the row of the service is damaged; start the service, which mends it")
    before_us = counts(connection).last_time_us
    if time_us >= before_us:
        raise StoreTimeError(
            f"{path} has told no later time than {format_time(before_us)}: "
            f"{format_time(time_us)} need not be set, the service goes on from there by itself"
        )
    batch = _corrections(connection, before_us, time_us)
    entry = {"at": time_us, "decision": "time_set", "before": format_time(before_us), "by": operator()}
    batch.audit(msgspec.json.encode(entry))
    with transaction(connection):
        BatchWriter(connection, last_time_us=time_us).write(batch)
        write_service(connection, msgspec.structs.replace(row, last_time_us=time_us))
    return before_us


def _corrections(connection: sqlite3.Connection, before_us: int, time_us: int) -> Batch:
    """What else lies in the time that is taken back: locks, and when connections were seen."""
    batch = Batch()
    batch.set_meta(SURE_KEY, str(time_us))
    for key, value in connection.execute("SELECT key, value FROM meta WHERE key LIKE 'hold/%'").fetchall():
        hold = msgspec.json.decode(value) if value else {}
        if hold and hold.get("until_us", 0) > before_us:
            hold["until_us"] -= before_us - time_us
            batch.set_meta(key, msgspec.json.encode(hold).decode())
    columns = selected(HANDLE)
    for values in all_rows(connection, f"SELECT {columns} FROM handle WHERE last_seen_us > ?", (time_us,)):  # noqa: S608 - constants
        if agrees(HANDLE, values):
            handle = HandleRow(**dict(zip(HANDLE.columns, values, strict=False)))
            batch.put_handle(msgspec.structs.replace(handle, last_seen_us=time_us))
    return batch
