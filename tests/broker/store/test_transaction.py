import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from broker.store.schema import connect
from broker.store.transaction import transaction

ROW = "INSERT INTO one VALUES (?)"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "file")) as connection:
        connection.execute("CREATE TABLE one (value BLOB)")
        yield connection


def count(connection: sqlite3.Connection) -> int:
    assert not connection.in_transaction
    return int(connection.execute("SELECT count(*) FROM one").fetchone()[0])


def test_all_of_it_is_done(connection: sqlite3.Connection) -> None:
    with transaction(connection):
        connection.executemany(ROW, [(b"a",), (b"b",)])
    assert count(connection) == 2


def test_nothing_of_it_is_done_where_it_fails(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.ProgrammingError), transaction(connection):
        connection.executemany(ROW, [(b"a",), ()])
    assert count(connection) == 0


def test_a_full_disk_is_told_as_such(connection: sqlite3.Connection) -> None:
    """SQLite undoes it by itself."""
    connection.execute("PRAGMA max_page_count = 3").fetchall()
    with pytest.raises(sqlite3.OperationalError, match="database or disk is full"), transaction(connection):
        connection.executemany(ROW, [(bytes(4000),)] * 10)
    assert count(connection) == 0
