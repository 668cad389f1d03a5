"""Rows of arms and slots that are written late: whatever happens, a start finds what was committed last, or says so."""

import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from broker.store import batch as module
from broker.store.backup import back_up, restore
from broker.store.batch import MOST_LATE_SLOTS
from broker.store.digest import digest
from broker.store.errors import BackupError, RenameRefusedError, StoreBrokenError
from broker.store.late import put_back
from broker.store.meta_keys import DAMAGED
from broker.store.restored import RESTORED_KEY
from broker.store.rows import ArmRow, ChangeRow, ChangeUpdate, Damage, EventRow, ItemRow, Loaded
from broker.store.schema import connect
from broker.store.store import FILE, Store
from broker.store.tables import ITEMS, LATES
from tests.broker.store.old_stores import told_of, unpacked

ARMS = ("arm1", "arm2", "arm3")
Committed = Callable[[Store], Awaitable[None]]
Changes = Callable[..., ChangeRow]


def slot(arm: str, rev: int, key: str = "twist") -> ItemRow:
    text = f"{rev}".encode()
    return ItemRow(arm=arm, key=key, mode=2, desired=text, desired_rev=rev, last_rev=rev, reported=text, set_by=b"u")


def arm_row(arm: str, rev: int) -> ArmRow:
    heads = b'{"t":%d}' % rev if rev else b"{}"
    return ArmRow(arm=arm, rev=rev, seq=rev, cmd_seq=rev, adopted=True, serial=f"S-{arm}", heads=heads)


def change(store: Store, arm: str, n: int, rev: int, make_change: Changes) -> None:
    """A change that has its end."""
    batch = store.batch
    batch.add_change(make_change(n, arm=arm, rev=rev))
    batch.update_change(ChangeUpdate(n=n, state="settled", outcome="applied", seq=rev, settled_at_us=n))
    batch.add_event(EventRow(n=n, arm=arm, seq=rev, epoch=1, prev=rev - 1, rev=rev, at_us=n, topic="t", body=b"{}"))
    batch.put_arm(arm_row(arm, rev))
    batch.put_item(slot(arm, rev))
    batch.audit(b"{}")


@pytest.fixture
async def data(tmp_path: Path, committed: Committed, make_change: Changes) -> Path:
    """A store that ended uncleanly: three arms of two slots, and two changes of each that are late."""
    data = tmp_path / "data"
    store = Store.open(data, lambda: 1)
    store.load()
    for arm in ARMS:
        store.batch.put_arm(arm_row(arm, 0))
        store.batch.put_item(slot(arm, 0))
        store.batch.put_item(slot(arm, 0, "gravity"))
    await committed(store)
    for rev in (1, 2):
        for number, arm in enumerate(ARMS):
            change(store, arm, 3 * rev + number, rev, make_change)
        await committed(store)
    store.close(clean=False)
    return data


def many(data: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(data / FILE)) as connection:
        return connection.execute(query).fetchall()


def alter(data: Path, statement: str, values: tuple[object, ...] = ()) -> None:
    with closing(sqlite3.connect(data / FILE, isolation_level=None)) as connection:
        assert connection.execute(statement, values).rowcount == 1


def loaded_from(data: Path, **how: object) -> Loaded:
    store = Store.open(data, lambda: 2, **how)  # type: ignore[arg-type]
    try:
        return store.load()
    finally:
        store.close(clean=False)


def revs(data: Path) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """What the tables themselves say."""
    return (
        many(data, "SELECT arm, rev FROM arm ORDER BY arm"),
        many(data, "SELECT arm, last_rev FROM item WHERE key = 'twist' ORDER BY arm"),
    )


LAST = [(arm, 2) for arm in ARMS]
AS_MET = [(arm, 0) for arm in ARMS]


def test_a_start_writes_what_was_late(data: Path) -> None:
    assert revs(data) == (AS_MET, AS_MET)
    assert many(data, "SELECT count(*) FROM late") == [(6,)]
    loaded = loaded_from(data)
    assert loaded.damages == []
    assert loaded.arms == [arm_row(arm, 2) for arm in ARMS]
    assert loaded.items == [row for arm in ARMS for row in (slot(arm, 0, "gravity"), slot(arm, 2))]
    assert revs(data) == (LAST, LAST)
    assert many(data, "SELECT count(*) FROM late") == [(0,)]


def test_what_a_start_before_wrote_stays(data: Path) -> None:
    with closing(connect(data / FILE)) as connection:
        assert put_back(connection) == []
        before = list(connection.iterdump())
        assert put_back(connection) == []
        assert list(connection.iterdump()) == before
    assert loaded_from(data).items == loaded_from(data).items


async def test_a_clean_end_leaves_nothing_late(data: Path, committed: Committed, make_change: Changes) -> None:
    store = Store.open(data, lambda: 1)
    store.load()
    change(store, "arm2", 20, 3, make_change)
    await committed(store)
    assert revs(data) == (LAST, LAST)
    commits = store._writer.commits
    store.close()
    assert revs(data) == ([("arm1", 2), ("arm2", 3), ("arm3", 2)],) * 2
    assert many(data, "SELECT count(*) FROM late") == [(0,)]
    assert many(data, "SELECT commits FROM service") == [(commits + 1,)]


async def test_rows_of_a_new_arm_are_written_at_once_with_all_that_is_late(data: Path, committed: Committed) -> None:
    store = Store.open(data, lambda: 1)
    store.load()
    store.batch.put_item(slot("arm1", 3))
    await committed(store)
    store.batch.put_arm(arm_row("arm4", 1))
    store.batch.put_item(slot("arm1", 4))
    await committed(store)
    assert many(data, "SELECT rev FROM arm WHERE arm = 'arm4'") == [(1,)]
    assert many(data, "SELECT last_rev FROM item WHERE arm = 'arm1' AND key = 'twist'") == [(4,)]
    assert many(data, "SELECT count(*) FROM late") == [(0,)]
    store.batch.put_arm(arm_row("arm4", 2))
    await committed(store)
    assert many(data, "SELECT arm FROM late") == [("arm4",)]
    store.close(clean=False)
    assert arm_row("arm4", 2) in loaded_from(data).arms


async def test_many_slots_are_not_late(data: Path, committed: Committed) -> None:
    store = Store.open(data, lambda: 1)
    store.load()
    store.batch.put_item(slot("arm1", 3))
    await committed(store)
    for number in range(MOST_LATE_SLOTS):
        store.batch.put_item(slot("arm2", 3, f"item{number}"))
    await committed(store)
    assert many(data, "SELECT count(*) FROM late") == [(0,)]
    assert many(data, "SELECT count(*) FROM item WHERE last_rev = 3") == [(MOST_LATE_SLOTS + 1,)]
    store.close(clean=False)


@pytest.mark.parametrize("most", [2, 4, 5, 40])
async def test_however_much_may_be_late_the_last_rows_count(
    data: Path, committed: Committed, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(module, "MOST_LATE", most)
    store = Store.open(data, lambda: 1)
    store.load()
    for rev in range(3, 16):
        arm = ARMS[rev % 3]
        store.batch.put_arm(arm_row(arm, rev))
        store.batch.put_item(slot(arm, rev))
        await committed(store)
        assert int(many(data, "SELECT count(*) FROM late")[0][0]) <= most  # type: ignore[call-overload]
    store.close(clean=False)
    loaded = loaded_from(data)
    assert [row.rev for row in loaded.arms] == [15, 13, 14]
    assert [row.last_rev for row in loaded.items if row.key == "twist"] == [15, 13, 14]


async def test_a_commit_that_finds_no_room_and_is_done_again_keeps_what_was_late(
    data: Path, committed: Committed, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(data, lambda: 1)
    store.load()
    store.batch.put_item(slot("arm1", 3))
    await committed(store)
    connection, writer = store._writer._connection, store._writer
    asked: list[int] = []

    def make_room() -> bool:
        asked.append(connection.execute("PRAGMA max_page_count = 100000").fetchone()[0])
        return True

    monkeypatch.setattr(writer, "_make_room", make_room)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    for number in range(MOST_LATE_SLOTS):
        store.batch.put_item(msgspec.structs.replace(slot("arm2", 3, f"item{number}"), set_by=bytes(1000)))
    await committed(store)
    assert asked
    assert many(data, "SELECT last_rev FROM item WHERE arm = 'arm1' AND key = 'twist'") == [(3,)]
    store.close(clean=False)
    assert slot("arm1", 3) in loaded_from(data).items


# ------------------------------------------------------------------ damage


def bits(value: object) -> Iterator[object]:
    """A value of the file with one bit flipped, in each byte of a name and in some of a blob."""
    if isinstance(value, int):
        yield from (value ^ 1 << bit for bit in (1, 30, 61))
    else:
        raw = value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[call-overload]
        for at in range(0, len(raw), 1 if isinstance(value, str) else 11):
            yield raw[:at] + bytes([raw[at] ^ 1 << at % 8]) + raw[at + 1 :]


def test_the_row_of_an_arm_goes_with_the_first_of_its_slots(data: Path) -> None:
    store = Store.open(data, lambda: 1)
    store.load()
    for arm, number in (("arm1", 7), ("arm2", 8)):
        store.batch.put_arm(arm_row(arm, number))
    for key in ("gravity", "twist"):
        store.batch.put_item(slot("arm1", 7, key))
    store.batch.put_item(slot("arm3", 7))
    store._drain()
    store.close(clean=False)
    rows = many(data, "SELECT arm, slot FROM late ORDER BY rowid")
    assert rows == [("arm1", "gravity/2"), ("arm1", "twist/2"), ("arm3", "twist/2"), ("arm2", "")]
    loaded = loaded_from(data)
    assert loaded.damages == []
    assert [(row.arm, row.rev) for row in loaded.arms] == [("arm1", 7), ("arm2", 8), ("arm3", 2)]
    assert [(row.arm, row.key, row.last_rev) for row in loaded.items if row.last_rev == 7] == [
        ("arm1", "gravity", 7), ("arm1", "twist", 7), ("arm3", "twist", 7)
    ]  # fmt: skip


def test_where_the_late_row_of_an_arm_alone_is_damaged_its_slots_are_given(data: Path) -> None:
    store = Store.open(data, lambda: 1)
    store.load()
    store.batch.put_arm(arm_row("arm2", 2))
    store._drain()
    store.close(clean=False)
    alter(data, "UPDATE late SET row = x'00'")
    loaded = loaded_from(data)
    assert {key: value for key, value in loaded.meta.items() if key.startswith(DAMAGED)} == {f"{DAMAGED}arm2": "arm"}
    assert loaded.items == [row for arm in ARMS for row in (slot(arm, 0, "gravity"), slot(arm, 2))]


@pytest.mark.parametrize("rowid", [2, 5])  # all of arm2, of both of its changes
def test_where_a_late_row_is_damaged_its_arm_is_held_and_no_other(data: Path, tmp_path: Path, rowid: int) -> None:
    """What may be older is not given."""
    ((arm, slot_name, row, said),) = many(data, f"SELECT * FROM late WHERE rowid = {rowid}")  # noqa: S608
    assert arm == "arm2"
    for column, value in (("arm", arm), ("slot", slot_name), ("row", row), ("hash", said)):
        for wrong in bits(value):
            shutil.rmtree(tmp_path / "other", ignore_errors=True)
            other = shutil.copytree(data, tmp_path / "other")
            put = "CAST(? AS TEXT)" if column in ("arm", "slot") else "?"
            alter(other, f"UPDATE late SET {column} = {put} WHERE rowid = {rowid}", (wrong,))  # noqa: S608
            loaded = loaded_from(other)
            assert Damage("late", "arm2", str(slot_name), "hash differs") in loaded.damages
            held = {key: value for key, value in loaded.meta.items() if key.startswith(DAMAGED)}
            assert held == {f"{DAMAGED}arm2": "item twist/2, arm"}
            lost = [slot("arm2", 2)]
            assert loaded.items == [
                row for arm in ARMS for row in (slot(arm, 0, "gravity"), slot(arm, 2)) if row not in lost
            ]
            numbered = [(row.arm, row.rev, row.seq, row.heads) for row in loaded.arms]
            assert numbered == [(arm, 2, 2, b'{"t":2}') for arm in ARMS]
            assert loaded_from(other).damages == []


@pytest.mark.parametrize(
    ("wrong", "held", "left"),
    [
        ("slot = 'nothing/1'", {"arm2"}, {"arm1", "arm3"}),
        ("slot = 'nothing'", {"arm2"}, {"arm1", "arm3"}),
        ("arm = 'nobody'", {*ARMS}, set()),
    ],
)
def test_where_nobody_knows_what_a_late_row_was_all_that_it_may_have_been_is_lost(
    data: Path, wrong: str, held: set[str], left: set[str]
) -> None:
    alter(data, f"UPDATE late SET {wrong} WHERE rowid = 5")  # noqa: S608
    loaded = loaded_from(data)
    assert {key.removeprefix(DAMAGED) for key in loaded.meta if key.startswith(DAMAGED)} == held
    assert {row.arm for row in loaded.items} == left
    assert [row.rev for row in loaded.arms] == [2, 2, 2]


def test_an_old_row_that_is_damaged_is_mended_by_a_late_one(data: Path) -> None:
    alter(data, "UPDATE item SET desired = x'00' WHERE arm = 'arm1' AND key = 'twist'")
    alter(data, "UPDATE arm SET rev = 9 WHERE arm = 'arm1'")
    loaded = loaded_from(data)
    assert (loaded.damages, loaded.arms) == ([], [arm_row(arm, 2) for arm in ARMS])


def test_a_large_store_whose_late_rows_are_cut_is_refused(data: Path) -> None:
    with closing(sqlite3.connect(data / FILE)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'late'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    content = bytearray((data / FILE).read_bytes())
    cells = (root - 1) * size + 4
    assert content[cells] == 6
    content[cells] -= 1
    (data / FILE).write_bytes(content)
    with pytest.raises(StoreBrokenError, match="pages of the store are damaged"):
        loaded_from(data, whole_bytes=0)


# ------------------------------------------------------------------ copies, names, versions


def test_a_backup_of_a_served_store_has_what_was_late_once_it_is_restored(
    data: Path, tmp_path: Path, make_change: Changes
) -> None:
    store = Store.open(data, lambda: 1)
    store.load()
    change(store, "arm3", 20, 3, make_change)
    store._drain()
    back_up(data, tmp_path / "copy", 0)
    store.close()
    assert many(tmp_path / "copy", "SELECT arm, slot FROM late") == [("arm3", "twist/2")]
    restore(tmp_path / "copy", tmp_path / "other", 0)
    assert revs(tmp_path / "other") == ([("arm1", 2), ("arm2", 2), ("arm3", 3)],) * 2
    loaded = loaded_from(tmp_path / "other")
    assert [loaded.meta[RESTORED_KEY + arm] for arm in ARMS] == ["2", "2", "3"]
    assert loaded.items == loaded_from(data).items


def test_no_backup_has_a_damaged_late_row(data: Path, tmp_path: Path) -> None:
    alter(data, "UPDATE late SET row = x'00' WHERE rowid = 4")
    with pytest.raises(BackupError, match="row twist/2 of late arm1"):
        back_up(data, tmp_path / "copy", 0)


def test_an_arm_that_is_renamed_takes_along_what_was_late(data: Path) -> None:
    loaded = loaded_from(data, renames={"arm9": "arm2"})
    assert [(row.arm, row.rev, row.serial) for row in loaded.arms] == [
        ("arm1", 2, "S-arm1"), ("arm3", 2, "S-arm3"), ("arm9", 2, "S-arm2"),
    ]  # fmt: skip
    assert [row.last_rev for row in loaded.items if row.arm == "arm9"] == [0, 2]


def test_a_name_under_which_something_was_set_is_not_given_away_while_its_row_is_late(
    data: Path, make_change: Changes
) -> None:
    store = Store.open(data, lambda: 1)
    store.load()
    store.batch.put_arm(msgspec.structs.replace(arm_row("new", 0), serial="S-arm1"))
    store._drain()
    assert store.renames_due({"new": "arm1"}) == {"new": "arm1"}
    change(store, "new", 20, 2, make_change)
    store._drain()
    assert many(data, "SELECT rev FROM arm WHERE arm = 'new'") == [(0,)]
    with pytest.raises(RenameRefusedError, match="knows both arm1 and new"):
        store.renames_due({"new": "arm1"})
    store.close()


def test_a_store_of_the_version_before_goes_on(tmp_path: Path) -> None:
    """It was written by the program before, and what is told is what that program loaded."""
    told = told_of(unpacked(7, tmp_path))
    loaded = loaded_from(tmp_path)
    assert loaded.damages == []
    assert msgspec.to_builtins([loaded.arms, loaded.items]) == [told["arms"], told["items"]]
    assert msgspec.to_builtins(loaded.open_changes) == told["open"]
    (copy,) = tmp_path.glob("*.v7")
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (7,)


def test_a_row_that_older_programs_wrote_has_the_defaults_of_newer_fields(data: Path) -> None:
    row = msgspec.msgpack.encode(["arm2", "twist", 2, b"d"])
    values = ("arm2", "twist/2", row)
    with closing(connect(data / FILE)) as connection:
        connection.execute(LATES.put.text(1), (*values, digest(values)))
        put_back(connection)
        (found,) = connection.execute("SELECT * FROM item WHERE arm = 'arm2' AND key = 'twist'").fetchall()
    assert found == tuple(ITEMS.make(ItemRow(arm="arm2", key="twist", mode=2, desired=b"d")))
