"""Whether a file holds what it should, as far as SQLite knows: its tables, its pages, its indexes."""

import re
import sqlite3

from broker.store.errors import REMEDY, StoreBrokenError
from broker.store.schema import FUNCTIONS, MIGRATIONS

_MOST = 1_000_000
"""Complaints at once."""
_OF_ROWS = re.compile(
    r"(NULL value in|NUMERIC value in|TEXT value in|CHECK constraint failed|row not in PRIMARY KEY order)|"
    r"non-(INTEGER|TEXT|BLOB|REAL) value in"
)
"""Complaints about one row: its hash tells of it."""
_OF_INDEX = re.compile(
    r"(?:row \d+ missing from|wrong # of entries in|non-unique entry in|rowid not at end-of-record for row \d+ of|"
    r"row \d+ values differ from) index (?P<name>\S+)"
)
_SQL = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"


def _plain(rows: list[tuple[str, str, str, str | None]]) -> list[tuple[str, ...]]:
    return [tuple("".join((text or "").split()).lower() for text in row) for row in rows]


def check_tables(connection: sqlite3.Connection) -> None:
    """Compare the definitions of tables and indexes with those that the migrations make.

    Raises:
        StoreBrokenError: they differ.
    """
    model = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for name, function in FUNCTIONS:
            model.create_function(name, -1, function)
        for statements in MIGRATIONS:
            for statement in statements:
                model.execute(statement)
        expected = _plain(model.execute(_SQL).fetchall())
    finally:
        model.close()
    found = _plain(connection.execute(_SQL).fetchall())
    if found != expected:
        names = sorted({row[1] for row in set(found) ^ set(expected)})
        raise StoreBrokenError(f"the definitions of {', '.join(names)} in the file are damaged: {REMEDY}")


def check_structure(connection: sqlite3.Connection, table: str | None = None) -> dict[str, int]:
    """SQLite's own check of all pages and indexes, of one table or the whole file.

    Returns:
        The indexes that do not agree with their tables, with how many rows they lack at least.

    Raises:
        StoreBrokenError: pages are damaged.
    """
    of = f"'{table}'" if table else _MOST
    indexes: dict[str, int] = {}
    for (text,) in connection.execute(f"PRAGMA integrity_check({of})").fetchall():
        if (found := _OF_INDEX.search(text)) is not None:
            indexes[found["name"]] = indexes.get(found["name"], 0) + text.startswith("row ")
        elif text != "ok" and _OF_ROWS.search(text) is None:
            raise StoreBrokenError(f"pages of the store are damaged ({text.splitlines()[-1]}): {REMEDY}")
    return indexes


def mend_indexes(connection: sqlite3.Connection, indexes: dict[str, int], damaged: dict[str, int]) -> list[str]:
    """Make indexes anew that lack rows of their table, where its rows are sound; the names of those.

    `damaged` are the numbers of damaged rows by table: a row that is not what was written is still found by the index,
    under the name that it had.

    Raises:
        StoreBrokenError: an index and rows of its table are damaged.
    """
    mended = []
    for name, lacking in indexes.items():
        (table,) = connection.execute("SELECT tbl_name FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
        if not damaged.get(table):
            connection.execute(f"REINDEX {name}" if not name.startswith("sqlite_") else f"REINDEX {table}")
            mended.append(name)
        elif lacking > damaged[table]:
            raise StoreBrokenError(f"{name} and rows of {table} are damaged: {REMEDY}")
    return mended
