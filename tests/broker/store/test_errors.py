"""What errors of the file mean."""

import errno
import sqlite3

import pytest

from broker.store.errors import StoreBrokenError, StoreError, StoreFullError, store_error


def of_sqlite(code: int, name: str) -> sqlite3.Error:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode, error.sqlite_errorname = code, name
    return error


@pytest.mark.parametrize(
    ("error", "no_room", "kind"),
    [
        (of_sqlite(13, "SQLITE_FULL"), False, StoreFullError),
        (OSError(errno.ENOSPC, "No space left on device"), False, StoreFullError),
        (of_sqlite(4874, "SQLITE_IOERR_SHMSIZE"), True, StoreFullError),
        (of_sqlite(778, "SQLITE_IOERR_WRITE"), True, StoreFullError),
        (of_sqlite(14, "SQLITE_CANTOPEN"), True, StoreFullError),
        (of_sqlite(4874, "SQLITE_IOERR_SHMSIZE"), False, StoreBrokenError),
        (of_sqlite(11, "SQLITE_CORRUPT"), True, StoreBrokenError),
        (OSError(errno.EIO, "Input/output error"), True, StoreBrokenError),
        (StoreError("x"), True, StoreError),
    ],
)
def test_a_full_disk_is_told_apart_from_a_broken_one(
    error: BaseException, no_room: bool, kind: type[StoreError]
) -> None:
    found = store_error(error, no_room=no_room)
    assert type(found) is kind
    assert ("full" in str(found)) is (kind is StoreFullError)
