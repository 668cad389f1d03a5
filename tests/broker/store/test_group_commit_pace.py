"""Where commits are done: on the event loop's thread while that keeps nobody waiting, else in the writer's."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable

from broker.store.anchor import Anchor
from broker.store.group_commit import KEEP_OFF, MANY, QUICK_S, SLOW_S, Pace
from broker.store.job import key_of
from broker.store.reader import _used
from broker.store.rows import RequestRow
from broker.store.store import Store

Reopen = Callable[[], Store]
Committed = Callable[[Store], Awaitable[None]]
Requests = Callable[..., RequestRow]
PATIENCE_S = 60.0
HERE = threading.get_ident()


class Quick(Pace):
    """A disk that counts as quick whatever commits take, until it is said to be slow."""

    slow = False

    def waited(self, seconds: float, *, here: bool) -> None:
        """See `Pace.waited`."""
        del seconds
        super().waited(2 * SLOW_S if self.slow else 0.0, here=here)


def watched(store: Store) -> list[bool]:
    """Whether each commit from now on is done here."""
    found: list[bool] = []
    keep = store._writer._keep

    def note(anchor: Anchor) -> None:
        found.append(threading.get_ident() == HERE)
        keep(anchor)

    store._writer._keep = note
    return found


def test_nothing_is_known_to_be_quick_at_first() -> None:
    assert not Pace().quick


def test_a_disk_is_quick_after_some_quick_commits_and_not_on_average() -> None:
    pace = Pace()
    for _ in range(20):
        pace.waited(QUICK_S / 10, here=False)
    assert pace.quick
    for _ in range(20):
        pace.waited(QUICK_S * 2, here=True)
    assert not pace.quick


def test_one_slow_commit_is_enough() -> None:
    pace = Pace()
    for _ in range(20):
        pace.waited(0.0, here=False)
    pace.waited(SLOW_S * 1.1, here=True)
    for _ in range(KEEP_OFF - 1):
        pace.waited(0.0, here=False)
        assert not pace.quick
    pace.waited(0.0, here=False)
    assert pace.quick


def test_a_commit_that_waits_in_the_thread_tells_nothing_bad_of_the_disk() -> None:
    """Nor does one that did not wait there hide that others did."""
    pace = Pace()
    for _ in range(20):
        pace.waited(QUICK_S / 10, here=False)
        pace.waited(SLOW_S * 4, here=False)
    assert pace.quick


def test_a_disk_that_is_slow_each_time_is_never_quick() -> None:
    pace = Pace()
    for _ in range(1000):
        pace.waited(SLOW_S, here=False)
        assert not pace.quick


async def test_commits_are_done_here_while_the_disk_is_quick(
    reopen: Reopen, committed: Committed, make_request: Requests
) -> None:
    store = reopen()
    store._pace = Quick()
    found = watched(store)
    number = 0
    while True not in found and number < 100:
        number += 1
        store.batch.add_request(make_request(number))
        await committed(store)
    for more in range(MANY + 1):
        store.batch.add_request(make_request(number + 1 + more))
    await committed(store)
    assert found == [False] * (len(found) - 2) + [True, False]
    assert store.find("alice", "alice-hmi", f"id-{number + MANY + 1}") is not None


async def test_a_commit_that_was_slow_sends_the_next_ones_to_the_thread(
    reopen: Reopen, committed: Committed, make_request: Requests
) -> None:
    store = reopen()
    store._pace = pace = Quick()
    found = watched(store)
    for number in range(1, 42 + KEEP_OFF):
        pace.slow = number == 40
        store.batch.add_request(make_request(number))
        await committed(store)
    assert found[30:] == [*[True] * 10, *[False] * KEEP_OFF, True]


async def test_nobody_waits_here_for_the_lock_of_another(
    reopen: Reopen, committed: Committed, make_request: Requests
) -> None:
    store = reopen()
    store._pace = Quick()
    found = watched(store)
    for number in range(1, 40):
        store.batch.add_request(make_request(number))
        await committed(store)
    other = sqlite3.connect(
        store._writer._connection.execute("PRAGMA database_list").fetchone()[2], isolation_level=None
    )
    other.execute("BEGIN IMMEDIATE")
    store.batch.add_request(make_request(40))
    waiting = asyncio.ensure_future(committed(store))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    other.execute("ROLLBACK")
    other.close()
    await waiting
    assert found[-2:] == [True, False]


async def test_what_goes_on_after_a_commit_is_told_after_what_that_tells(
    reopen: Reopen, make_request: Requests
) -> None:
    """Whether the next commit is done here or not."""
    store = reopen()
    store._pace = Quick()
    told: list[str] = []

    def go_on(number: int) -> None:
        store.batch.add_request(make_request(number + 1))
        store.batch.on_commit(lambda: told.append(f"{number} goes on"))
        store.flush_soon()

    for number in range(1, 80, 2):
        store.batch.add_request(make_request(number))
        store.batch.before_next(lambda number=number: go_on(number))  # type: ignore[misc]
        store.batch.on_commit(lambda number=number: told.append(f"{number}"))  # type: ignore[misc]
        store.flush_soon()
        async with asyncio.timeout(PATIENCE_S):
            while f"{number} goes on" not in told:  # noqa: ASYNC110 - nobody announces it
                await asyncio.sleep(0.001)
    assert told == [text for number in range(1, 80, 2) for text in (f"{number}", f"{number} goes on")]


async def test_what_is_held_is_handed_over_at_the_release(
    reopen: Reopen, committed: Committed, make_request: Requests
) -> None:
    store = reopen()
    store.hold()
    store.batch.add_request(make_request(1))
    store.flush_soon()
    await asyncio.sleep(0.01)
    states = [store.committing]
    store.release()
    states.append(store.committing)
    assert states == [False, True]
    store.hold()
    store.batch.add_request(make_request(2))
    store.flush_soon()
    store.release()
    await committed(store)
    assert store.find("alice", "alice-hmi", "id-2") is not None


async def test_many_names_are_looked_up_at_once(reopen: Reopen, committed: Committed, make_request: Requests) -> None:
    store = reopen()
    for number in range(1, 4):
        store.batch.add_request(make_request(number))
    await committed(store)
    store.batch.add_request(make_request(4))
    names = [("alice", "alice-hmi", f"id-{number}") for number in range(2, 8)]
    keys = [key_of(*name) for name in names]
    assert store.used(keys) == set(keys[:2])
    assert store.unused(names) == dict(zip(names[3:], keys[3:], strict=True))
    uncommitted = store.known_uncommitted(names[2])
    assert uncommitted is not None
    assert uncommitted.n == 4
    assert store.known_uncommitted(names[3]) is None
    plan = store._connection.execute(f"EXPLAIN QUERY PLAN {_used(2)}", (1, 2)).fetchall()
    assert any("SEARCH job USING COVERING INDEX job_key" in row[3] for row in plan)


async def test_a_disk_that_gets_slow_keeps_the_loop_waiting_once(
    reopen: Reopen, committed: Committed, make_request: Requests
) -> None:
    store = reopen()
    found = watched(store)
    keep = store._writer._keep

    def slowly(anchor: Anchor) -> None:
        time.sleep(SLOW_S * 10)
        keep(anchor)

    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    others = asyncio.create_task(tick())
    store._writer._keep, store._pace._usual_s = slowly, 0.0
    turns = []
    for number in range(1, 6):
        store.batch.add_request(make_request(number))
        before = ticks
        await committed(store)
        turns.append(ticks - before)
    others.cancel()
    assert found == [True, False, False, False, False]
    assert turns[0] < 10 < min(turns[1:])
