import asyncio
from collections.abc import Callable

import pytest

from broker.store import retention
from broker.store.errors import StoreFullError
from broker.store.rows import ArmRow, ChangeRow, EventRow, Purged, RequestRow
from broker.store.store import Store

DAY_US = 86_400_000_000
NOW_US = 20_000 * DAY_US
Reopen = Callable[[], Store]


async def test_settled_and_answered_requests_go_after_30_days(
    reopen: Reopen, make_request: Callable[..., RequestRow]
) -> None:
    store = reopen()
    old, young = NOW_US - 30 * DAY_US - 1, NOW_US - 30 * DAY_US
    done = {"settled": True, "reply_open": False}
    for row in (
        make_request(1, at_us=old, **done),
        make_request(2, at_us=old, settled=True, reply_open=True),
        make_request(3, at_us=old, settled=False, reply_open=False),
        make_request(4, at_us=young, **done),
        make_request(5, at_us=young, **done),
    ):
        store.batch.add_request(row)
    store = reopen()
    assert await store.purge(NOW_US) == Purged(requests=1, events=0, changes=0)
    assert [n for n in range(1, 6) if store.request(n)] == [2, 3, 4, 5]


async def test_events_go_after_7_days_but_unpublished_and_newest_ones_stay(
    reopen: Reopen, make_event: Callable[..., EventRow]
) -> None:
    store = reopen()
    old = NOW_US - 7 * DAY_US - 1
    for arm, published in (("arm1", 4), ("arm2", 0)):
        store.batch.put_arm(ArmRow(arm=arm, seq=6))
        store.batch.published(arm, published)
    for seq, topic in ((1, "a"), (2, "b"), (3, "b"), (4, "a"), (5, "a")):
        store.batch.add_event(make_event(seq, topic=topic, at_us=old))
    store.batch.add_event(make_event(6, topic="a", at_us=old + 1))
    store.batch.add_event(make_event(1, arm="arm2", topic="a", at_us=old))
    store.batch.add_event(make_event(2, arm="arm2", topic="a", at_us=old))
    store.batch.add_event(make_event(1, arm="arm3", topic="a", at_us=old))
    store = reopen()
    assert (await store.purge(NOW_US)).events == 3
    page = store.events("arm1", 0, 50, 10_000)
    assert [event.seq for event in page.events] == [3, 5, 6]
    assert (page.first_seq, page.head_seq) == (3, 6)
    assert len(store.events("arm2", 0, 50, 10_000).events) == 2
    assert len(store.events("arm3", 0, 50, 10_000).events) == 1


async def test_settled_changes_go_after_400_days(reopen: Reopen, make_change: Callable[..., ChangeRow]) -> None:
    store = reopen()
    old = NOW_US - 400 * DAY_US - 1
    store.batch.add_change(make_change(1, at_us=old, state="settled"))
    store.batch.add_change(make_change(2, at_us=old))
    store.batch.add_change(make_change(3, at_us=old + 1, state="settled"))
    store = reopen()
    assert await store.purge(NOW_US) == Purged(requests=0, events=0, changes=1)
    assert [change.rev for change in store.history("arm1", 0, 9, None, 9).changes] == [3, 2]


async def test_the_newest_numbers_are_never_used_again(
    reopen: Reopen, make_change: Callable[..., ChangeRow], make_request: Callable[..., RequestRow]
) -> None:
    store = reopen()
    for n in (1, 2):
        store.batch.add_change(make_change(n, state="settled"))
        store.batch.add_request(make_request(n, settled=True, reply_open=False))
    store = reopen()
    assert await store.purge(2 * NOW_US) == Purged(requests=1, events=0, changes=1)
    loaded = reopen().load()
    assert (loaded.next_request_n, loaded.next_change_n) == (3, 3)


async def test_steps_are_small_and_pass_over_what_stays(
    reopen: Reopen, make_request: Callable[..., RequestRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "STEP", 3)
    store = reopen()
    for n in range(1, 21):
        store.batch.add_request(make_request(n, settled=n > 7, reply_open=False))
    store = reopen()
    rule = retention.RULES[0]
    removed = []
    for step in retention.steps(rule, 2 * NOW_US):
        count = await asyncio.wrap_future(store._writer.run(step))
        if count is None:
            break
        removed.append(count)
    assert sum(removed) == 12
    assert max(removed) <= 3
    assert [n for n in range(1, 21) if store.request(n)] == [*range(1, 8), 20]


async def test_a_purge_of_a_failed_store_fails(reopen: Reopen, fill_up: Callable[[Store], None]) -> None:
    store = reopen()
    fill_up(store)
    store.batch.set_meta("key", "x" * 100_000)
    store.flush_soon()
    with pytest.raises(StoreFullError):
        await store.failed
    with pytest.raises(StoreFullError):
        await store.purge(NOW_US)


DONE = {"settled": True, "reply_open": False}


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
    assert (await store.purge(NOW_US)).requests == 10
    assert [n for n in range(1, 16) if store.request(n)] == [2, 3, 13, 14, 15]  # two wait for the next old row


async def test_nothing_goes_before_its_age_is_known(reopen: Reopen, make_request: Callable[..., RequestRow]) -> None:
    store = reopen()
    for n in range(1, 5):
        store.batch.add_request(make_request(n, at_us=NOW_US - 365 * DAY_US, **DONE))
    store = reopen()
    assert (await store.purge(NOW_US, NOW_US - 30 * DAY_US + 1)).requests == 0
    assert (await store.purge(NOW_US, NOW_US - 30 * DAY_US)).requests == 3
