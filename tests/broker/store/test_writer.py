import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from time import monotonic, thread_time

import pytest

from broker.store.audit import check_audit
from broker.store.batch import Batch
from broker.store.errors import StoreBrokenError, StoreFullError
from broker.store.history import own_anchor
from broker.store.rows import ArmRow
from broker.store.schema import BUSY_MS, connect, connect_reader, migrate
from broker.store.writer import Writer


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    path = tmp_path / "file"
    connection = connect(path)
    migrate(connection, path)
    writer = Writer(connection, own_anchor(connection))
    yield writer
    writer.close()


def test_a_batch_is_whole_or_nothing(writer: Writer, tmp_path: Path) -> None:
    batch = Batch()
    batch.put_arm(ArmRow(arm="arm1"))
    batch.audit(b"entry")
    batch.put_principal("user:alice", 1)
    writer.commit(batch).result()
    batch = Batch()
    batch.put_arm(ArmRow(arm="arm2"))
    batch.put_principal("user:bob", 1)
    with pytest.raises(StoreBrokenError, match="SQLITE_CONSTRAINT_UNIQUE"):
        writer.commit(batch).result()
    with sqlite3.connect(tmp_path / "file") as connection:
        assert connection.execute("SELECT arm FROM arm").fetchall() == [("arm1",)]
    connection.close()


def test_how_long_a_transaction_waited_is_told_without_its_own_work(writer: Writer) -> None:
    burnt_s = 0.05

    def work(_: sqlite3.Connection) -> None:
        end_s = thread_time() + burnt_s
        while thread_time() < end_s:
            pass

    begun_s = monotonic()
    writer.run(work).result()
    assert 0 <= writer.waited_s <= monotonic() - begun_s - burnt_s
    writer.run(lambda _: Event().wait(burnt_s)).result()
    assert writer.waited_s >= 0.9 * burnt_s


def test_after_a_failure_everything_is_refused(writer: Writer) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT * FROM nowhere")

    def read(connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT count(*) FROM arm").fetchone()[0])

    assert writer.run(read).result() == 0
    first = writer.run(fail).exception()
    assert isinstance(first, StoreBrokenError)
    assert writer.commit(Batch()).exception() is first
    assert writer.run(read).exception() is first


def test_work_that_finds_no_room_and_is_done_again_takes_nothing_back_of_what_was_before(tmp_path: Path) -> None:
    path = tmp_path / "file"
    connection = connect(path)
    migrate(connection, path)
    writer = Writer(connection, own_anchor(connection), make_room=lambda: True)
    for arm in ("arm1", "arm2"):
        batch = Batch()
        batch.put_arm(ArmRow(arm=arm))
        batch.put_arm(ArmRow(arm="arm1", rev=1 + (arm == "arm2")))
        batch.audit(b"entry")
        writer.commit(batch).result()
    head, commits = writer.head, writer.commits
    tries = []

    def work(connection: sqlite3.Connection) -> None:
        tries.append(connection.in_transaction)
        if len(tries) == 1:
            raise StoreFullError("no room")

    writer.run(work).result()
    assert (tries, writer.head, writer.commits) == ([True, True], head, commits + 1)
    batch = Batch()
    batch.put_arm(ArmRow(arm="arm1", rev=3))
    batch.audit(b"next")
    writer.commit(batch).result()
    writer.end(lambda _: None).result()
    writer.close()
    with closing(sqlite3.connect(path)) as rows:
        assert rows.execute("SELECT arm, rev FROM arm ORDER BY arm").fetchall() == [("arm1", 3), ("arm2", 0)]
        assert check_audit(rows, 0, 3) is None


def test_what_writes_late_rows_does_not_keep_the_loop(writer: Writer) -> None:
    def of(arm: str) -> Batch:
        batch = Batch()
        batch.put_arm(ArmRow(arm=arm))
        return batch

    assert writer.commit_here(of("arm1")) is not None  # nothing is late
    assert writer.commit_here(of("arm1")) is not None  # late
    assert writer.commit_here(of("arm2")) is None  # is new: what is late is written, too
    writer.commit(of("arm2")).result()
    assert writer.commit_here(of("arm2")) is not None


def test_the_next_transaction_is_told_once_and_by_the_thread_that_did_it(writer: Writer) -> None:
    told: list[int] = []
    writer.tell_next(lambda: told.append(writer.commits))
    for _ in range(2):
        writer.run(lambda _: None).result()
    assert told == [writer.commits - 1]


def test_what_is_left_of_the_log_is_copied_before_the_next_commit(writer: Writer, tmp_path: Path) -> None:
    batch = Batch()
    batch.put_principal("user:alice", 1)
    writer.commit(batch).result()
    with closing(connect(tmp_path / "file")) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM principal").fetchall()
        writer.checkpoint()  # an old state is read: that is no error
        writer.run(lambda _: None).result()
        other.execute("ROLLBACK")
        writer.checkpoint()
        ((_, frames, copied),) = writer.run(
            lambda _: other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        ).result()
    assert copied == frames > 0


def test_the_end_waits_for_nobody_who_reads(tmp_path: Path) -> None:
    path = tmp_path / "file"
    connection = connect(path)
    migrate(connection, path)
    writer, begun_s = Writer(connection, own_anchor(connection)), list[float]()
    with closing(connect_reader(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM arm").fetchone()
        writer.run(lambda _: begun_s.append(monotonic())).result()
        writer.close()
        took_s = monotonic() - begun_s[0]
    assert took_s < BUSY_MS / 1000
    with closing(connect_reader(path)) as again:
        assert own_anchor(again).commits == writer.commits
