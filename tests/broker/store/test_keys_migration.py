"""A store of version 9, made by the program that wrote such, and what that program told of its requests."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker.store import job
from broker.store.errors import RowDamagedError
from broker.store.store import FILE, Store
from tests.broker.store.old_stores import told_of, unpacked

NOW_US = 1_900_000_000_000_000


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return unpacked(9, tmp_path / "data")


def plain(row: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(msgspec.json.encode(row))
    return found


def test_each_request_is_found_by_its_name_and_number(data: Path) -> None:
    requests = told_of(data)["requests"]
    store = Store.open(data, lambda: NOW_US)
    assert store.load().damages == []
    for n, told in requests.items():
        key = job.key_of(told["user"], told["conn"], told["id"])
        assert plain(store.request(int(n))) == {**told, "key": key}
        assert plain(store.known(told["user"], told["conn"], told["id"])) == {**told, "key": key}
    names = [(told["user"], told["conn"], told["id"]) for told in requests.values()]
    assert store.unused([*names, ("alice", "plc-3", "7-000040")]).keys() == {("alice", "plc-3", "7-000040")}
    store.close()
    (copy,) = data.glob("*.v9")
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (9,)


def test_ids_that_count_lie_together(data: Path) -> None:
    Store.open(data, lambda: NOW_US).close()
    with closing(sqlite3.connect(data / FILE)) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM job WHERE n <= 40 ORDER BY n")]
        assert keys == list(range(keys[0], keys[0] + 40))
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


FLIPPED = "accepted = CAST(substr(accepted, 1, 20) || 'x' || substr(accepted, 22) AS BLOB)"


@pytest.mark.parametrize("damage", ["key = key + 2", FLIPPED])
def test_rows_that_are_damaged_stay_so(data: Path, damage: str) -> None:
    with closing(sqlite3.connect(data / FILE, isolation_level=None)) as connection:
        connection.execute(f"UPDATE job SET {damage} WHERE n = 7")  # noqa: S608 - of this test
        before = connection.execute("SELECT key, accepted FROM job WHERE n = 7").fetchone()
    store = Store.open(data, lambda: NOW_US)
    assert [one.key.split("/")[0] for one in store.load().damages] == ["7"]
    store.close()
    with closing(sqlite3.connect(data / FILE)) as connection:
        assert connection.execute("SELECT key, accepted FROM job WHERE n = 7").fetchone() == before


def test_a_repeat_of_a_damaged_request_is_not_taken_for_a_new_one(data: Path) -> None:
    """As before the migration: nobody knows what came of it."""
    with closing(sqlite3.connect(data / FILE, isolation_level=None)) as connection:
        connection.execute(f"UPDATE job SET {FLIPPED} WHERE n IN (7, 45)")  # noqa: S608 - of this test
    for _ in ("migrated", "opened again"):
        store = Store.open(data, lambda: NOW_US)
        store.load()
        names = [(told["user"], told["conn"], told["id"]) for told in told_of(data)["requests"].values()]
        assert store.unused([*names, ("alice", "plc-3", "7-000040")]).keys() == {("alice", "plc-3", "7-000040")}
        for n in (7, 45):
            with pytest.raises(RowDamagedError, match="/".join(names[n - 1])):
                store.known(*names[n - 1])
        assert store.known(*names[7]) is not None
        store.close()
