"""Backups are of one moment and checked; a restored store tells nothing again with other content."""

import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from broker.life import State
from broker.store import anchor
from broker.store.backup import FILE, NOTE, back_up, read_backup, restore
from broker.store.errors import BackupError, HistoryLostError, StoreLockedError
from broker.store.restored import EPOCHS_APART, FENCE_KEY, RESTORED_KEY
from broker.store.rows import ArmRow, ChangeRow, RequestRow
from broker.store.store import Store

Committed = Callable[[Store], Awaitable[None]]
Make = Callable[..., ChangeRow]


@pytest.fixture
async def store(tmp_path: Path, committed: Committed, make_change: Make) -> Iterator[Store]:  # type: ignore[misc]
    """An open store with changes in every state."""
    store = Store.open(tmp_path / "data", lambda: 0)
    store.load()
    states = [*State, State.ACCEPTED]
    for n, state in enumerate(states, 1):
        key = "control_mode" if n == len(states) else "gravity_vector"
        store.batch.add_change(make_change(n, state=state, key=key, epoch=1, cmd_seq=n))
    store.batch.put_arm(ArmRow(arm="arm1", rev=9, cmd_seq=9))
    store.batch.audit(b"entry")
    await committed(store)
    yield store
    store.close()


async def test_a_backup_of_an_open_store_is_of_one_moment(
    store: Store, tmp_path: Path, committed: Committed, make_request: Callable[..., RequestRow]
) -> None:
    backup = back_up(tmp_path / "data", tmp_path / "copy", 77)
    store.batch.add_request(make_request(10))
    store.batch.audit(b"later")
    await committed(store)
    assert (backup.epoch, backup.commits, backup.changes, backup.audit) == (1, 2, 8, 1)
    assert read_backup(tmp_path / "copy") == backup
    assert {path.name for path in (tmp_path / "copy").iterdir()} == {FILE, NOTE}
    with closing(sqlite3.connect(tmp_path / "copy" / FILE)) as copy:
        assert copy.execute("SELECT count(*) FROM job").fetchone() == (8,)
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_backup_gets_a_directory_of_its_own(store: Store, tmp_path: Path) -> None:
    del store
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "mine").touch()
    with pytest.raises(BackupError, match="is not empty"):
        back_up(tmp_path / "data", tmp_path / "copy", 0)
    with pytest.raises(BackupError, match="does not exist"):
        back_up(tmp_path / "nowhere", tmp_path / "other", 0)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE job SET accepted = x'00' WHERE n = 2",
        "UPDATE job SET state = 'settled' WHERE n = 2",
        "UPDATE arm SET rev = 8",
        "UPDATE audit SET entries = x'00'",
        "UPDATE service SET epoch = 9",
    ],
)
def test_no_backup_is_made_of_a_damaged_store(store: Store, tmp_path: Path, statement: str) -> None:
    store.close()
    with closing(sqlite3.connect(tmp_path / "data" / FILE, isolation_level=None)) as connection:
        connection.execute(statement)
    with pytest.raises(BackupError, match="is damaged"):
        back_up(tmp_path / "data", tmp_path / "copy", 0)
    assert not (tmp_path / "copy").exists()


def test_a_backup_that_was_changed_or_cut_is_refused_and_nothing_is_changed(store: Store, tmp_path: Path) -> None:
    store.close()
    back_up(tmp_path / "data", tmp_path / "copy", 0)
    before = (tmp_path / "data" / FILE).read_bytes()
    file = tmp_path / "copy" / FILE
    whole = file.read_bytes()
    for wrong in (whole[:-1], bytes([*whole[:5000], whole[5000] ^ 1, *whole[5001:]])):
        file.write_bytes(wrong)
        with pytest.raises(BackupError, match="is not the file that was backed up"):
            restore(tmp_path / "copy", tmp_path / "data", 0)
    file.write_bytes(whole)
    (tmp_path / "copy" / NOTE).write_text("{}")
    with pytest.raises(BackupError, match="is no whole backup"):
        restore(tmp_path / "copy", tmp_path / "data", 0)
    assert (tmp_path / "data" / FILE).read_bytes() == before


def test_a_served_store_is_not_restored(store: Store, tmp_path: Path) -> None:
    back_up(tmp_path / "data", tmp_path / "copy", 0)
    with pytest.raises(StoreLockedError):
        restore(tmp_path / "copy", tmp_path / "data", 0)
    assert store.test_write()


def test_what_waited_is_held_and_the_epoch_is_above_all(store: Store, tmp_path: Path) -> None:
    back_up(tmp_path / "data", tmp_path / "copy", 1_000_000)
    store.close()
    for _ in range(5):
        later = Store.open(tmp_path / "data", lambda: 0)
        last = later.load().epoch
        later.close()
    restored = restore(tmp_path / "copy", tmp_path / "data", 2_000_000)
    assert restored.epoch == last + EPOCHS_APART
    assert (Path(restored.kept) / FILE).exists()
    assert (Path(restored.kept) / anchor.FILE).exists()
    again = Store.open(tmp_path / "data", lambda: 0)
    loaded = again.load()
    again.close()
    assert loaded.epoch == restored.epoch + 1
    states = {row.n: row.state for row in loaded.open_changes}
    assert states == dict.fromkeys((1, 2, 3, 4, 5, 6), State.HELD) | {8: State.ACCEPTED}
    assert {row.cmd_seq for row in loaded.open_changes if row.state == State.HELD} == {0, 6}
    assert loaded.meta[RESTORED_KEY + "arm1"] == "9"
    assert msgspec.json.decode(loaded.meta[FENCE_KEY + "arm1"]) == [[restored.epoch, 0], False]
    with closing(sqlite3.connect(tmp_path / "data" / FILE)) as connection:
        (entry,) = connection.execute("SELECT entries FROM audit ORDER BY n DESC LIMIT 1").fetchone()
    told = msgspec.json.decode(entry)
    assert (told["decision"], told["commits"], told["epoch"]) == ("restored", 2, restored.epoch)
    assert told["by"]


@pytest.mark.parametrize("left", [(), (anchor.FILE,), (FILE,), (FILE, anchor.FILE)])
def test_a_lost_store_is_restored_whatever_is_left_of_it(store: Store, tmp_path: Path, left: tuple[str, ...]) -> None:
    store.close()
    back_up(tmp_path / "data", tmp_path / "copy", 0)
    for path in (tmp_path / "data").iterdir():
        if path.name in left:
            path.write_bytes(b"rubbish" * 100)
        else:
            path.unlink()
    restored = restore(tmp_path / "copy", tmp_path / "data", 0)
    again = Store.open(tmp_path / "data", lambda: 0)
    assert again.load().epoch == restored.epoch + 1
    again.close()


def test_a_restore_that_is_cut_short_is_told_and_done_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = tmp_path / "later"
    back_up(tmp_path / "data", tmp_path / "copy", 0)
    store.batch.audit(b"later")
    store.close()
    shutil.copytree(tmp_path / "data", later)

    def fail(*_: object) -> None:
        raise OSError(5, "cut short")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(Exception, match="cut short"):
            restore(tmp_path / "copy", later, 1)
    with pytest.raises(HistoryLostError, match="is gone or empty"):
        Store.open(later, lambda: 0)
    restore(tmp_path / "copy", later, 2)
    Store.open(later, lambda: 0).close()
