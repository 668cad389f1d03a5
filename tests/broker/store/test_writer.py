import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.store.batch import Batch
from broker.store.errors import StoreBrokenError
from broker.store.history import own_anchor
from broker.store.rows import ArmRow
from broker.store.schema import connect, migrate
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
