"""A store of version 5, made by the program that wrote such, and what that program told of it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker.store.audit_check import verify
from broker.store.digest import sql_digest
from broker.store.errors import RowDamagedError
from broker.store.store import FILE, Store
from tests.broker.store.old_stores import told_of, unpacked
from tests.stored import audited
from tests.virtual_plant import Plant, run

NOW_US = 1_900_000_000_000_000
MANY = 2**40


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return unpacked(5, tmp_path / "data")


@pytest.fixture
def told(data: Path) -> dict[str, Any]:
    return told_of(data)


def alter(data: Path, statement: str) -> None:
    with closing(sqlite3.connect(data / FILE, isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount == 1


def plain(row: msgspec.Struct, *without: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(msgspec.json.encode(row))
    for name in without:
        del found[name]
    return found


def test_all_that_it_told_is_told(data: Path, told: dict[str, Any]) -> None:
    store = Store.open(data, lambda: NOW_US)
    loaded = store.load()
    assert loaded.damages == []
    for arm in ("r1", "r2"):
        page = store.history(arm, 0, MANY, None, 500)
        changes = [plain(change, "loosening", "terms", "ground") for change in page.changes]
        assert (changes, page.missing) == (told["history"][arm], [])
        events = store.events(arm, 0, 500, MANY)
        assert ([json.loads(event.body) for event in events.events], events.missing) == (told["events"][arm], [])
    for full_id, row in told["requests"].items():
        found = store.find(*full_id.split("/"))
        assert found is not None
        assert plain(found, "n", "arm", "key") == {name: value for name, value in row.items() if name != "arm"}
    assert [plain(change, "n", "terms") for change in loaded.open_changes] == told["open"]
    assert [f"{row.user}/{row.conn}/{row.id}" for row in loaded.open_requests] == [
        change["request_id"] for change in told["open"]
    ]
    for row in loaded.arms:
        known = told["arms"][row.arm]
        assert plain(row, "heads") == {name: value for name, value in known.items() if name != "heads"}
        assert msgspec.json.decode(row.heads) == known["heads"]
    assert [plain(row) for row in loaded.items] == told["items"]
    store.close()


def test_the_chain_of_the_audit_goes_on(data: Path, told: dict[str, Any]) -> None:
    store = Store.open(data, lambda: NOW_US)
    assert [store.audit_head().n, store.audit_head().hash.hex()] == told["head"]
    store.batch.audit(b"one")
    store.batch.audit(b"two")
    store.close()
    report = verify(data / FILE)
    assert (report.faults, report.head.n) == ([], told["head"][0] + 2)
    assert [entry.decode() for entry in audited(data / FILE)] == [*told["audit"], "one", "two"]
    (copy,) = data.glob("*.v5")
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (5,)


def test_a_service_goes_on_with_it(data: Path, told: dict[str, Any]) -> None:
    async def whole() -> None:
        async with Plant(data) as plant:
            assert (await plant.reply("under-way"))["stage"] == "applied"
            assert (await plant.reply("next"))["stage"] == "applied"
            value = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}
            again = await plant.call("r1", "SetTwistLinearSoftLimit", value, id="applied")
            assert (again["duplicate"], again["stage"], again["seq"]) == (True, "applied", 1)
            events = (await plant.call("r1", "GetEvents", {"after_seq": 0}))["result"]["events"]
            assert events[: len(told["events"]["r1"])] == told["events"]["r1"]
            assert [event["request_id"] for event in events[-2:]] == ["u/c/under-way", "u/c/next"]
            last = [event["seq"] for event in told["events"]["r1"] if event["event"] == events[-2]["event"]][-1]
            assert events[-2]["prev"] == last

    run(whole)


@pytest.mark.parametrize(
    ("statement", "lost"),
    [
        ("UPDATE change SET after = x'00' WHERE request_id = 'u/c/applied'", "history"),
        ("UPDATE change SET reason = 'other' WHERE request_id = 'u/c/applied'", "history"),
        ("UPDATE event SET body = x'7b7d' WHERE arm = 'r1' AND seq = 1", "event"),
        ("UPDATE request SET outcome = x'7b7d' WHERE id = 'applied'", "request"),
        ("UPDATE request SET fingerprint = x'00' WHERE id = 'applied'", "history"),
    ],
)
def test_a_row_that_was_damaged_before_stays_damaged(data: Path, statement: str, lost: str) -> None:
    alter(data, statement)
    store = Store.open(data, lambda: NOW_US)
    (damage,) = store.load().damages
    assert (damage.table, damage.arm) == ("job", "r1")
    with pytest.raises(RowDamagedError):
        store.find("u", "c", "applied")
    assert store.history("r1", 0, MANY, None, 500).missing == ([2] if lost != "request" else [])
    assert store.events("r1", 0, 500, MANY).missing == ([(1, 1)] if lost != "request" else [])
    store.close()


def test_an_open_change_that_was_damaged_holds_its_arm(data: Path) -> None:
    alter(data, "UPDATE change SET key = 'gravity_vector' WHERE request_id = 'u/c/under-way'")
    store = Store.open(data, lambda: NOW_US)
    loaded = store.load()
    store.close()
    assert [damage.arm for damage in loaded.damages] == ["r1"]
    assert "damaged/r1" in loaded.meta
    assert [row.request_id for row in loaded.open_changes] == ["u/c/waits", "u/c/next"]


def test_small_values_that_name_changes_name_them_by_their_new_numbers(data: Path) -> None:
    with closing(sqlite3.connect(data / FILE, isolation_level=None)) as connection:
        connection.create_function("digest", -1, sql_digest)
        (n,) = connection.execute("SELECT n FROM change WHERE request_id = 'u/c/next'").fetchone()
        for key in ("change_starts", "fatal_reads"):
            value = json.dumps({n: 3, 999: 1})
            connection.execute("REPLACE INTO meta VALUES (?1, ?2, digest(?1, ?2))", (key, value))
    store = Store.open(data, lambda: NOW_US)
    loaded = store.load()
    store.close()
    assert [(row.request_id, row.starts) for row in loaded.open_changes] == [
        ("u/c/waits", 0), ("u/c/under-way", 1), ("u/c/next", 4),
    ]  # fmt: skip
    assert json.loads(loaded.meta["fatal_reads"]) == {str(loaded.open_changes[-1].n): 3}
