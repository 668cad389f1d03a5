"""A store of version 8, made by the program that wrote such, and what that program told of it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker.store import job
from broker.store.store import FILE, Store
from tests.broker.store.old_stores import told_of, unpacked

NOW_US = 1_900_000_000_000_000
MANY = 2**40


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return unpacked(8, tmp_path / "data")


@pytest.fixture
def told(data: Path) -> dict[str, Any]:
    return told_of(data)


def plain(rows: object) -> Any:
    return json.loads(msgspec.json.encode(rows))


def test_all_that_it_told_is_told(data: Path, told: dict[str, Any]) -> None:
    store = Store.open(data, lambda: NOW_US)
    assert store.load().damages == []
    for arm, changes in told["history"].items():
        page = store.history(arm, 0, MANY, None, 5000)
        assert (plain(page.changes), page.missing) == (changes, [])
        assert (
            plain(store.history(arm, 5, 30, "tool", 3).changes)
            == [change for change in changes if 5 < change["rev"] < 30 and change["key"] == "tool"][:3]
        )
        events = store.events(arm, 0, 5000, MANY)
        assert (plain(events.events), events.missing) == (told["events"][arm], [])
        assert plain(store.events(arm, 20, 4, MANY).events) == told["events"][arm][20:24]
    for n, row in told["requests"].items():
        assert plain(store.request(int(n))) == {**row, "key": job.key_of(row["user"], row["conn"], row["id"])}
    store.close()


def test_eras_follow_the_order_of_revisions_and_events(data: Path) -> None:
    Store.open(data, lambda: NOW_US).close()
    with closing(sqlite3.connect(data / FILE)) as connection:
        query = f"SELECT {job.SELECT} FROM job"  # noqa: S608 - constants
        rows = [job.Job(values) for values in connection.execute(query).fetchall()]
        assert all(row.whole for row in rows)
        assert {row._values[job.REV_ERA] > job.era_of(row.n) for row in rows} == {True, False}
        assert {row._values[job.SEQ_ERA] > job.era_of(row.n) for row in rows} == {True, False}
        for given in ("rev", "seq"):
            query = f"SELECT arm, {given}_era FROM job WHERE {given} > 0 ORDER BY arm, {given}"  # noqa: S608 - constants
            found = connection.execute(query).fetchall()
            assert found == sorted(found)
            (none,) = connection.execute(f"SELECT max({given}_era) FROM job WHERE {given} = 0").fetchone()  # noqa: S608
            assert none == 0
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    (copy,) = data.glob("*.v8")
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (8,)


@pytest.mark.parametrize("column", ["accepted", "ended"])
def test_rows_that_are_damaged_stay_so(data: Path, column: str) -> None:
    with closing(sqlite3.connect(data / FILE, isolation_level=None)) as connection:
        (n,) = connection.execute(
            "SELECT n FROM job AS one WHERE rev > 0 AND seq > 0 AND EXISTS (SELECT 1 FROM job AS other WHERE "
            "other.arm = one.arm AND other.n > one.n + 1023 AND other.seq < one.seq AND other.seq > 0)"
        ).fetchone()
        flipped = f"UPDATE job SET {column} = CAST(substr({column}, 1, 20) || 'x' || substr({column}, 22) AS BLOB)"  # noqa: S608
        connection.execute(f"{flipped} WHERE n = ?", (n,))
    store = Store.open(data, lambda: NOW_US)
    damages = store.load().damages
    assert [damage.key.split("/")[0] for damage in damages] == [str(n)]
    store.close()
