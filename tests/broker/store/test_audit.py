import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from broker.store.audit import check_audit, counts
from broker.store.digest import digest
from broker.store.errors import StoreBrokenError
from broker.store.rows import Damage
from broker.store.store import FILE, Store

WRONG = "it is not what was written"


@pytest.fixture
def directory(reopen: Callable[[], Store], tmp_path: Path) -> Path:
    """A closed store with five audit entries in three rows."""
    store = reopen()
    for entries in ((b"one",), (b"two", b"2", b"II"), (b"three",)):
        for entry in entries:
            store.batch.audit(entry)
        store._drain()
    store.close()
    return tmp_path / "store"


def edit(directory: Path, *statements: str) -> None:
    with closing(sqlite3.connect(directory / FILE, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_entries_are_chained_those_of_one_commit_in_one_row(directory: Path) -> None:
    with closing(sqlite3.connect(directory / FILE)) as connection:
        rows = connection.execute("SELECT n, prev, entries, hash FROM audit ORDER BY n").fetchall()
    prev, number = bytes(32), 0
    for n, said_prev, entries, said in rows:
        assert said_prev == prev
        for entry in entries.split(b"\n"):
            number += 1
            prev = hashlib.sha256(number.to_bytes(8, "big") + prev + entry).digest()
        assert (n, said) == (number, prev)
    assert [row[2] for row in rows] == [b"one", b"two\n2\nII", b"three"]


def test_the_chain_goes_on_after_a_restart(directory: Path) -> None:
    store = Store.open(directory, lambda: 0)
    store.batch.audit(b"four")
    store.close()
    store = Store.open(directory, lambda: 0)
    assert store.audit_head().n == 6
    store.close()


@pytest.mark.parametrize(
    ("statement", "key", "what"),
    [
        ("UPDATE audit SET entries = CAST('one' AS BLOB) WHERE n = 4", "2", "it is missing"),
        ("UPDATE audit SET entries = CAST(replace(entries, 'II', 'IX') AS BLOB) WHERE n = 4", "2", WRONG),
        ("UPDATE audit SET entries = x'00' WHERE n = 1", "1", WRONG),
        ("UPDATE audit SET hash = zeroblob(32) WHERE n = 4", "2", WRONG),
        ("UPDATE audit SET prev = zeroblob(32) WHERE n = 4", "2", WRONG),
        ("UPDATE audit SET at_us = 9 WHERE n = 4", "2", WRONG),
        ("DELETE FROM audit WHERE n = 1", "1", "it is missing"),
        ("DELETE FROM audit WHERE n = 4", "2", "it is missing"),
    ],
)
def test_an_edited_entry_is_told_and_the_others_go_on(directory: Path, statement: str, key: str, what: str) -> None:
    edit(directory, statement)
    store = Store.open(directory, lambda: 0)
    assert store.load().damages == [Damage("audit", "", key, what)]
    store.batch.audit(b"four")
    assert store.audit_head().n == 5
    store.close()


@pytest.mark.parametrize("statement", ["DELETE FROM audit WHERE n = 5", "DELETE FROM audit"])
def test_a_cut_chain_is_refused(directory: Path, statement: str) -> None:
    edit(directory, statement)
    with pytest.raises(StoreBrokenError, match=r"audit entry 5 of .* is not the one in"):
        Store.open(directory, lambda: 0)


def test_a_chain_written_anew_is_found_by_the_anchor(directory: Path) -> None:
    edit(directory, "DELETE FROM audit WHERE n = 5")
    with closing(sqlite3.connect(directory / FILE, isolation_level=None)) as connection:
        (prev,) = connection.execute("SELECT hash FROM audit WHERE n = 4").fetchone()
        new = hashlib.sha256((5).to_bytes(8, "big") + prev + b"forged").digest()
        counted = (5, 3, 0, 1)
        row = (*counted, prev, b"forged", new, digest(counted))
        connection.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        assert check_audit(connection, 0, 5) is None
    with pytest.raises(StoreBrokenError, match=r"audit entry 5 of .* is not the one in"):
        Store.open(directory, lambda: 0)


def test_a_part_of_the_chain_is_checked_from_the_entry_before(directory: Path) -> None:
    with closing(sqlite3.connect(directory / FILE)) as connection:
        for after in range(6):
            for upto in range(after, 6):
                assert check_audit(connection, after, upto) is None
        assert check_audit(connection, 9, 9) == Damage("audit", "", "6", "it is missing")
        assert check_audit(connection, 0, 6) == Damage("audit", "", "6", "it is missing")


def test_the_newest_row_counts_the_commits_and_the_anchor_where_it_is_damaged(directory: Path) -> None:
    with closing(sqlite3.connect(directory / FILE, isolation_level=None)) as connection:
        before = counts(connection)
        (served,) = connection.execute("SELECT commits FROM service").fetchone()
        assert before.commits == served == 4
    store = Store.open(directory, lambda: 0)
    store.batch.audit(b"more")
    store._drain()
    assert (counts(store._connection).commits, store._writer.commits) == (5, 5)
    store.close(clean=False)
    edit(directory, "UPDATE audit SET commits = 1 WHERE n = 6")
    store = Store.open(directory, lambda: 0)
    assert store.load().damages == [Damage("audit", "", "6", WRONG)]
    store.close()
