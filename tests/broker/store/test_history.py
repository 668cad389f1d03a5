"""A store that knows less than its anchor does not open, unless somebody accepts that."""

import os
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from broker.life import State
from broker.store import anchor
from broker.store.errors import HistoryLostError, StoreBrokenError
from broker.store.restored import EPOCHS_APART
from broker.store.rows import ArmRow, ChangeRow, RequestRow
from broker.store.store import FILE, Store

Committed = Callable[[Store], Awaitable[None]]
MakeRequest = Callable[..., RequestRow]
MakeChange = Callable[..., ChangeRow]
LEFT = "left"


@pytest.fixture
async def killed(tmp_path: Path, committed: Committed, make_request: MakeRequest, make_change: MakeChange) -> Path:
    """A directory as a kill leaves it: ten commits in the write-ahead log; five are there in `left`, too."""
    store = Store.open(tmp_path / "store", lambda: 0)
    store.load()
    for n in range(1, 11):
        store.batch.add_request(make_request(n, settled=False, reply_open=False, outcome=b""))
        store.batch.add_change(make_change(n, state=State.ACCEPTED))
        store.batch.put_arm(ArmRow(arm="arm1", rev=n))
        store.batch.audit(b"entry %d" % n)
        await committed(store)
        if n in (5, 10):
            shutil.copytree(tmp_path / "store", tmp_path / f"{LEFT}{n}")
    store.close()
    (tmp_path / f"{LEFT}10").rename(tmp_path / "killed")
    return tmp_path / "killed"


def refused(directory: Path) -> str:
    with pytest.raises(HistoryLostError) as caught:
        Store.open(directory, lambda: 0)
    assert "--accept-lost-history" in str(caught.value)
    assert "armbroker restore" in str(caught.value)
    return str(caught.value)


def test_a_killed_store_opens(killed: Path) -> None:
    store = Store.open(killed, lambda: 0)
    assert [row.n for row in store.load().open_requests] == list(range(1, 11))
    store.close()


def test_a_removed_log_is_told_with_what_is_missing(killed: Path) -> None:
    (killed / f"{FILE}-wal").unlink()
    assert "is gone or empty: its anchor tells of 11 commits up to epoch 1" in refused(killed)


def test_a_removed_log_after_a_checkpoint_is_told(killed: Path, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / f"{LEFT}5", tmp_path / "older")
    Store.open(tmp_path / "older", lambda: 0).close()
    shutil.copy(tmp_path / "older" / FILE, killed / FILE)
    (killed / f"{FILE}-wal").unlink()
    assert "requests 6 to 10, changes 6 to 10, audit entries 6 to 10 are missing" in refused(killed)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_log_is_told_wherever_it_is_cut(killed: Path, part: float) -> None:
    log = killed / f"{FILE}-wal"
    os.truncate(log, int(log.stat().st_size * part))
    refused(killed)


def test_the_last_commit_is_missed(killed: Path) -> None:
    log = killed / f"{FILE}-wal"
    os.truncate(log, log.stat().st_size - 1)
    said = refused(killed)
    assert "requests 10 to 10, changes 10 to 10, audit entries 10 to 10 are missing" in said


def test_an_older_copy_is_told_and_nothing_is_changed(killed: Path, tmp_path: Path) -> None:
    for name in (FILE, f"{FILE}-wal"):
        shutil.copy(tmp_path / f"{LEFT}5" / name, killed / name)
    before = {path.name: path.read_bytes() for path in killed.glob("store.*") if not path.name.endswith("-shm")}
    said = refused(killed)
    assert "requests 6 to 10, changes 6 to 10, audit entries 6 to 10 are missing" in said
    assert {path.name: path.read_bytes() for path in killed.glob("store.*") if not path.name.endswith("-shm")} == before


def test_a_missing_anchor_is_told(killed: Path) -> None:
    (killed / anchor.FILE).unlink()
    assert f"{anchor.FILE} is missing beside a store of 11 commits" in refused(killed)


def test_a_damaged_anchor_is_told(killed: Path) -> None:
    (killed / anchor.FILE).write_bytes(bytes(2 * os.sysconf("SC_PAGE_SIZE")))
    assert f"{anchor.FILE} is damaged" in refused(killed)


def test_the_anchor_of_another_store_is_told(killed: Path, tmp_path: Path) -> None:
    other = Store.open(tmp_path / "other", lambda: 0)
    other.load()
    other.close()
    shutil.copy(tmp_path / "other" / anchor.FILE, killed / anchor.FILE)
    assert "the anchor beside it is of store" in refused(killed)


@pytest.mark.parametrize("empty", [False, True])
def test_a_removed_store_is_told(killed: Path, empty: bool) -> None:
    for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
        (killed / name).unlink(missing_ok=True)
    if empty:
        (killed / FILE).touch()
    assert f"{FILE} is gone or empty: its anchor tells of 11 commits up to epoch 1" in refused(killed)
    assert (killed / FILE).exists() is empty


def test_a_forged_end_of_the_same_length_is_told(killed: Path) -> None:
    """Commits counted up to the anchor, and another chain below."""
    Store.open(killed, lambda: 0).close()
    with closing(sqlite3.connect(killed / FILE, isolation_level=None)) as connection:
        connection.execute("DELETE FROM audit")
    with pytest.raises(StoreBrokenError, match=r"audit entry 10 of .* is not the one in its anchor"):
        Store.open(killed, lambda: 0)


def test_a_start_of_an_empty_store_that_was_killed_is_no_loss(tmp_path: Path) -> None:
    Store.open(tmp_path / "store", lambda: 0).close()
    (tmp_path / "store" / anchor.FILE).unlink()
    Store.open(tmp_path / "store", lambda: 0).close()


def test_what_is_left_is_accepted_in_a_higher_epoch_with_all_that_waits_held(killed: Path, tmp_path: Path) -> None:
    for name in (FILE, f"{FILE}-wal"):
        shutil.copy(tmp_path / f"{LEFT}5" / name, killed / name)
    store = Store.open(killed, lambda: 77, accept_lost=True)
    loaded = store.load()
    assert loaded.epoch == 1 + EPOCHS_APART + 1
    assert {row.state for row in loaded.open_changes} == {State.HELD}
    assert loaded.meta["restored/arm1"] == "5"
    store.close()
    with closing(sqlite3.connect(killed / FILE)) as connection:
        n, entry = connection.execute("SELECT n, entries FROM audit ORDER BY n DESC LIMIT 1").fetchone()
    told = msgspec.json.decode(entry)
    assert n == 6
    assert told["decision"] == "lost_history_accepted"
    assert "requests 6 to 10" in told["reason"]
    assert told["epoch"] == 1 + EPOCHS_APART
    Store.open(killed, lambda: 0).close()


def test_a_whole_store_is_accepted_as_it_is(killed: Path) -> None:
    store = Store.open(killed, lambda: 0, accept_lost=True)
    loaded = store.load()
    assert loaded.epoch == 2
    assert {row.state for row in loaded.open_changes} == {State.ACCEPTED}
    store.close()


def test_a_removed_store_is_accepted_with_a_higher_epoch(killed: Path) -> None:
    for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
        (killed / name).unlink(missing_ok=True)
    store = Store.open(killed, lambda: 0, accept_lost=True)
    assert store.load().epoch > EPOCHS_APART
    store.close()
