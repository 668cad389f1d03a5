import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from broker.store import schema
from broker.store.errors import StoreBrokenError, StoreVersionError
from broker.store.schema import APPLICATION_ID, MIGRATIONS, PRAGMAS, connect, connect_reader, migrate
from broker.store.store import FILE, Store

ADD_COLUMN = ("ALTER TABLE meta ADD COLUMN note TEXT NOT NULL DEFAULT ''",)
BROKEN = ("ALTER TABLE meta ADD COLUMN other TEXT", "ALTER TABLE nowhere ADD COLUMN note TEXT")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE


@pytest.fixture
def version_1(path: Path) -> Iterator[sqlite3.Connection]:
    """A file as version 1 made it, with a row in it."""
    with closing(connect(path)) as connection:
        for statement in MIGRATIONS[0]:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
        connection.execute("INSERT INTO meta (key, value) VALUES ('a', 'b')")
        yield connection


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_every_setting_is_read_back(path: Path) -> None:
    with closing(connect(path)) as connection:
        found = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name, _, _ in PRAGMAS}
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "busy_timeout": 5000,
        "foreign_keys": 1,
        "trusted_schema": 0,
        "cell_size_check": 1,
        "mmap_size": 0,
        "wal_autocheckpoint": 0,
        "journal_size_limit": 67_108_864,
        "temp_store": 2,
    }


def test_a_setting_that_does_not_hold_is_refused_by_name() -> None:
    with pytest.raises(StoreBrokenError, match="journal_mode is 'memory', not 'wal'"):
        connect(Path(":memory:"))


def test_a_setting_that_differs_is_refused_by_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "PRAGMAS", (("synchronous", "NORMAL", 2),))
    with pytest.raises(StoreBrokenError, match="synchronous is 1, not 2"):
        connect(path)


def test_the_reader_cannot_write(path: Path) -> None:
    with closing(connect(path)) as connection:
        migrate(connection, path)
    with closing(connect_reader(path)) as reader, pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("UPDATE service SET epoch = 9")


def test_a_new_file_gets_the_newest_version_and_strict_tables(path: Path) -> None:
    with closing(connect(path)) as connection:
        migrate(connection, path)
        assert version_of(connection) == len(MIGRATIONS)
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        tables = connection.execute("SELECT name, strict FROM pragma_table_list WHERE name NOT LIKE 'sqlite_%'")
        assert {strict for _, strict in tables} == {1}
    assert [file.name for file in path.parent.glob("*.v*")] == []


def test_a_version_1_file_is_carried_on_and_backed_up(version_1: sqlite3.Connection, path: Path) -> None:
    migrate(version_1, path, (*MIGRATIONS[:1], ADD_COLUMN))
    assert version_of(version_1) == 2
    assert version_1.execute("SELECT * FROM meta").fetchall() == [("a", "b", "")]
    with closing(sqlite3.connect(path.with_name(f"{FILE}.v1"))) as backup:
        assert version_of(backup) == 1
        assert backup.execute("SELECT * FROM meta").fetchall() == [("a", "b")]


def test_a_version_1_file_opens(version_1: sqlite3.Connection, path: Path) -> None:
    version_1.close()
    store = Store.open(path.parent, lambda: 0)
    assert store.load().meta == {"a": "b"}
    store.close()


def test_a_migration_that_fails_changes_nothing(version_1: sqlite3.Connection, path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(version_1, path, (*MIGRATIONS[:1], ADD_COLUMN, BROKEN))
    assert version_of(version_1) == 1
    assert version_1.execute("SELECT * FROM meta").fetchall() == [("a", "b")]
    migrate(version_1, path, (*MIGRATIONS[:1], ADD_COLUMN))
    assert version_of(version_1) == 2


def test_a_copy_that_finds_no_room_is_not_left_half_made(
    version_1: sqlite3.Connection, path: Path, files_at_most: Callable[[int], AbstractContextManager[None]]
) -> None:
    values = [(f"key{number}", "x" * 900) for number in range(500)]
    version_1.executemany("INSERT INTO meta (key, value) VALUES (?, ?)", values)
    with files_at_most(100_000), pytest.raises(sqlite3.OperationalError):
        migrate(version_1, path)
    assert list(path.parent.glob("*.v1*")) == []
    assert version_of(version_1) == 1


def test_a_newer_version_is_refused_by_number(version_1: sqlite3.Connection, path: Path) -> None:
    version_1.execute("PRAGMA user_version = 99")
    version_1.close()
    with pytest.raises(
        StoreVersionError, match=r"version 99 is newer than .*; there is no copy that this program can read"
    ):
        Store.open(path.parent, lambda: 0)


def test_the_file_of_another_application_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    with pytest.raises(StoreVersionError, match="is not ours"):
        Store.open(path.parent, lambda: 0)


def test_a_version_2_file_gets_what_was_adopted_first_from_its_history(path: Path) -> None:
    with closing(connect(path)) as connection:
        for statement in (*MIGRATIONS[0], *MIGRATIONS[1]):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 2")
        for key in ("desired_linear_twist", "desired_joint_speeds", "gravity_vector"):
            values = ("r1", key, 0, b"wanted", 3, 3, b"now", b"")
            connection.execute("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        for n, before in ((1, None), (2, b"first"), (3, b"later")):
            change = (n, n, "r1", n, "set", "desired_linear_twist", 0, before, b"x", "settled", 1, n, n, 0, 0)
            rest = ("u", "c", 0, "u/c/1", "Set", "", 0, "applied", n, n, b"", b"")
            marks = ", ".join("?" * 27)
            connection.execute(f"INSERT INTO change VALUES ({marks})", (*change, *rest))  # noqa: S608 - constants
        migrate(connection, path)
        assert version_of(connection) == len(MIGRATIONS)
        first = "SELECT arm, key, mode, value FROM first_value ORDER BY key"
        assert connection.execute(first).fetchall() == [
            ("r1", "desired_joint_speeds", 0, b"now"),
            ("r1", "desired_linear_twist", 0, b"first"),
        ]
