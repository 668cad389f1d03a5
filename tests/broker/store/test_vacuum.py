"""The file gives back what it does not need."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from broker.store.errors import StoreLockedError
from broker.store.rows import EventRow
from broker.store.schema import APPLICATION_ID, MIGRATIONS, connect
from broker.store.store import FILE, Store, vacuum
from broker.store.vacuum import INCREMENTAL, LEFT_PAGES, auto_vacuum, rewrite, shrinkable

YEAR_US = 365 * 86_400_000_000


async def fill(store: Store, make_event: Callable[..., EventRow]) -> None:
    for seq in range(1, 6_001):
        store.batch.add_event(make_event(seq, body=b"x" * 800))
        store.batch.mark_published("arm1", seq)
    await store.committed()


async def test_the_file_shrinks_after_a_purge(tmp_path: Path, make_event: Callable[..., EventRow]) -> None:
    store = Store.open(tmp_path, lambda: 0)
    await fill(store, make_event)
    store.close()
    before = (tmp_path / FILE).stat().st_size
    store = Store.open(tmp_path, lambda: 0)
    purged = await store.purge(80 * YEAR_US)
    store.close()
    assert purged.forgotten == 5_999
    after = (tmp_path / FILE).stat().st_size
    assert after < before / 3
    assert after <= (LEFT_PAGES + 64) * 4096


def old_file(path: Path) -> None:
    """A file of the first version, which could not shrink."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in MIGRATIONS[0]:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")


def test_a_small_older_file_shrinks_from_its_next_start_on(tmp_path: Path) -> None:
    old_file(tmp_path / FILE)
    Store.open(tmp_path, lambda: 0).close()
    with closing(connect(tmp_path / FILE)) as connection:
        assert auto_vacuum(connection) == INCREMENTAL


def test_a_large_older_file_is_left_until_somebody_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old_file(tmp_path / FILE)
    with closing(connect(tmp_path / FILE)) as connection:
        monkeypatch.setattr("broker.store.vacuum.AT_START_BYTES", 0)
        shrinkable(connection, tmp_path / FILE)
        assert auto_vacuum(connection) == 0
    vacuum(tmp_path)
    with closing(connect(tmp_path / FILE)) as connection:
        assert auto_vacuum(connection) == INCREMENTAL
        rewrite(connection)


def test_a_store_in_use_is_left_alone(tmp_path: Path) -> None:
    store = Store.open(tmp_path, lambda: 0)
    with pytest.raises(StoreLockedError):
        vacuum(tmp_path)
    store.close()
