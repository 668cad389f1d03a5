"""Recipes in the file: they come back as they were put, a damaged one is named and left out, no number comes again."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from broker.store.backup import back_up, restore
from broker.store.meta_keys import RECIPE, RECIPE_FLOOR, RECIPE_TOP
from broker.store.restored import EPOCHS_APART
from broker.store.rows import ArmRow, Damage, RecipeRow
from broker.store.seals import DIFFERS
from broker.store.store import FILE, Store

Reopen = Callable[[], Store]
Committed = Callable[[Store], Awaitable[None]]
NOW_US = 20_000 * 86_400_000_000


def row(version: int, name: str = "weld", **given: object) -> RecipeRow:
    values: dict[str, object] = {
        "body": b'{"items":{},"models":[]}', "digest": "9f2c41d07ab35e18", "note": "why", "user": "alice",
        "conn": "plc-3", "proven": True, "at_us": 7,
    }  # fmt: skip
    return RecipeRow(name=name, version=version, **{**values, **given})  # type: ignore[arg-type]  # of its own fields


def put(store: Store, one: RecipeRow) -> None:
    store.batch.put_recipe(one.name, one.version, one)


def alter(tmp_path: Path, statement: str) -> None:
    with closing(sqlite3.connect(tmp_path / "store" / FILE, isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount == 1


async def test_versions_come_back_as_they_were_put_and_go_as_they_were_dropped(
    reopen: Reopen, committed: Committed
) -> None:
    store = reopen()
    rows = [row(1, "glue"), *(row(version) for version in range(1, 100))]
    for one in rows:
        put(store, one)
    store = reopen()
    assert store.load().recipes == rows
    changed = row(99, body=b"", listed=False)
    put(store, changed)
    for version in range(1, 99):
        store.batch.put_recipe("weld", version, None)
    store.batch.put_recipe("none", 1, None)
    await committed(store)
    assert reopen().load().recipes == [row(1, "glue"), changed]


async def test_a_damaged_version_is_named_and_left_out_and_its_number_is_not_given_again(
    reopen: Reopen, tmp_path: Path
) -> None:
    store = reopen()
    store.load()
    store.batch.put_arm(ArmRow(arm="r1"))
    for version in (1, 2):
        put(store, row(version))
    store.batch.set_meta(RECIPE_TOP, "2")
    store.close()
    alter(tmp_path, "UPDATE recipe SET body = x'7b7d' WHERE version = 2")
    loaded = reopen().load()
    assert loaded.recipes == [row(1)]
    assert loaded.damages == [Damage("recipe", "", "weld/2", DIFFERS)]
    assert loaded.meta == {RECIPE_TOP: "2", RECIPE_FLOOR: "2"}
    again = reopen().load()
    assert (again.recipes, again.damages, again.meta[RECIPE_FLOOR]) == ([row(1)], [], "2")


async def test_without_its_count_the_versions_that_are_left_tell_the_number(reopen: Reopen, tmp_path: Path) -> None:
    store = reopen()
    put(store, row(4))
    put(store, row(9, "glue"))
    store.close()
    alter(tmp_path, "UPDATE recipe SET name = 'wele' WHERE name = 'weld'")
    loaded = reopen().load()
    assert loaded.damages == [Damage("recipe", "", "weld/4", DIFFERS)]
    assert loaded.meta == {RECIPE_FLOOR: "9"}


async def test_a_damaged_note_of_what_an_arm_had_last_is_named_and_holds_nobody(reopen: Reopen, tmp_path: Path) -> None:
    store = reopen()
    store.batch.put_arm(ArmRow(arm="r1"))
    store.batch.set_meta(f"{RECIPE}r1", "{}")
    store.close()
    alter(tmp_path, "UPDATE meta SET value = '[]' WHERE key = 'recipe/r1'")
    loaded = reopen().load()
    assert loaded.damages == [Damage("meta", "r1", f"{RECIPE}r1", DIFFERS)]
    assert loaded.meta == {}


@pytest.mark.parametrize("told", [0, 7])
async def test_a_restored_store_gives_no_number_again_that_may_have_been_told(
    reopen: Reopen, committed: Committed, tmp_path: Path, told: int
) -> None:
    store = reopen()
    store.load()
    put(store, row(3))
    store.batch.set_meta(RECIPE_TOP, str(told))
    await committed(store)
    back_up(tmp_path / "store", tmp_path / "copy", NOW_US)
    store.close()
    restore(tmp_path / "copy", tmp_path / "store", NOW_US)
    loaded = Store.open(tmp_path / "store", lambda: NOW_US)
    try:
        assert int(loaded.load().meta[RECIPE_FLOOR]) == max(told, 3) + EPOCHS_APART
    finally:
        loaded.close()
