"""Damaged tables, pages and indexes of a file."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from broker.store.errors import StoreBrokenError
from broker.store.job import key_of
from broker.store.rows import ArmRow, ChangeRow, EventRow, ItemRow, RequestRow
from broker.store.schema import connect
from broker.store.store import FILE, Store
from broker.store.structure import check_structure, check_tables, mend_indexes


@pytest.fixture
def path(
    tmp_path: Path,
    make_request: Callable[..., RequestRow],
    make_change: Callable[..., ChangeRow],
    make_event: Callable[..., EventRow],
) -> Path:
    """A closed store with rows of every growing table."""
    store = Store.open(tmp_path, lambda: 0)
    store.batch.put_arm(ArmRow(arm="arm1", rev=20, seq=20))
    store.batch.put_item(ItemRow(arm="arm1", key="gravity_vector"))
    for n in range(1, 21):
        store.batch.add_request(make_request(n))
        store.batch.add_change(make_change(n))
        store.batch.add_event(make_event(n))
    store.close()
    return tmp_path / FILE


def alter_schema(path: Path, old: str, new: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        statement = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'job'"
        assert connection.execute(statement, (old, new)).rowcount == 1


def test_a_sound_file_has_nothing_to_mend(path: Path) -> None:
    with closing(connect(path)) as connection:
        check_tables(connection)
        assert check_structure(connection) == {}


@pytest.mark.parametrize("old", ["TEXT NOT NULL, rev", "accepted BLOB"])
def test_another_definition_of_a_table_is_refused_by_name(path: Path, old: str) -> None:
    new = old.replace("rev", "rEv2").replace("accepted", "acceptee")
    alter_schema(path, old, new)
    with pytest.raises(StoreBrokenError, match=r"job.*restore the store from a backup"):
        Store.open(path.parent, lambda: 0)


def test_a_definition_that_is_no_text_is_refused(path: Path) -> None:
    content = path.read_bytes()
    assert content.count(b"CREATE TABLE principal") == 1
    path.write_bytes(content.replace(b"CREATE TABLE principal", b"CREATE TABLE princip\xff\xfe"))
    with pytest.raises(StoreBrokenError):
        Store.open(path.parent, lambda: 0)


def test_an_index_that_lacks_a_row_is_made_anew(path: Path) -> None:
    """The row of its table is sound, so that a repeat is known again."""
    content = bytearray(path.read_bytes())
    name = key_of("alice", "alice-hmi", "id-7").to_bytes(8, "big")
    places = [at for at in range(len(content)) if content.startswith(name, at)]
    with closing(connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'job_key'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    (at,) = [place for place in places if (root - 1) * size <= place < root * size]
    content[at + len(name) - 1] ^= 2
    path.write_bytes(content)
    store = Store.open(path.parent, lambda: 0)
    assert store.load().damages == []
    found = store.find("alice", "alice-hmi", "id-7")
    assert found is not None
    assert found.n == 7
    store.close()


def test_an_index_and_rows_that_are_damaged_are_refused(path: Path) -> None:
    with closing(connect(path)) as connection:
        with pytest.raises(StoreBrokenError, match="job_key and rows of job are damaged"):
            mend_indexes(connection, {"job_key": 2}, {"job": 1})
        assert mend_indexes(connection, {"job_key": 1}, {"job": 1}) == []
        assert mend_indexes(connection, {"job_key": 1}, {"item": 1}) == ["job_key"]
