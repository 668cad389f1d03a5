import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from broker.store.audit import check_audit
from broker.store.errors import StoreBrokenError
from broker.store.rows import Damage
from broker.store.store import FILE, Store


@pytest.fixture
def directory(reopen: Callable[[], Store], tmp_path: Path) -> Path:
    """A closed store with three audit entries."""
    store = reopen()
    for entry in (b"one", b"two", b"three"):
        store.batch.audit(entry)
    store.close()
    return tmp_path / "store"


def edit(directory: Path, *statements: str) -> None:
    with closing(sqlite3.connect(directory / FILE, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_entries_are_chained(directory: Path) -> None:
    with closing(sqlite3.connect(directory / FILE)) as connection:
        rows = connection.execute("SELECT n, prev, entry, hash FROM audit ORDER BY n").fetchall()
    prev = bytes(32)
    for number, (n, said_prev, entry, said) in enumerate(rows, 1):
        assert (n, said_prev) == (number, prev)
        prev = hashlib.sha256(n.to_bytes(8, "big") + prev + entry).digest()
        assert said == prev
    assert [row[2] for row in rows] == [b"one", b"two", b"three"]


def test_the_chain_goes_on_after_a_restart(directory: Path) -> None:
    store = Store.open(directory, lambda: 0)
    store.batch.audit(b"four")
    store.close()
    store = Store.open(directory, lambda: 0)
    assert store.audit_head().n == 4
    store.close()


@pytest.mark.parametrize(
    ("statement", "key", "what"),
    [
        ("UPDATE audit SET entry = x'00' WHERE n = 2", "2", "it is not what was written"),
        ("UPDATE audit SET hash = zeroblob(32) WHERE n = 2", "2", "it is not what was written"),
        ("UPDATE audit SET prev = zeroblob(32) WHERE n = 2", "2", "it is not what was written"),
        ("DELETE FROM audit WHERE n = 1", "1", "it is missing"),
        ("DELETE FROM audit WHERE n = 2", "2", "it is missing"),
    ],
)
def test_an_edited_entry_is_told_and_the_others_go_on(directory: Path, statement: str, key: str, what: str) -> None:
    edit(directory, statement)
    store = Store.open(directory, lambda: 0)
    assert store.load().damages == [Damage("audit", "", key, what)]
    store.batch.audit(b"four")
    assert store.audit_head().n == 3
    store.close()


@pytest.mark.parametrize("statement", ["DELETE FROM audit WHERE n = 3", "DELETE FROM audit"])
def test_a_cut_chain_is_refused(directory: Path, statement: str) -> None:
    edit(directory, statement)
    with pytest.raises(StoreBrokenError, match=r"audit entry 3 of .* is not the one in"):
        Store.open(directory, lambda: 0)


def test_a_chain_written_anew_is_found_by_the_anchor(directory: Path) -> None:
    new = hashlib.sha256((3).to_bytes(8, "big") + bytes(32) + b"forged").digest()
    edit(directory, "DELETE FROM audit WHERE n = 3")
    with closing(sqlite3.connect(directory / FILE, isolation_level=None)) as connection:
        (prev,) = connection.execute("SELECT hash FROM audit WHERE n = 2").fetchone()
        new = hashlib.sha256((3).to_bytes(8, "big") + prev + b"forged").digest()
        connection.execute("INSERT INTO audit VALUES (3, ?, ?, ?)", (prev, b"forged", new))
        assert check_audit(connection, 0, 3) is None
    with pytest.raises(StoreBrokenError, match=r"audit entry 3 of .* is not the one in"):
        Store.open(directory, lambda: 0)


def test_a_part_of_the_chain_is_checked_from_the_entry_before(directory: Path) -> None:
    with closing(sqlite3.connect(directory / FILE)) as connection:
        assert check_audit(connection, 1, 3) is None
        assert check_audit(connection, 9, 9) == Damage("audit", "", "9", "it is missing")
        assert check_audit(connection, 0, 4) == Damage("audit", "", "4", "it is missing")
