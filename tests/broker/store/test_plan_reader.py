from collections.abc import Awaitable, Callable
from contextlib import closing

import msgspec
import pytest

from broker.store.rows import Damage, PlanArmRow, PlanRow
from broker.store.schema import connect
from broker.store.seals import DIFFERS
from broker.store.store import FILE, Store

Reopen = Callable[[], Store]
Committed = Callable[[Store], Awaitable[None]]


def plan(n: int, *, settled: bool = False, user: str = "alice", state: str = "running", kind: str = "group") -> PlanRow:
    return PlanRow(
        n=n, request_n=10 * n, kind=kind, state=state, settled=settled, user=user, at_us=n, asked=b"a", progress=b"p"
    )


def row(n: int, arm: str, **given: object) -> PlanArmRow:
    return PlanArmRow(plan_n=n, arm=arm, state="stored", **given)  # type: ignore[arg-type]


@pytest.fixture
async def filled(reopen: Reopen, committed: Committed) -> Store:
    store = reopen()
    store.load()
    for one in (plan(1), plan(2, settled=True, state="ended"), plan(3, user="bob"), plan(4, kind="rollout")):
        store.batch.put_row("plan", one.n, one)
    for n, arm in ((1, "b"), (1, "a"), (2, "a")):
        store.batch.put_row("plan_row", (n, arm), row(n, arm, change_n=7, error=b"e", final=True))
    await committed(store)
    return store


async def test_a_plan_comes_back_as_it_was_put(filled: Store) -> None:
    assert filled.plan(2) == plan(2, settled=True, state="ended")
    assert filled.plan(5) is None
    assert filled.plan(1 << 70) is None
    assert filled.last_plan() == 4
    assert filled.plan_arms(1) == [row(1, arm, change_n=7, error=b"e", final=True) for arm in ("a", "b")]


async def test_plans_are_newest_first_and_of_what_is_asked_for(filled: Store) -> None:
    def found(before: int, limit: int, *words: str) -> list[int]:
        return [one.n for one in filled.plans(before, limit, *words)]

    assert found(1 << 70, 3) == [4, 3, 2]
    assert found(2, 3) == [1]
    assert found(9, 9, "running") == [4, 3, 1]
    assert found(9, 9, "", "group", "alice") == [2, 1]


async def test_a_start_reads_plans_that_are_not_settled_with_their_rows(filled: Store, reopen: Reopen) -> None:
    del filled
    loaded = reopen().load()
    assert [(one.n, [each.arm for each in rows]) for one, rows in loaded.plans] == [(1, ["a", "b"]), (3, []), (4, [])]


async def test_a_damaged_row_is_told_and_left_out(filled: Store, reopen: Reopen) -> None:
    filled.close()
    with closing(connect(filled._path.parent / FILE)) as connection:
        connection.execute("UPDATE plan SET user = 'carol' WHERE n = 3")
        connection.execute("UPDATE plan_row SET rev = 9 WHERE plan_n = 1 AND arm = 'a'")
    store = reopen()
    loaded = store.load()
    assert [(one.n, [each.arm for each in rows]) for one, rows in loaded.plans] == [(1, ["b"]), (4, [])]
    damages = [Damage("plan", "", "3", DIFFERS), Damage("plan_row", "a", "1", DIFFERS)]
    assert all(damage in loaded.damages for damage in damages)
    told: list[Damage] = []
    store.on_damage = told.append
    assert store.plan(3) is None
    assert [one.arm for one in store.plan_arms(1)] == ["b"]
    assert told == damages


async def test_plans_are_kept_for_a_month_with_their_rows(reopen: Reopen, committed: Committed) -> None:
    day_us, now_us = 86_400_000_000, 20_000 * 86_400_000_000
    store = reopen()
    store.load()
    old_us, young_us = now_us - 30 * day_us - 1, now_us - 30 * day_us
    for n, at_us, settled in ((1, old_us, True), (2, old_us, False), (3, young_us, True), (4, old_us, True)):
        store.batch.put_row("plan", n, msgspec.structs.replace(plan(n, settled=settled), at_us=at_us))
    for number in range(1_200):
        store.batch.put_row("plan_row", (1, f"a{number}"), row(1, f"a{number}"))
    store.batch.put_row("plan_row", (3, "a"), row(3, "a"))
    await committed(store)
    await store.purge(now_us, sure_since_us=now_us)
    assert [one.n for one in store.plans(9, 9)] == [4, 3, 2, 1]
    await store.purge(now_us)
    assert [one.n for one in store.plans(9, 9)] == [4, 3, 2]
    assert (store.plan_arms(1), len(store.plan_arms(3))) == ([], 1)
