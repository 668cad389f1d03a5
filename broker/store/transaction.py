"""All of a piece of work on the file, or nothing of it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that writes: committed at the end, undone where that is not reached.

    Raises:
        sqlite3.Error: as it came; after some errors, that of a full disk among them, SQLite has undone it by itself.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
