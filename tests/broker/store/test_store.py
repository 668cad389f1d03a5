import asyncio
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from broker.store.errors import StoreBrokenError, StoreLockedError
from broker.store.rows import ChangeRow, Damage, RequestRow
from broker.store.store import FILE, Store

Reopen = Callable[[], Store]
Requests = Callable[..., RequestRow]
Committed = Callable[[Store], Awaitable[None]]
FilesAtMost = Callable[[int], AbstractContextManager[None]]


def test_a_second_store_is_refused_by_the_name_of_the_directory(reopen: Reopen, tmp_path: Path) -> None:
    reopen()
    with pytest.raises(StoreLockedError, match=str(tmp_path / "store")):
        Store.open(tmp_path / "store", lambda: 0)


def test_a_refused_store_lets_the_next_one_in(reopen: Reopen, tmp_path: Path) -> None:
    reopen().close()
    (tmp_path / "store" / FILE).write_bytes(b"no database" * 1000)
    with pytest.raises(StoreBrokenError, match="NOTADB"):
        Store.open(tmp_path / "store", lambda: 0)
    (tmp_path / "store" / FILE).unlink()
    Store.open(tmp_path / "store", lambda: 0).close()


def test_a_disk_without_room_for_the_probe_fails_the_test_write(reopen: Reopen, files_at_most: FilesAtMost) -> None:
    store = reopen()
    assert store.test_write()
    with files_at_most(500_000):
        assert not store.test_write()
    assert store.test_write()


async def test_close_commits_calls_back_and_marks_a_clean_end(
    reopen: Reopen, make_request: Requests, tmp_path: Path
) -> None:
    store = reopen()
    called: list[int] = []
    store.load()
    store.batch.add_request(make_request(1))
    store.batch.on_commit(lambda: called.append(1))
    store.flush_soon()
    await asyncio.sleep(0)
    store.batch.add_request(make_request(2))
    store.batch.on_commit(lambda: called.append(2))
    store.close()
    assert called == [1, 2]
    assert list((tmp_path / "store").glob("*-wal")) == []
    loaded = reopen().load()
    assert loaded.clean
    assert loaded.next_n == 3
    await asyncio.sleep(0)
    assert called == [1, 2]


async def test_a_large_file_is_checked_in_the_background(
    reopen: Reopen, committed: Committed, make_change: Callable[..., ChangeRow], tmp_path: Path
) -> None:
    store = reopen()
    store.batch.add_change(make_change(1))
    for n in range(6_000):
        store.batch.audit(b"entry %d" % n)
        if n % 10 == 9:
            store._drain()
    await committed(store)
    store.close()
    path = tmp_path / "store" / FILE
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE audit SET entries = CAST(replace(entries, 'entry 4', 'entry 5') AS BLOB) WHERE n = 10"
        )
    connection.close()
    damage = Damage("audit", "", "1", "it is not what was written")
    store = Store.open(tmp_path / "store", lambda: 0)
    assert store.load().damages == [damage]
    store.close()
    store = Store.open(tmp_path / "store", lambda: 0, whole_bytes=0)
    told: asyncio.Future[Damage] = asyncio.get_running_loop().create_future()
    store.on_damage = told.set_result
    try:
        assert store.load().damages == []
        failed = store.failed
        assert await told == damage
        assert not failed.done()
    finally:
        store.close()


async def test_what_is_put_into_a_closed_store_goes_nowhere(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", lambda: 0)
    store.load()
    store.batch.set_meta("key", "before")
    store.flush_later()
    store.close()
    store.batch.set_meta("key", "after")
    store.flush_later()
    store.flush_soon()
    await asyncio.sleep(0.1)  # longer than any flush waits
    assert store.error is None
    again = Store.open(tmp_path / "store", lambda: 0)
    assert again.load().meta == {"key": "before"}
    again.close()


def test_an_end_that_is_not_clean_counts_against_open_changes_unless_told_not_to(
    tmp_path: Path, make_change: Callable[..., ChangeRow]
) -> None:
    def start(*, blame: bool = True, clean: bool = False) -> int:
        store = Store.open(tmp_path / "store", lambda: 0)
        loaded = store.load(blame=blame)
        store.close(clean=clean)
        return sum(change.starts for change in loaded.open_changes)

    store = Store.open(tmp_path / "store", lambda: 0)
    store.load()
    store.batch.add_change(make_change(1))
    store.close()
    assert [start(clean=False), start(blame=False), start(), start(clean=True), start()] == [0, 0, 1, 2, 2]


def test_a_file_whose_making_was_cut_short_is_made_anew(tmp_path: Path) -> None:
    """A kill while a file is switched to its log leaves a journal that only a writer may undo."""
    made, cut = tmp_path / "made.sqlite3", tmp_path / "store"
    with closing(sqlite3.connect(made, isolation_level=None)) as connection:
        for statement in ("CREATE TABLE one (a)", "DROP TABLE one", "PRAGMA cache_size = 1", "BEGIN IMMEDIATE"):
            connection.execute(statement)
        connection.execute("CREATE TABLE half (a)")
        connection.executemany("INSERT INTO half VALUES (?)", [(bytes(1000),)] * 999)
        cut.mkdir()
        for suffix in ("", "-journal"):
            shutil.copy(f"{made}{suffix}", cut / f"store.sqlite3{suffix}")
    with (
        closing(sqlite3.connect(f"{(cut / 'store.sqlite3').as_uri()}?mode=ro", uri=True)) as reader,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        reader.execute("SELECT count(*) FROM sqlite_schema")
    store = Store.open(cut, lambda: 0)
    assert store.load().epoch == 1
    store.close()
