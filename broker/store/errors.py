"""What ends or refuses a store."""

import errno
import sqlite3

from broker.store.rows import Damage

_OF_NO_ROOM = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN})
"""What SQLite may say of a full disk, but not only of that."""
_PRIMARY_CODE = 0xFF
"""Mask of SQLite's primary result code within the extended one."""

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
REMEDY = "restore the store from a backup"


class StoreError(Exception):
    """Root of the store's errors."""


class StoreLockedError(StoreError):
    """Another process holds the directory."""


class StoreVersionError(StoreError):
    """The file is not ours, or was written by a newer version."""


class StoreFullError(StoreError):
    """The disk is full: nothing of the batch happened. Open the store anew when it can be written again."""


class StoreBrokenError(StoreError):
    """The store can no longer be trusted: end the process, never try again on the same connection."""


class HistoryLostError(StoreBrokenError):
    """The store knows less than its anchor or its arms, so that it would tell other things under the same numbers."""


class BackupError(StoreError):
    """A backup cannot be made, or cannot be used; nothing was changed."""


class StoreTimeError(StoreError):
    """The time of a store cannot be set to this; nothing was changed."""


class RenameRefusedError(StoreError):
    """An arm cannot go on under another name; nothing was changed."""


class RowDamagedError(StoreError):
    """A row is not what was written: it must not be used; everything else can be."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(f"row {damage.key} of {damage.table} is damaged: {damage.what}")
        self.damage = damage


def _primary(error: BaseException) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & _PRIMARY_CODE


def is_damage(error: BaseException) -> bool:
    """Whether SQLite found damaged pages."""
    return _primary(error) in _DAMAGED


def store_error(error: BaseException, *, no_room: bool = False) -> StoreError:
    """What an error met while reading or writing the file means; anything but a full disk breaks the store.

    `no_room` says that nothing is free on the disk: SQLite tells some errors of a full disk as others.
    """
    if isinstance(error, StoreError):
        return error
    primary = _primary(error)
    full = primary == sqlite3.SQLITE_FULL or (no_room and primary in _OF_NO_ROOM)
    if full or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return StoreFullError(f"the store's disk is full: {error}")
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    remedy = f": {REMEDY}" if is_damage(error) else ""
    return StoreBrokenError(f"the store failed: {name}: {error}{remedy}")
