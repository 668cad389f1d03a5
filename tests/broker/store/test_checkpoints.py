"""The write-ahead log is copied in a thread of its own, with real files."""

import shutil
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from broker.store import checkpoints as module
from broker.store.anchor import FILE as ANCHOR
from broker.store.checkpoints import AGAIN_LATEST_S, AGAIN_S, IDLE, LOOK, QUIET, Checkpoints, Rest, reaches
from broker.store.errors import StoreBrokenError, StoreError
from broker.store.history import own_anchor
from broker.store.rows import RequestRow
from broker.store.schema import connect, connect_reader, migrate
from broker.store.store import FILE, Store
from broker.store.writer import Writer
from tests.stored import jobs

LONG, LEFT = 60, 30
FAR = 20_000
"""Frames of which there are never as many, but beside a reader of an old state."""
MOST, PATIENCE_S = 2_000, 60.0


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs are long early."""
    monkeypatch.setattr(module, "LONG", LONG)
    monkeypatch.setattr(module, "LEFT", LEFT)


def insert(connection: sqlite3.Connection) -> None:
    """One row, large enough for some pages."""
    connection.execute("INSERT INTO principal VALUES (hex(randomblob(3000)), abs(random()), 0)")


def insert_many(connection: sqlite3.Connection) -> None:
    """Rows of 20 MB."""
    connection.execute(
        "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 500) "
        "INSERT INTO principal SELECT hex(randomblob(20000)), abs(random()), 0 FROM number"
    )


class Written:
    """A store's writer without its event loop, and what looks at its log, turn by turn."""

    def __init__(self, path: Path) -> None:
        self.path, self.log = path, path.with_name(f"{path.name}-wal")
        connection = connect(path)
        migrate(connection, path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.writer = Writer(connection, own_anchor(connection))
        self.failed: list[StoreError] = []
        self.finished = 0
        self.checkpoints = Checkpoints(
            path, lambda: self.writer.commits, self.writer.tell_next, self._finish, self.failed.append
        )
        self.fill(0)

    def _finish(self) -> None:
        self.finished += 1
        self.writer.checkpoint()

    def fill(self, frames: int) -> None:
        """Commit until the log is so long."""
        self.commit()
        while not reaches(self.log, max(frames, 1)):
            self.commit()

    def commit(self) -> None:
        """Commit one row."""
        self.writer.run(insert).result()

    def rows(self, path: Path | None = None) -> int:
        """How many are there; in a file without its log, so many were copied."""
        with closing(sqlite3.connect(path or self.path)) as connection:
            return int(connection.execute("SELECT count(*) FROM principal").fetchone()[0])

    def copied(self) -> int:
        """How many rows the file has without its log."""
        alone = self.path.with_name("alone.sqlite3")
        alone.write_bytes(self.path.read_bytes())
        try:
            return self.rows(alone)
        finally:
            for end in ("", "-wal", "-shm"):
                alone.with_name(f"{alone.name}{end}").unlink(missing_ok=True)


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    written = Written(tmp_path / "file")
    yield written
    written.checkpoints.stop()
    written.writer.close()


def frames(written: Written) -> int:
    """Of the log, as SQLite counts them; nothing is copied, since an old state is read."""
    with closing(sqlite3.connect(written.path)) as other:
        return int(other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()[0][1])


def test_a_log_reaches_as_far_as_sqlite_counts(written: Written) -> None:
    written.fill(LONG)
    count = frames(written)
    assert [reaches(written.log, number) for number in (1, count - 1, count, count + 1)] == [True, True, True, False]
    written.commit()  # all was copied: it begins again, before frames of the round before
    again = frames(written)
    assert again < count
    assert [reaches(written.log, number) for number in (again, again + 1, count)] == [True, False, False]
    assert written.log.stat().st_size > count * 4096


def test_a_log_that_is_not_there_or_empty_reaches_nowhere(tmp_path: Path) -> None:
    assert not reaches(tmp_path / "log", 1)
    (tmp_path / "log").touch()
    assert not reaches(tmp_path / "log", 1)


def test_a_long_log_is_copied_while_commits_come_and_begins_again(written: Written) -> None:
    turns = []
    for _ in range(5):
        written.fill(LONG)
        turns.append(written.checkpoints.turn())
        assert written.copied() == written.rows()
        written.commit()
        assert not reaches(written.log, LONG)
    assert turns == [LOOK] * 5
    assert (written.finished, written.failed) == (0, [])


@pytest.mark.parametrize(("longer", "finished"), [(LONG, 1), (1_000, 0)])
def test_what_little_comes_while_it_is_copied_is_left_to_the_writer(
    written: Written, monkeypatch: pytest.MonkeyPatch, longer: int, finished: int
) -> None:
    """A transaction is under way whenever it is copied, and ends before the log is looked at; of a longer log only."""
    honest, ended = module.reaches, 0
    written.fill(LONG)
    with closing(connect(written.path)) as other, monkeypatch.context() as patched:

        def end_and_begin(path: Path, count: int) -> bool:
            nonlocal ended
            if other.in_transaction:
                other.execute("COMMIT")
                ended += 1
            other.execute("BEGIN IMMEDIATE")
            insert(other)
            return honest(path, count)

        patched.setattr(module, "LONGER", longer)
        patched.setattr(module, "reaches", end_and_begin)
        assert written.checkpoints.turn() == LOOK
        assert (ended, written.finished) == (module.TIMES + 1, finished)
        other.execute("COMMIT")
        assert reaches(written.log, LONG)
    written.writer.checkpoint()
    written.commit()
    assert not reaches(written.log, LONG)


def test_nobody_wakes_while_nothing_is_committed(written: Written) -> None:
    rests = [written.checkpoints.turn() for _ in range(4)]
    written.commit()
    rests += [written.checkpoints.turn() for _ in range(3)]
    assert rests == [LOOK, QUIET, IDLE, IDLE, LOOK, QUIET, IDLE]


def test_a_log_that_a_load_left_is_copied_once_it_is_quiet(written: Written) -> None:
    written.fill(LEFT)
    assert not reaches(written.log, LONG)
    rests, copied = [], []
    for _ in range(3):
        rests.append(written.checkpoints.turn())
        copied.append(written.copied() == written.rows())
    assert (rests, copied) == ([LOOK, QUIET, IDLE], [False, False, True])


def test_it_goes_on_once_an_old_state_is_read_no_longer(written: Written) -> None:
    with closing(connect_reader(written.path)) as reader:
        reader.execute("BEGIN")
        (seen,) = reader.execute("SELECT count(*) FROM principal").fetchone()
        written.fill(LONG)
        rests = [written.checkpoints.turn() for _ in range(4)]
        assert reader.execute("SELECT count(*) FROM principal").fetchone() == (seen,)
        assert written.copied() < written.rows()
    assert rests == [LOOK, QUIET, *[Rest(AGAIN_S, listens=False)] * 2]
    assert written.checkpoints.turn() == IDLE
    assert written.copied() == written.rows() > seen
    written.commit()
    assert not reaches(written.log, LONG)
    assert (written.finished, written.failed) == (0, [])


def test_a_copy_that_fails_is_told_by_name_and_tried_again(
    written: Written, files_at_most: Callable[[int], AbstractContextManager[None]]
) -> None:
    written.fill(4 * LONG)
    rows, rests = written.rows(), []
    with files_at_most(written.path.stat().st_size), capture_logs() as told:
        rests = [written.checkpoints.turn() for _ in range(8)]
    assert [rest.seconds for rest in rests] == [AGAIN_S * 2**number for number in range(6)] + [AGAIN_LATEST_S] * 2
    assert not any(rest.listens for rest in rests)
    assert [entry["event"] for entry in told] == ["checkpoint_failed"] * 8
    assert "SQLITE_IOERR_WRITE" in told[0]["why"] or "disk is full" in told[0]["why"]
    assert (written.rows(), written.failed) == (rows, [])
    written.commit()
    assert written.checkpoints.turn() == LOOK
    assert written.copied() == written.rows() > rows
    written.commit()
    written.fill(4 * LONG)
    with files_at_most(written.path.stat().st_size):
        assert written.checkpoints.turn() == Rest(AGAIN_S, listens=False)


def test_a_damaged_file_ends_the_store(written: Written, tmp_path: Path) -> None:
    written.fill(LONG)
    other = tmp_path / "other"
    other.write_bytes(b"\x55" * 8192)
    content = bytearray(written.log.read_bytes())
    content[24] ^= 1  # its checksum: SQLite takes it for none
    Path(f"{other}-wal").write_bytes(content)
    failed: list[StoreError] = []
    checkpoints = Checkpoints(other, lambda: 0, lambda _: None, lambda: None, failed.append)
    assert checkpoints.turn() == IDLE
    (error,) = failed
    assert isinstance(error, StoreBrokenError)
    assert "SQLITE_NOTADB" in str(error)


def test_what_nobody_foresaw_ends_the_store(written: Written) -> None:
    def commits() -> int:
        raise ZeroDivisionError

    checkpoints = Checkpoints(written.path, commits, lambda _: None, lambda: None, written.failed.append)
    checkpoints.start()
    checkpoints._thread.join(PATIENCE_S)
    (error,) = written.failed
    assert isinstance(error, StoreBrokenError)
    assert "ZeroDivisionError" in str(error)


def test_no_commit_copies_a_log_that_somebody_held_up(written: Written) -> None:
    with closing(connect_reader(written.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM principal").fetchone()
        while not reaches(written.log, FAR):
            written.writer.run(insert_many).result()
    before = written.copied()
    written.commit()
    assert written.copied() == before
    assert written.checkpoints.turn() == LOOK
    assert written.copied() == written.rows() > before


def test_the_first_commit_after_a_quiet_time_wakes_it(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    asleep = threading.Semaphore(0)

    def tell_next(call: Callable[[], None]) -> None:
        written.writer.tell_next(call)
        asleep.release()

    look_often(monkeypatch)
    checkpoints = Checkpoints(written.path, lambda: written.writer.commits, tell_next, lambda: None, lambda _: None)
    checkpoints.start()
    try:
        for _ in range(3):
            assert asleep.acquire(timeout=PATIENCE_S)  # quiet
            assert asleep.acquire(timeout=PATIENCE_S)  # idle, until this:
            written.commit()
    finally:
        checkpoints.stop()


def test_it_can_be_stopped_before_it_began_and_while_it_rests(written: Written) -> None:
    written.checkpoints.stop()
    begun = Checkpoints(written.path, lambda: 0, lambda _: None, lambda: None, written.failed.append)
    begun.start()
    begun.stop()
    assert not begun._thread.is_alive()


def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the thread look at the log many times a second."""
    monkeypatch.setattr(module, "LOOK", Rest(0.001, listens=False))
    monkeypatch.setattr(module, "QUIET", Rest(0.001))


async def until_copied(
    store: Store, path: Path, committed: Callable[[Store], Awaitable[None]], make: Callable[[int], RequestRow]
) -> int:
    """Commit until the log that was long begins again; how many requests there are then."""
    log, was_long = path.with_name(f"{FILE}-wal"), reaches(path.with_name(f"{FILE}-wal"), LONG)
    for number in range(store.load().next_n, MOST):
        store.batch.add_request(make(number))
        await committed(store)
        is_long = reaches(log, LONG)
        if was_long and not is_long:
            return number
        was_long = is_long
    raise AssertionError("the log was never copied")


async def test_a_store_copies_its_log_off_the_path_of_commits(
    reopen: Callable[[], Store], committed: Callable[[Store], Awaitable[None]],
    make_request: Callable[..., RequestRow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    look_often(monkeypatch)
    store = reopen()
    number = await until_copied(store, tmp_path / "store" / FILE, committed, make_request)
    assert store.find("alice", "alice-hmi", f"id-{number}") is not None
    store.close()
    assert not store._checkpoints._thread.is_alive()


async def test_a_killed_store_with_a_long_log_starts_and_copies_it(
    reopen: Callable[[], Store], committed: Callable[[Store], Awaitable[None]],
    make_request: Callable[..., RequestRow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    store = reopen()
    store.load()
    number = 0
    while not reaches(tmp_path / "store" / f"{FILE}-wal", 3 * LONG):
        number += 1
        store.batch.add_request(make_request(number))
        store._drain()
    killed = tmp_path / "killed"
    killed.mkdir()
    for name in (FILE, f"{FILE}-wal", ANCHOR):
        shutil.copy(tmp_path / "store" / name, killed / name)
    look_often(monkeypatch)
    again = Store.open(killed, lambda: 0)
    last = await until_copied(again, killed / FILE, committed, make_request)
    again.close()
    with closing(sqlite3.connect(killed / FILE)) as connection:
        found = [one.request.n for one in jobs(connection) if one.request is not None]
    assert found == list(range(1, last + 1))
    assert last > number
