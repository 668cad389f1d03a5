"""An arm goes on under another name: all that the store holds of it, with hashes that agree."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from broker.life import State
from broker.store import job
from broker.store.errors import RenameRefusedError
from broker.store.meta_keys import DAMAGED, FIRST_NAME, RENAMED
from broker.store.rename import OF_ARM
from broker.store.rows import ArmRow, ChangeRow, EventRow, FirstRow, HandleRow, ItemRow, Loaded, PlanArmRow
from broker.store.seals import agrees, all_rows, selected
from broker.store.store import FILE, Store
from broker.store.tables import META, SEALS
from tests.stored import audited

Committed = Callable[[Store], Awaitable[None]]
RENAMES = {"r12": "r13"}
OTHER = "s7"


def put_arm(store: Store, arm: str, first: int, make_change: Callable[..., ChangeRow]) -> None:
    """Something in every table."""
    batch = store.batch
    heads = b'{"t1":1,"t2":2}'
    batch.put_arm(
        ArmRow(arm=arm, rev=3, seq=2, cmd_seq=5, adopted=True, serial=f"S-{arm}", description=b"{}", heads=heads)
    )
    batch.mark_published(arm, 1)
    batch.put_item(ItemRow(arm=arm, key="twist", mode=1, desired=b"1", desired_rev=3, last_rev=3, reported=b"1"))
    batch.put_first(FirstRow(arm=arm, key="frame", value=b"2"))
    batch.put_ground((arm, "gravity_vector", 0), b"ground")
    batch.put_override(arm, 5, b"override")
    batch.add_change(make_change(first, arm=arm, rev=2))
    batch.add_change(make_change(first + 1, arm=arm, rev=3, state=State.HELD))
    for seq in (1, 2):
        batch.add_event(
            EventRow(
                n=first + seq + 1, arm=arm, seq=seq, epoch=1, prev=0, rev=2, at_us=seq, topic=f"t{seq}", body=b"{}"
            )
        )
    batch.put_handle(
        HandleRow(identifier=first, user="u", conn="c", arm=arm, topic="TWIST", created_us=1, last_seen_us=1)
    )
    batch.put_row("plan_row", (1, arm), PlanArmRow(plan_n=1, arm=arm, state="stored", change_n=first))
    batch.set_meta(f"authority/{arm}", "advise")
    batch.set_meta(f"fence/{arm}", "x")


@pytest.fixture
async def data(tmp_path: Path, committed: Committed, make_change: Callable[..., ChangeRow]) -> Path:
    """A closed store of the arms r13 and s7."""
    store = Store.open(tmp_path / "store", lambda: 1)
    store.load()
    put_arm(store, "r13", 1, make_change)
    put_arm(store, OTHER, 11, make_change)
    store.batch.audit(b'{"at": 1}')
    await committed(store)
    store.close()
    return tmp_path / "store"


def opened(data: Path, renames: dict[str, str], look: Callable[[Store, Loaded], None] = lambda *_: None) -> Loaded:
    store = Store.open(data, lambda: 2, renames=renames)
    try:
        loaded = store.load()
        look(store, loaded)
    finally:
        store.close()
    return loaded


def names(data: Path) -> dict[str, set[str]]:
    """The arms that each table names."""
    with closing(sqlite3.connect(data / FILE)) as connection:
        return {
            table: {name for (name,) in connection.execute(f"SELECT arm FROM {table}")}  # noqa: S608
            for table in (*(seal.table for seal in OF_ARM), "job")
        }


def wrong(data: Path) -> list[str]:
    """The tables in which a row does not agree with its hash."""
    with closing(sqlite3.connect(data / FILE)) as connection:
        return [
            seal.table
            for seal in SEALS
            for values in all_rows(connection, f"SELECT {selected(seal)} FROM {seal.table}")  # noqa: S608
            if not agrees(seal, values)
        ] + ["job" for values in all_rows(connection, f"SELECT {job.SELECT} FROM job") if not job.Job(values).whole]  # noqa: S608


def alter(data: Path, statement: str) -> None:
    with closing(sqlite3.connect(data / FILE, isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount == 1


def test_everything_goes_over_and_agrees_with_its_hash(data: Path) -> None:
    def look(store: Store, loaded: Loaded) -> None:
        assert [change.rev for change in store.history("r12", 0, 99, None, 10).changes] == [3, 2]
        assert [event.seq for event in store.events("r12", 0, 10, 9999).events] == [1, 2]
        assert store.events("r13", 0, 10, 9999).events == []
        assert [(row.arm, row.serial, row.cmd_seq, row.published_seq) for row in loaded.arms] == [
            ("r12", "S-r13", 5, 1), (OTHER, "S-s7", 5, 1),
        ]  # fmt: skip

    loaded = opened(data, RENAMES, look)
    assert {table: found for table, found in names(data).items() if found != {"r12", OTHER}} == {}
    assert (loaded.damages, wrong(data)) == ([], [])
    assert {key: value for key, value in loaded.meta.items() if "r1" in key} == {
        "authority/r12": "advise", "fence/r12": "x", FIRST_NAME + "r12": "r13", RENAMED + "r12": "r13",
    }  # fmt: skip
    assert loaded.meta["authority/s7"] == "advise"
    assert [row.heads for row in loaded.arms] == [b'{"t1":1,"t2":2}'] * 2


def test_it_is_in_the_audit_whose_chain_goes_on(data: Path) -> None:
    opened(data, RENAMES)
    assert audited(data / FILE) == [b'{"at": 1}', b'{"at":2,"arm":"r12","decision":"renamed","was":"r13"}']
    assert opened(data, {}).damages == []


def test_a_setting_that_stays_does_nothing_more(data: Path) -> None:
    first = opened(data, RENAMES)
    second = opened(data, RENAMES)
    assert (second.arms, second.items, second.damages) == (first.arms, first.items, [])
    with closing(sqlite3.connect(data / FILE)) as connection:
        assert connection.execute("SELECT count(*) FROM audit").fetchone() == (2,)


def test_an_old_name_that_nobody_knows_means_nothing(data: Path) -> None:
    before = names(data)
    opened(data, {"r12": "r99"})
    assert names(data) == before


def test_the_first_name_stays_over_several_renames(data: Path) -> None:
    opened(data, RENAMES)
    loaded = opened(data, {"r11": "r12"})
    assert (loaded.meta[FIRST_NAME + "r11"], loaded.meta[RENAMED + "r11"]) == ("r13", "r12")
    assert FIRST_NAME + "r12" not in loaded.meta
    assert wrong(data) == []


def test_two_arms_that_both_have_a_history_are_refused_and_stay(data: Path) -> None:
    before = names(data)
    with pytest.raises(RenameRefusedError, match="arm s7: was = 'r13': the store knows both r13 and s7"):
        Store.open(data, lambda: 2, renames={OTHER: "r13", "r12": "nobody"})
    assert (names(data), wrong(data)) == (before, [])
    assert [row.arm for row in opened(data, {}).arms] == ["r13", OTHER]


@pytest.mark.parametrize(
    ("met", "goes_over"),
    [({}, True), ({"serial": "other"}, False), ({"serial": ""}, False), ({"rev": 2}, False), ({"seq": 1}, False)],
)
async def test_what_was_only_met_under_its_new_name_gives_way(
    data: Path, committed: Committed, met: dict[str, Any], *, goes_over: bool
) -> None:
    store = Store.open(data, lambda: 2)
    store.load()
    store.batch.put_arm(ArmRow(arm="r12", **{"rev": 1, "adopted": True, "serial": "S-r13", **met}))
    store.batch.put_item(ItemRow(arm="r12", key="twist", mode=1, desired=b"9", reported=b"9"))
    await committed(store)
    store.close()
    if goes_over:
        loaded = opened(data, RENAMES)
        assert [(row.arm, row.desired) for row in loaded.items] == [("r12", b"1"), (OTHER, b"1")]
        assert (loaded.damages, wrong(data)) == ([], [])
    else:
        with pytest.raises(RenameRefusedError, match="both r13 and r12"):
            Store.open(data, lambda: 2, renames=RENAMES)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE item SET desired = x'00' WHERE arm = 'r13'",
        "UPDATE item SET arm = 's13' WHERE arm = 'r13'",
        "UPDATE arm SET rev = 9 WHERE arm = 'r13'",
        "UPDATE arm SET arm = 'r1;' WHERE arm = 'r13'",
        "UPDATE item SET key = CAST(x'ff' AS TEXT) WHERE arm = 'r13'",
        "UPDATE item SET arm = CAST(x'f23133' AS TEXT) WHERE arm = 'r13'",
        "UPDATE job SET accepted = x'00' WHERE arm = 'r13' AND state = 'held'",
        "UPDATE job SET arm = 's13' WHERE arm = 'r13' AND state = 'held'",
    ],
)
def test_a_damaged_row_holds_the_arm_under_its_new_name(data: Path, statement: str) -> None:
    alter(data, statement)
    loaded = opened(data, RENAMES)
    assert loaded.meta.get(DAMAGED + "r12")
    assert {damage.arm for damage in loaded.damages} == {"r12"}
    assert [row.arm for row in loaded.arms] == ["r12", OTHER]


def test_a_damaged_small_value_stays_damaged(data: Path) -> None:
    alter(data, "UPDATE meta SET value = 'control' WHERE key = 'authority/r13'")
    loaded = opened(data, RENAMES)
    assert "authority/r12" not in loaded.meta
    assert [(damage.table, damage.arm) for damage in loaded.damages] == [(META.table, "r12")]


def test_what_is_due_can_be_asked_of_an_open_store(data: Path) -> None:
    def look(store: Store, _: Loaded) -> None:
        assert store.renames_due({"r12": "r13", "x": "nobody"}) == {"r12": "r13"}
        with pytest.raises(RenameRefusedError):
            store.renames_due({OTHER: "r13"})

    opened(data, {}, look)
