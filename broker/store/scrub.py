"""Checks of what SQLite does not see: at the start within bounds, the rest in the background at a slow pace."""

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from broker.store import job
from broker.store.audit import check_audit, read_head
from broker.store.errors import StoreError, store_error
from broker.store.rows import Damage
from broker.store.schema import connect_reader
from broker.store.seals import Seal, Values, agrees, each_row, meant, selected
from broker.store.structure import check_structure, check_tables, mend_indexes
from broker.store.tables import ARM, DESCRIPTION, FIRST, GROUND, ITEM, LATE, OVERRIDE, PUBLISHED, SEALS

log = structlog.get_logger()

WHOLE_BYTES = 64 * 1024 * 1024
"""A file up to this size is checked whole before the start."""
NEWEST = 5_000
"""Of a larger file, so many of the newest jobs and audit entries are checked before the start."""
PAGE, ARMS = 500, 8
"""Rows checked at once in the background, and arms whose rows are."""
BY_ARM = (ARM, DESCRIPTION, PUBLISHED, ITEM, FIRST, GROUND, OVERRIDE)
"""Tables whose rows lie in the order of arms."""
_TOP = 2**63 - 1
PAUSE_S = 0.1
"""Rest after each page in the background."""


@dataclass
class Surveyed:
    """What a check before the start found.

    `whole`: whether it was all; `doubtful`: changes of which nobody knows whether they are open, with their arms.
    """

    whole: bool
    damages: list[Damage] = field(default_factory=list)
    doubtful: dict[int, str] = field(default_factory=dict)


# ruff: noqa: S608 - every statement is built from constants
def check_at_start(connection: sqlite3.Connection, path: Path, whole_bytes: int = WHOLE_BYTES) -> Surveyed:
    """Check the file, or its newest part and all that is open.

    Raises:
        StoreBrokenError: pages or tables are damaged, or the end of the audit is not the one that was kept outside.
    """
    check_tables(connection)
    head = read_head(connection).n
    found = Surveyed(path.stat().st_size <= whole_bytes)
    if found.whole:
        indexes = check_structure(connection)
        _survey(connection, (0, _TOP), found)
        damaged = Counter(damage.table for damage in found.damages)
        for seal in SEALS:
            damaged[seal.table] += sum(not agrees(seal, values) for values in _rows(connection, seal))
        for name in mend_indexes(connection, indexes, damaged):
            log.warning("index_mended", index=name)
    else:
        check_structure(connection, LATE.table)
        (newest,) = connection.execute("SELECT coalesce(max(n), 0) FROM job").fetchone()
        _survey(connection, (newest - NEWEST, newest), found)
    audit = check_audit(connection, 0 if found.whole else max(0, head - NEWEST), head)
    if audit is not None:
        found.damages.append(audit)
    return found


def _rows(connection: sqlite3.Connection, seal: Seal) -> Iterator[Values]:
    """All rows of a table, one by one: of 10,000 arms they are more than all else that is kept of these."""
    return each_row(connection, f"SELECT {selected(seal)} FROM {seal.table}")


def _pages(connection: sqlite3.Connection, seal: Seal) -> Iterator[list[Values]]:
    """All rows of a table; where they lie by arm, those of a few arms at once: comparing takes the interpreter."""
    if seal not in BY_ARM:
        yield list(_rows(connection, seal))
        return
    names = [arm for (arm,) in each_row(connection, "SELECT arm FROM arm ORDER BY arm")]
    starts = [arm for arm in names[ARMS::ARMS] if arm.isascii()]
    query = f"SELECT {selected(seal)} FROM {seal.table} WHERE {seal.arm} >= ?"
    for first, after in zip(["", *starts], [*starts, None], strict=True):
        if after is None:
            yield list(each_row(connection, query, (first,)))
        else:
            yield list(each_row(connection, f"{query} AND {seal.arm} < ?", (first, after)))


def _survey(connection: sqlite3.Connection, between: tuple[int, int], found: Surveyed) -> None:
    """Compare jobs between two numbers (exclusive, inclusive) with their hashes; those that may be open are noted.

    No few bits that differ make an open change a settled one.
    """
    query = f"SELECT {job.SELECT} FROM job NOT INDEXED WHERE n > ? AND n <= ?"
    for values in each_row(connection, query, between):
        row = job.Job(values)
        if row.whole:
            continue
        found.damages.append(row.damage)
        if row.ended is None and values[job.STATE] != job.SETTLED:
            found.doubtful[row.n] = row.damage.arm


def whole_check(connection: sqlite3.Connection) -> Iterator[list[Damage]]:
    """Check every page, row and audit entry, a piece at a time; what each piece found damaged.

    Raises:
        StoreBrokenError: pages are damaged.
    """
    for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        indexes = check_structure(connection, table)
        yield [Damage(table, "", name, "the index does not agree with its table") for name in indexes]
    for seal in SEALS:
        for rows in _pages(connection, seal):
            yield [seal.names(meant(seal, values)) for values in rows if not agrees(seal, values)]
    (newest,) = connection.execute("SELECT coalesce(max(n), 0) FROM job").fetchone()
    for low in range(0, newest, PAGE):
        found = Surveyed(whole=False)
        _survey(connection, (low, min(low + PAGE, newest)), found)
        yield found.damages
    head = read_head(connection).n
    for low in range(0, head, PAGE):
        damage = check_audit(connection, low, min(low + PAGE, head))
        yield [] if damage is None else [damage]


class Scrub:
    """Checks the whole file in a thread and on a connection of its own.

    `fail` gets what ends the store, `tell` each damaged row; both in that thread.
    """

    def __init__(
        self,
        path: Path,
        fail: Callable[[StoreError], None],
        tell: Callable[[Damage], None],
        pause_s: float = PAUSE_S,
    ) -> None:
        self._path = path
        self._fail = fail
        self._tell = tell
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
            for damages in whole_check(connection):
                for damage in damages:
                    self._tell(damage)
                if self._stop.wait(self._pause_s):
                    return
        except (StoreError, sqlite3.Error, UnicodeDecodeError) as error:
            self._fail(store_error(error))
        finally:
            connection.close()
