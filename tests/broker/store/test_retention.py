import asyncio
from collections.abc import Callable
from itertools import count

import pytest

from broker.store import retention
from broker.store.errors import StoreFullError
from broker.store.rows import ArmRow, ChangeRow, ChangeUpdate, EventRow, Purged, RequestRow
from broker.store.store import Store

DAY_US = 86_400_000_000
NOW_US = 20_000 * DAY_US
Reopen = Callable[[], Store]


DONE = {"settled": True, "reply_open": False}
MONTH_US = 30 * DAY_US


async def test_settled_and_answered_requests_go_after_30_days(
    reopen: Reopen, make_request: Callable[..., RequestRow], make_change: Callable[..., ChangeRow]
) -> None:
    store = reopen()
    old, young = NOW_US - MONTH_US - 1, NOW_US - MONTH_US
    for row in (
        make_request(1, at_us=old, **DONE),
        make_request(2, at_us=old, reply_open=True),
        make_request(3, at_us=old, outcome=b"", settled=False, reply_open=False),
        make_request(4, at_us=young, **DONE),
        make_request(5, at_us=young, **DONE),
    ):
        store.batch.add_request(row)
    store.batch.add_change(make_change(3, at_us=old))
    store = reopen()
    assert await store.purge(NOW_US) == Purged(forgotten=1, removed=0)
    assert [n for n in range(1, 6) if store.request(n)] == [2, 3, 4, 5]
    store.batch.reply_published(2)
    store = reopen()
    assert await store.purge(NOW_US) == Purged(forgotten=1, removed=0)
    assert [n for n in range(1, 6) if store.request(n)] == [3, 4, 5]


async def test_events_go_after_30_days_but_the_last_published_one_and_newer_ones_stay(
    reopen: Reopen, make_event: Callable[..., EventRow]
) -> None:
    store = reopen()
    old = NOW_US - MONTH_US - 1
    for arm, published in (("arm1", 4), ("arm2", 0)):
        store.batch.put_arm(ArmRow(arm=arm, seq=6))
        store.batch.mark_published(arm, published)
    for seq in range(1, 6):
        store.batch.add_event(make_event(seq, at_us=old))
    store.batch.add_event(make_event(6, at_us=old + 1))
    for n, arm, seq in ((11, "arm2", 1), (12, "arm2", 2), (13, "arm3", 1), (14, "arm3", 2)):
        store.batch.add_event(make_event(seq, n=n, arm=arm, at_us=old))
    store = reopen()
    assert (await store.purge(NOW_US)).forgotten == 3
    page = store.events("arm1", 0, 50, 10_000)
    assert [event.seq for event in page.events] == [4, 5, 6]
    assert (page.first_seq, page.head_seq, page.missing) == (4, 6, [])
    assert len(store.events("arm2", 0, 50, 10_000).events) == 2
    assert len(store.events("arm3", 0, 50, 10_000).events) == 2


async def test_after_30_days_what_the_history_tells_is_left_of_a_change(
    reopen: Reopen,
    make_request: Callable[..., RequestRow],
    make_change: Callable[..., ChangeRow],
    make_event: Callable[..., EventRow],
) -> None:
    store = reopen()
    for n, at_us in ((1, NOW_US - 31 * DAY_US), (2, NOW_US - 30 * DAY_US), (3, NOW_US)):
        store.batch.add_request(make_request(n, at_us=at_us, reply_open=True))
        store.batch.add_change(make_change(n, at_us=at_us))
        store.batch.update_change(ChangeUpdate(n=n, state="settled", after=b"read", outcome="applied", seq=n))
        store.batch.add_event(make_event(n, at_us=at_us))
    store.batch.mark_published("arm1", 3)
    store = reopen()
    before = store.history("arm1", 0, 9, None, 9).changes
    size = sum(len(entry) for entry in store._connection.execute(_BLOBS).fetchone())
    assert await store.purge(NOW_US) == Purged(forgotten=1, removed=0)
    assert store.history("arm1", 0, 9, None, 9).changes == before
    assert [event.seq for event in store.events("arm1", 0, 9, 999).events] == [2, 3]
    assert store.find("alice", "alice-hmi", "id-1") is None
    assert store.find("alice", "alice-hmi", "id-2") is not None
    assert sum(len(entry) for entry in store._connection.execute(_BLOBS).fetchone()) < 0.7 * size
    assert await store.purge(NOW_US) == Purged(forgotten=0, removed=0)
    store = reopen()
    assert store.load().damages == []


_BLOBS = "SELECT accepted, ended, coalesce(reply, x'') FROM job WHERE n = 1"


async def test_events_that_are_left_are_whole_from_the_first_on(
    reopen: Reopen,
    make_change: Callable[..., ChangeRow],
    make_event: Callable[..., EventRow],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Purge after purge, also after one that waited long for its arm: nothing is told to be lost."""
    monkeypatch.setattr(retention, "STEP", 3)
    store, numbers, seqs = reopen(), count(1), dict.fromkeys(("arm1", "arm2"), 0)
    waited = next(numbers)
    store.batch.add_change(make_change(waited, at_us=NOW_US, rev=0))
    for days in range(0, 200, 20):
        now_us = NOW_US + days * DAY_US
        for arm in (*["arm1"] * 5, *["arm2"] * (days < 60)):
            seqs[arm] += 1
            n = next(numbers)
            store.batch.add_change(make_change(n, arm=arm, at_us=now_us, rev=n, state="settled"))
            store.batch.add_event(make_event(seqs[arm], n=n, arm=arm, at_us=now_us))
        if days == 40:
            seqs["arm1"] += 1
            store.batch.update_change(ChangeUpdate(n=waited, state="settled", seq=seqs["arm1"]))
            store.batch.add_event(make_event(seqs["arm1"], n=waited, at_us=now_us))
        for arm, seq in seqs.items():
            store.batch.mark_published(arm, seq)
        store._drain()
        await store.purge(now_us)
        for arm, head in seqs.items():
            page = store.events(arm, 0, 100, 100_000)
            assert page.missing == []
            assert [event.seq for event in page.events] == list(range(page.first_seq, head + 1))
        told = {event.n for event in store.events("arm1", 0, 100, 100_000).events}
        assert (waited in told) == (40 <= days < 100)
    assert page.first_seq == head
    oldest = store.events("arm1", 0, 1, 100_000).events[0]
    assert oldest.at_us >= now_us - MONTH_US


async def test_settled_changes_go_after_400_days(reopen: Reopen, make_change: Callable[..., ChangeRow]) -> None:
    store = reopen()
    old = NOW_US - 400 * DAY_US - 1
    store.batch.add_change(make_change(1, at_us=old, state="settled"))
    store.batch.add_change(make_change(2, at_us=old))
    store.batch.add_change(make_change(3, at_us=old + 1, state="settled"))
    store = reopen()
    assert (await store.purge(NOW_US)).removed == 1
    assert [change.rev for change in store.history("arm1", 0, 9, None, 9).changes] == [3, 2]


async def test_the_newest_number_is_never_used_again(reopen: Reopen, make_request: Callable[..., RequestRow]) -> None:
    store = reopen()
    for n in (1, 2):
        store.batch.add_request(make_request(n, **DONE))
    store = reopen()
    assert await store.purge(2 * NOW_US) == Purged(forgotten=1, removed=0)
    assert reopen().load().next_n == 3


async def test_steps_are_small_and_pass_over_what_stays(
    reopen: Reopen,
    make_request: Callable[..., RequestRow],
    make_change: Callable[..., ChangeRow],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retention, "STEP", 3)
    store = reopen()
    for n in range(1, 8):
        store.batch.add_change(make_change(n))
    for n in range(8, 21):
        store.batch.add_request(make_request(n, **DONE))
    store = reopen()
    removed = []
    for step in retention.steps(retention.FORGET, 2 * NOW_US):
        count = await asyncio.wrap_future(store._writer.run(step))
        if count is None:
            break
        removed.append(count)
    assert sum(removed) == 12
    assert max(removed) <= 3
    assert [n for n in range(8, 21) if store.request(n)] == [20]
    assert store.history("arm1", 0, 99, None, 99).changes[-1].rev == 1


async def test_a_purge_of_a_failed_store_fails(reopen: Reopen, fill_up: Callable[[Store], None]) -> None:
    store = reopen()
    fill_up(store)
    store.batch.set_meta("key", "x" * 100_000)
    store.flush_soon()
    with pytest.raises(StoreFullError):
        await store.failed
    with pytest.raises(StoreFullError):
        await store.purge(NOW_US)


async def test_what_a_wrong_clock_wrote_goes_with_what_came_after_it_and_stops_nothing(
    reopen: Reopen, make_request: Callable[..., RequestRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "STEP", 3)
    store = reopen()
    old, later = NOW_US - 31 * DAY_US, NOW_US + 365 * DAY_US
    times = [old, *[later] * 8, old, later, old, NOW_US, later, NOW_US]
    for n, at_us in enumerate(times, 1):
        store.batch.add_request(make_request(n, at_us=at_us, **DONE))
    store = reopen()
    assert (await store.purge(NOW_US)).forgotten == 10
    assert [n for n in range(1, 16) if store.request(n)] == [2, 3, 13, 14, 15]  # two wait for the next old row


async def test_nothing_goes_before_its_age_is_known(reopen: Reopen, make_request: Callable[..., RequestRow]) -> None:
    store = reopen()
    for n in range(1, 5):
        store.batch.add_request(make_request(n, at_us=NOW_US - 365 * DAY_US, **DONE))
    store = reopen()
    assert (await store.purge(NOW_US, NOW_US - 30 * DAY_US + 1)).forgotten == 0
    assert (await store.purge(NOW_US, NOW_US - 30 * DAY_US)).forgotten == 3
