import asyncio
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker.store.errors import StoreBrokenError, StoreFullError, StoreLockedError
from broker.store.rows import ChangeRow, RequestRow, RequestUpdate
from broker.store.store import FILE, Store

Reopen = Callable[[], Store]
Requests = Callable[..., RequestRow]


async def committed(store: Store) -> None:
    """Flush, and wait for the commit."""
    done = asyncio.get_running_loop().create_future()
    store.batch.on_commit(lambda: done.set_result(None))
    store.flush_soon()
    await done


@contextmanager
def files_at_most(size: int) -> Iterator[None]:
    """No file of this process can grow beyond `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def fill_up(store: Store) -> None:
    """Let the writer's file grow no further."""
    connection = store._writer._connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()


async def test_callbacks_run_in_order_after_their_rows_are_committed(reopen: Reopen, make_request: Requests) -> None:
    store = reopen()
    seen: list[tuple[int, bool]] = []

    def note(n: int) -> Callable[[], None]:
        return lambda: seen.append((n, store.find("alice", "alice-hmi", f"id-{n}") is not None))

    for n in range(1, 6):
        store.batch.add_request(make_request(n))
        store.batch.on_commit(note(n))
        store.flush_soon()
    assert seen == []
    await committed(store)
    assert seen == [(n, True) for n in range(1, 6)]


async def test_one_turn_of_the_loop_is_one_batch(reopen: Reopen, make_request: Requests) -> None:
    store = reopen()
    first = store.batch
    for n in (1, 2, 3):
        store.batch.add_request(make_request(n))
        store.flush_soon()
        assert store.batch is first
    await asyncio.sleep(0)
    assert store.batch is not first
    assert len(first.requests) == 3


async def test_what_comes_during_a_commit_is_the_next_batch(reopen: Reopen, make_request: Requests) -> None:
    store = reopen()
    store.batch.add_request(make_request(1))
    first = asyncio.create_task(committed(store))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    second = store.batch
    waiting = []
    for n in (2, 3, 4):
        store.batch.add_request(make_request(n))
        waiting.append(asyncio.create_task(committed(store)))
    await asyncio.sleep(0)
    await asyncio.gather(first, *waiting)
    assert sorted(second.requests) == [2, 3, 4]
    assert store.batch is not second


async def test_rows_without_a_flush_ride_with_the_next_one(reopen: Reopen, make_request: Requests) -> None:
    store = reopen()
    store.batch.add_request(make_request(1))
    await asyncio.sleep(0)
    assert store.find("alice", "alice-hmi", "id-1") is None
    await committed(store)
    assert store.find("alice", "alice-hmi", "id-1") is not None


async def test_a_callback_alone_is_called_back(reopen: Reopen) -> None:
    await committed(reopen())


async def test_known_sees_what_is_not_committed(reopen: Reopen, make_request: Requests) -> None:
    store = reopen()
    row = make_request(1)
    store.batch.add_request(row)
    assert store.known("alice", "alice-hmi", "id-1") == row
    assert store.request(1) == row
    assert store.known("bob", "alice-hmi", "id-1") is None
    assert store.request(2) is None
    handed_over = asyncio.create_task(committed(store))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert store.known("alice", "alice-hmi", "id-1") == row
    await handed_over
    assert store.known("alice", "alice-hmi", "id-1") == row


async def test_known_tells_the_latest_outcome(reopen: Reopen, make_request: Requests) -> None:
    store = reopen()
    store.batch.add_request(make_request(1))
    await committed(store)
    store.batch.update_request(RequestUpdate(n=1, outcome=b"done", settled=True, reply_open=True, rev=7))
    known = store.known("alice", "alice-hmi", "id-1")
    assert known == make_request(1, outcome=b"done", settled=True, rev=7)
    store.batch.reply_published(1)
    expected = make_request(1, outcome=b"done", settled=True, rev=7, reply_open=False)
    assert store.known("alice", "alice-hmi", "id-1") == expected
    assert store.request(1) == expected
    await committed(store)
    assert store.known("alice", "alice-hmi", "id-1") == expected
    assert store.find("alice", "alice-hmi", "id-1") == expected


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


async def test_a_full_disk_ends_the_store_and_nothing_of_the_batch_happened(
    reopen: Reopen, make_request: Requests
) -> None:
    store = reopen()
    store.batch.add_request(make_request(1))
    await committed(store)
    fill_up(store)
    called: list[int] = []
    failed = store.failed
    store.batch.add_request(make_request(2))
    store.batch.add_request(make_request(3, outcome=bytes(100_000)))
    store.batch.on_commit(lambda: called.append(2))
    store.flush_soon()
    with pytest.raises(StoreFullError):
        await failed
    store.batch.add_request(make_request(4))
    store.batch.on_commit(lambda: called.append(4))
    store.flush_soon()
    assert store.test_write()
    store = reopen()
    assert called == []
    assert [row.n for row in store.load().open_requests] == [1]


async def test_after_a_failure_known_forgets_the_failed_batch(reopen: Reopen, make_request: Requests) -> None:
    store = reopen()
    fill_up(store)
    store.batch.add_request(make_request(1, outcome=bytes(100_000)))
    store.flush_soon()
    with pytest.raises(StoreFullError):
        await store.failed
    assert store.known("alice", "alice-hmi", "id-1") is None


async def test_a_failed_write_breaks_the_store(reopen: Reopen, make_request: Requests) -> None:
    store = reopen()
    store.batch.add_request(make_request(1, outcome=bytes(2_000_000)))
    with files_at_most(1_000_000):
        store.flush_soon()
        with pytest.raises(StoreBrokenError, match="IOERR_WRITE"):
            await store.failed
    assert not store.test_write()


async def test_a_callback_that_raises_breaks_the_store(reopen: Reopen) -> None:
    store = reopen()
    told = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.set_result(context["exception"]))
    failure = KeyError("a bug")

    def fail() -> None:
        raise failure

    store.batch.on_commit(fail)
    store.flush_soon()
    assert await told is failure
    with pytest.raises(StoreBrokenError, match="a bug"):
        await store.failed


def test_a_disk_without_room_for_the_probe_fails_the_test_write(reopen: Reopen) -> None:
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
    assert [row.n for row in loaded.open_requests] == [1, 2]
    await asyncio.sleep(0)
    assert called == [1, 2]


async def test_a_large_file_is_checked_in_the_background(
    reopen: Reopen, make_change: Callable[..., ChangeRow], tmp_path: Path
) -> None:
    store = reopen()
    store.batch.add_change(make_change(1))
    for n in range(6_000):
        store.batch.audit(b"entry %d" % n)
    await committed(store)
    store.close()
    path = tmp_path / "store" / FILE
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE audit SET entry = x'00' WHERE n = 10")
    connection.close()
    with pytest.raises(StoreBrokenError, match="audit entry 10 was changed"):
        Store.open(tmp_path / "store", lambda: 0)
    store = Store.open(tmp_path / "store", lambda: 0, whole_bytes=0)
    try:
        with pytest.raises(StoreBrokenError, match="audit entry 10 was changed"):
            await store.failed
    finally:
        store.close()
