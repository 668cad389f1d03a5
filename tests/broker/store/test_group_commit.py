import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

import pytest

from broker.store import group_commit, keys, way
from broker.store.errors import StoreBrokenError, StoreFullError
from broker.store.rows import ArmRow, RequestRow, RequestUpdate
from broker.store.store import Store

Reopen = Callable[[], Store]
Requests = Callable[..., RequestRow]
Committed = Callable[[Store], Awaitable[None]]
FilesAtMost = Callable[[int], AbstractContextManager[None]]


async def test_callbacks_run_in_order_after_their_rows_are_committed(
    reopen: Reopen, committed: Committed, make_request: Requests
) -> None:
    store = reopen()
    seen: list[tuple[int, bool]] = []

    def note(n: int) -> Callable[[], None]:
        return lambda: seen.append((n, store.find("alice", "alice-hmi", f"id-{n}") is not None))

    for n in range(1, 6):
        store.batch.add_request(make_request(n))
        store.batch.on_commit(note(n))
        store.flush_soon()
    assert seen == []
    await committed(store)
    assert seen == [(n, True) for n in range(1, 6)]


async def test_one_turn_of_the_loop_is_one_batch(reopen: Reopen, make_request: Requests) -> None:
    store = reopen()
    first = store.batch
    for n in (1, 2, 3):
        store.batch.add_request(make_request(n))
        store.flush_soon()
        assert store.batch is first
    await asyncio.sleep(0)
    assert store.batch is not first
    assert len(first.requests) == 3


async def test_what_comes_during_a_commit_is_the_next_batch(
    reopen: Reopen, committed: Committed, make_request: Requests
) -> None:
    store = reopen()
    store.batch.add_request(make_request(1))
    first = asyncio.ensure_future(committed(store))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    second = store.batch
    waiting = []
    for n in (2, 3, 4):
        store.batch.add_request(make_request(n))
        waiting.append(asyncio.ensure_future(committed(store)))
    await asyncio.sleep(0)
    await asyncio.gather(first, *waiting)
    assert sorted(second.requests) == [2, 3, 4]
    assert store.batch is not second


async def test_rows_without_a_flush_ride_with_the_next_one(
    reopen: Reopen, committed: Committed, make_request: Requests
) -> None:
    store = reopen()
    store.batch.add_request(make_request(1))
    await asyncio.sleep(0)
    assert store.find("alice", "alice-hmi", "id-1") is None
    await committed(store)
    assert store.find("alice", "alice-hmi", "id-1") is not None


async def test_a_callback_alone_is_called_back(reopen: Reopen, committed: Committed) -> None:
    await committed(reopen())


async def test_known_sees_what_is_not_committed(reopen: Reopen, committed: Committed, make_request: Requests) -> None:
    store = reopen()
    row = make_request(1)
    store.batch.add_request(row)
    assert store.known("alice", "alice-hmi", "id-1") == row
    assert store.request(1) == row
    assert store.known("bob", "alice-hmi", "id-1") is None
    assert store.request(2) is None
    handed_over = asyncio.ensure_future(committed(store))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert store.known("alice", "alice-hmi", "id-1") == row
    await handed_over
    assert store.known("alice", "alice-hmi", "id-1") == row


async def test_known_tells_the_latest_outcome(reopen: Reopen, committed: Committed, make_request: Requests) -> None:
    store = reopen()
    store.batch.add_request(make_request(1))
    await committed(store)
    store.batch.update_request(RequestUpdate(n=1, outcome=b"other", reply_open=True, rev=7))
    known = store.known("alice", "alice-hmi", "id-1")
    assert known == make_request(1, outcome=b"other", rev=7)
    store.batch.reply_published(1)
    expected = make_request(1, outcome=b"other", rev=7, reply_open=False)
    assert store.known("alice", "alice-hmi", "id-1") == expected
    assert store.request(1) == expected
    await committed(store)
    assert store.known("alice", "alice-hmi", "id-1") == expected
    assert store.find("alice", "alice-hmi", "id-1") == expected


async def test_a_full_disk_ends_the_store_and_nothing_of_the_batch_happened(
    reopen: Reopen, committed: Committed, fill_up: Callable[[Store], None], make_request: Requests
) -> None:
    store = reopen()
    store.batch.add_request(make_request(1))
    await committed(store)
    fill_up(store)
    called: list[int] = []
    failed = store.failed
    store.batch.add_request(make_request(2))
    store.batch.add_request(make_request(3, outcome=bytes(100_000)))
    store.batch.on_commit(lambda: called.append(2))
    store.flush_soon()
    with pytest.raises(StoreFullError):
        await failed
    store.batch.add_request(make_request(4))
    store.batch.on_commit(lambda: called.append(4))
    store.flush_soon()
    assert store.test_write()
    store = reopen()
    assert called == []
    assert store.load().next_n == 2


async def test_after_a_failure_known_forgets_the_failed_batch(
    reopen: Reopen, fill_up: Callable[[Store], None], make_request: Requests
) -> None:
    store = reopen()
    fill_up(store)
    store.batch.add_request(make_request(1, outcome=bytes(100_000)))
    store.flush_soon()
    with pytest.raises(StoreFullError):
        await store.failed
    assert store.known("alice", "alice-hmi", "id-1") is None


async def test_a_failed_write_breaks_the_store(
    reopen: Reopen, files_at_most: FilesAtMost, make_request: Requests
) -> None:
    store = reopen()
    store.batch.add_request(make_request(1, outcome=bytes(2_000_000)))
    with files_at_most(1_000_000):
        store.flush_soon()
        with pytest.raises(StoreBrokenError, match="IOERR_WRITE"):
            await store.failed
    assert not store.test_write()


async def test_a_callback_that_raises_breaks_the_store(reopen: Reopen) -> None:
    store = reopen()
    failure = KeyError("a bug")

    def fail() -> None:
        raise failure

    store.batch.on_commit(fail)
    store.flush_soon()
    with pytest.raises(StoreBrokenError, match="a bug") as caught:
        await store.failed
    assert caught.value.__cause__ is failure


async def test_rows_that_cannot_be_made_break_the_store_and_nothing_of_the_batch_is_kept(
    reopen: Reopen, make_request: Requests
) -> None:
    store = reopen()

    def fail() -> ArmRow:
        raise KeyError("a bug")

    store.batch.add_request(make_request(1))
    store.batch.changed_arms["r1"] = fail
    store.flush_soon()
    with pytest.raises(StoreBrokenError, match="KeyError: 'a bug'"):
        await store.failed
    store.close()
    assert reopen().known("alice", "alice-hmi", "id-1") is None


async def test_who_asks_late_or_was_cancelled_is_told_too(reopen: Reopen, fill_up: Callable[[Store], None]) -> None:
    store = reopen()
    waiting = asyncio.ensure_future(store.failed)
    waiting.cancel()
    await asyncio.sleep(0)
    fill_up(store)
    assert store.error is None
    store.batch.set_meta("key", "x" * 100_000)
    store.flush_soon()
    for _ in range(2):
        with pytest.raises(StoreFullError):
            await store.failed
    assert not store.settled


async def test_marks_are_committed_later_by_themselves(reopen: Reopen) -> None:
    store = reopen()
    done = asyncio.get_running_loop().create_future()
    told = [store.settled]
    store.batch.set_meta("key", "value")
    store.batch.on_commit(lambda: done.set_result(store.settled))
    store.flush_later()
    store.flush_later()
    told.append(store.settled)
    assert [*told, await done] == [True, False, True]
    assert reopen().load().meta == {"key": "value"}


async def test_what_was_published_is_committed_later_for_all_arms_at_once(
    reopen: Reopen, committed: Committed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "_LATER_S", 1.0)
    store = reopen()
    for arm in ("a", "b"):
        store.batch.put_arm(ArmRow(arm=arm, seq=9))
    for seq in (1, 2, 3):
        store.mark_published("a", seq)
        store.mark_published("b", seq)
        await committed(store)
    marks = "SELECT arm, seq FROM published ORDER BY arm"
    assert store._connection.execute(marks).fetchall() == []
    later = asyncio.get_running_loop().create_future()
    store.batch.on_commit(lambda: later.set_result(None))
    await later
    found = store._connection.execute(marks).fetchall()
    assert found == [("a", 3), ("b", 3)]
    store.mark_published("a", 4)
    assert [row.published_seq for row in reopen().load().arms] == [4, 3]


async def test_work_that_can_wait_puts_few_rows_into_a_batch(reopen: Reopen) -> None:
    store = reopen()
    weights: list[int] = []
    for number in range(3 * way.MANY):
        await store.way.room()
        store.batch.put_arm(ArmRow(arm=f"arm{number}"))
        weights.append(store.batch.weight)
        store.flush_soon()
    assert max(weights) == way.MANY


async def test_work_that_can_wait_gives_way_while_somebody_waits_for_a_commit_but_not_for_ever(
    reopen: Reopen, make_request: Requests
) -> None:
    store = reopen()
    commits: list[int] = []

    def ask_again(number: int) -> None:
        commits.append(number)
        store.batch.add_request(make_request(number + 1))
        store.batch.on_commit(lambda: ask_again(number + 1))
        store.flush_soon()

    store.batch.put_arm(ArmRow(arm="arm1"))
    assert not store.way.is_awaited()
    await store.way.quiet()
    assert not commits
    ask_again(0)
    assert store.way.is_awaited()
    await store.way.quiet()
    assert len(commits) - 1 == way.GIVEN_WAY


async def test_once_nobody_waits_for_a_commit_the_rest_goes_on(reopen: Reopen, make_request: Requests) -> None:
    store = reopen()
    store.batch.add_request(make_request(1))
    store.flush_soon()
    await store.way.quiet()
    assert not store.way.is_awaited()
    assert store.find("alice", "alice-hmi", "id-1") is not None
    before = store.commits.below[-1]
    await store.way.quiet()
    assert store.commits.below[-1] == before


@pytest.mark.parametrize("most", [keys.MOST_KEYS, 0])
async def test_new_requests_are_told_without_a_query_and_no_known_one_is_missed(
    reopen: Reopen, committed: Committed, make_request: Requests, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(keys, "MOST_KEYS", most)
    store = reopen()
    for number in range(1, 300):
        store.batch.add_request(make_request(number))
    await committed(store)
    store = reopen()
    for number in range(300, 600):
        store.batch.add_request(make_request(number))
    names = [("alice", "alice-hmi", f"id-{number}") for number in range(1, 605)]
    store.flush_soon()
    assert list(store.unused(names)) == names[599:]
    await committed(store)
    asked: list[str] = []
    store._connection.set_trace_callback(asked.append)
    assert list(store.unused(names)) == names[599:]
    found = [store.known(*name) for name in names]
    assert [row and row.n for row in found] == [*range(1, 600), *[None] * 5]
    assert list(store.unused(names[599:])) == names[599:]
    assert len(asked) == (1 + 599 if most else 1 + 604 + 1)
