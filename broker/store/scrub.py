"""Checks of what SQLite does not see: at the start within bounds, the rest in the background at a slow pace."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path

from broker.store.audit import audit_head, check_audit
from broker.store.digest import FIXED_COLUMNS, row_hash
from broker.store.errors import StoreBrokenError, StoreError, store_error
from broker.store.reader import columns, maker
from broker.store.rows import ChangeRow, ChangeUpdate
from broker.store.schema import connect_reader

WHOLE_BYTES = 64 * 1024 * 1024
"""A file up to this size is checked whole before the start."""
NEWEST = 5_000
"""Of a larger file, so many of the newest changes and audit entries are checked before the start."""
PAGE = 500
"""Rows checked at once in the background."""
PAUSE_S = 0.1
"""Rest after each page in the background."""

# ruff: noqa: S608 - every statement is built from constants
_FIXED = f"SELECT {columns(ChangeRow)}, row_hash FROM change"
_STATE = f"SELECT {columns(ChangeUpdate)}, state_hash FROM change"
_fixed = attrgetter(*FIXED_COLUMNS)
_make_change = maker(ChangeRow)
_OPEN = "state <> 'settled'"


def check_at_start(connection: sqlite3.Connection, path: Path, whole_bytes: int = WHOLE_BYTES) -> bool:
    """Check the file, or its newest part and all that is open; returns whether that was all.

    Raises:
        StoreBrokenError: something differs from what was written.
    """
    head = audit_head(connection).n
    whole = path.stat().st_size <= whole_bytes
    if whole:
        check_pages(connection)
        check_changes(connection, "n > ?", 0)
        check_audit(connection, 0, head)
        return True
    (newest,) = connection.execute("SELECT coalesce(max(n), 0) FROM change").fetchone()
    check_changes(connection, "n > ?", newest - NEWEST)
    check_changes(connection, _OPEN)
    check_audit(connection, max(0, head - NEWEST), head)
    return False


def check_pages(connection: sqlite3.Connection, table: str | None = None) -> None:
    """SQLite's own quick check, of one table or the whole file."""
    (answer,) = connection.execute(f"PRAGMA quick_check{f'({table})' if table else ''}").fetchone()
    if answer != "ok":
        raise StoreBrokenError(f"quick_check: {answer}")


def check_changes(connection: sqlite3.Connection, where: str, *bounds: int) -> None:
    """Compare changes with their hashes; StoreBrokenError names the first that differs."""
    for *values, said in connection.execute(f"{_FIXED} WHERE {where}", bounds).fetchall():
        if said != row_hash(_fixed(_make_change(tuple(values)))):
            raise StoreBrokenError(f"change {values[0]} was changed")
    for *values, said in connection.execute(f"{_STATE} WHERE {where}", bounds).fetchall():
        if said != row_hash(tuple(values)):
            raise StoreBrokenError(f"the state of change {values[0]} was changed")


class Scrub:
    """Checks the whole file in a thread and on a connection of its own; `report` gets what it finds, in that thread."""

    def __init__(self, path: Path, report: Callable[[StoreError], None], pause_s: float = PAUSE_S) -> None:
        self._path = path
        self._report = report
        self._pause_s = pause_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-scrub", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Give up what is left and wait for the thread."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def running(self) -> bool:
        """Whether there is something left to check."""
        return self._thread.is_alive()

    def _run(self) -> None:
        connection = connect_reader(self._path)
        try:
            for _ in self._steps(connection):
                if self._stop.wait(self._pause_s):
                    return
        except (StoreError, sqlite3.Error) as error:
            self._report(store_error(error))
        finally:
            connection.close()

    def _steps(self, connection: sqlite3.Connection) -> Iterator[None]:
        for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            check_pages(connection, table)
            yield
        (newest,) = connection.execute("SELECT coalesce(max(n), 0) FROM change").fetchone()
        for low in range(0, newest, PAGE):
            check_changes(connection, "n > ? AND n <= ?", low, min(low + PAGE, newest))
            yield
        head = audit_head(connection).n
        for low in range(0, head, PAGE):
            check_audit(connection, low, min(low + PAGE, head))
            yield
