import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing

import msgspec
import pytest

from broker.store.audit import counts
from broker.store.rows import (
    ArmRow,
    ChangeRow,
    ChangeUpdate,
    EventParts,
    EventRow,
    GroundRow,
    HandleRow,
    ItemRow,
    OverrideRow,
    RequestRow,
    RequestUpdate,
)
from broker.store.store import Store

Reopen = Callable[[], Store]
COUNTS = (1, 3, 64, 2 * 64 + 16 + 4 + 1)


@pytest.fixture(params=COUNTS)
def numbers(request: pytest.FixtureRequest) -> range:
    return range(1, int(request.param) + 1)


def test_added_rows_come_back_whatever_their_number(
    reopen: Reopen,
    numbers: range,
    make_request: Callable[..., RequestRow],
    make_change: Callable[..., ChangeRow],
    make_event: Callable[..., EventRow],
) -> None:
    store = reopen()
    unsettled = {"outcome": b"", "settled": False, "reply_open": False}
    requests = [make_request(n, **unsettled) for n in numbers]
    changes = [make_change(n, key=f"item{n}", state="writing", epoch=1, cmd_seq=n) for n in numbers]
    events = [make_event(n, topic=f"topic{n}", body=b"%d" % n) for n in numbers]
    items = [ItemRow(arm="arm1", key="twist", mode=n, desired=b"%d" % n, last_rev=n) for n in numbers]
    handles = [
        HandleRow(identifier=n, user="u", conn=f"c{n}", arm="arm1", topic="mode", created_us=n, last_seen_us=n)
        for n in numbers
    ]
    store.batch.put_arm(ArmRow(arm="arm1", heads=b'{"topic1":1}'))
    for n in numbers:
        store.batch.add_request(requests[n - 1])
        store.batch.add_change(changes[n - 1])
        store.batch.add_event(events[n - 1])
        store.batch.put_item(items[n - 1])
        store.batch.put_handle(handles[n - 1])
        store.batch.put_principal(f"user:{n}", n)
        store.batch.audit(b"%d" % n)
    store = reopen()
    loaded = store.load()
    assert loaded.open_requests == requests
    assert loaded.open_changes == changes
    assert store.events("arm1", 0, 1000, 10**9).events == events
    assert loaded.items == items
    assert loaded.handles == handles
    assert loaded.principals == {f"user:{n}": n for n in numbers}
    assert [row.heads for row in loaded.arms] == [b'{"topic1":1}']
    assert store.audit_head().n == len(numbers)


async def test_updates_reach_their_own_row_whatever_their_number(
    reopen: Reopen,
    numbers: range,
    make_request: Callable[..., RequestRow],
    make_change: Callable[..., ChangeRow],
) -> None:
    store = reopen()
    for n in numbers:
        store.batch.add_request(make_request(n, outcome=b"", settled=False, reply_open=False))
        store.batch.add_change(make_change(n))
        handle = HandleRow(identifier=n, user="u", conn=f"c{n}", arm="a", topic="t", created_us=0, last_seen_us=0)
        store.batch.put_handle(handle)
    store = reopen()
    for n in numbers:
        outcome = b"%d" % n
        store.batch.update_request(RequestUpdate(n=n, outcome=outcome, reply_open=True, rev=n))
        if n % 2:
            store.batch.update_change(ChangeUpdate(n=n, state="unknown", epoch=2, cmd_seq=n, after=outcome))
        touched = HandleRow(identifier=n, user="u", conn=f"c{n}", arm="a", topic="t", created_us=0, last_seen_us=n)
        store.batch.put_handle(touched)
    loaded = reopen().load()
    assert loaded.open_requests == [make_request(n, outcome=b"%d" % n, settled=False, rev=n) for n in numbers]
    assert loaded.open_changes == [
        make_change(n, state="unknown", epoch=2, cmd_seq=n, after=b"%d" % n) if n % 2 else make_change(n)
        for n in numbers
    ]
    assert [handle.last_seen_us for handle in loaded.handles] == list(numbers)
    store = reopen()
    assert [row.n for row in store.owed(0, 1000)[0]] == list(numbers)
    for n in numbers:
        store.batch.reply_published(n)
        store.batch.drop_handle(n)
        store.batch.update_change(ChangeUpdate(n=n, state="settled", after=True, outcome="applied", seq=n))
    store = reopen()
    loaded = store.load()
    assert (loaded.open_requests, loaded.open_changes, loaded.handles) == ([], [], [])
    assert store.owed(0, 1000) == ([], 0)
    assert loaded.next_handle == len(numbers) + 1
    assert [change.after for change in store.history("arm1", 0, 10**9, None, 1000).changes] == [b"after"] * len(numbers)


async def test_a_change_with_its_event_and_reply_is_one_row(
    reopen: Reopen,
    committed: Callable[[Store], Awaitable[None]],
    make_request: Callable[..., RequestRow],
    make_change: Callable[..., ChangeRow],
    make_event: Callable[..., EventRow],
) -> None:
    store = reopen()
    store.load()
    store.batch.add_request(make_request(1, outcome=b"", settled=False, reply_open=False))
    store.batch.add_change(make_change(1, rev=4))
    await committed(store)
    parts = EventParts("TOOL_CHANGED", "applied", "applied", before=True, after=True, slotted=True)
    store.batch.add_event(make_event(7, n=1, topic="config/TOOL_CHANGED", body=b"", parts=parts))
    store.batch.update_change(ChangeUpdate(n=1, state="settled", after=b"read", outcome="applied", seq=7))
    store.batch.update_request(RequestUpdate(n=1, outcome=b"done", reply_open=True, rev=4))
    await committed(store)
    store.body_of = lambda change, event: f"{change and change.rev} {event.parts}".encode()
    page = store.events("arm1", 0, 10, 10**6, replies=True)
    (event,) = page.events
    assert event.parts == EventParts(
        "TOOL_CHANGED", "applied", "applied", before=b"before", after=b"read", slotted=True
    )
    assert (event.seq, event.topic, event.body[:2]) == (7, "config/TOOL_CHANGED", b"4 ")
    assert page.requests == {7: make_request(1, rev=4)}
    assert store.owed(0, 10) == ([], 0)
    with closing(sqlite3.connect(store._path)) as connection:
        assert connection.execute("SELECT count(*) FROM job").fetchone() == (1,)


async def test_a_change_that_takes_a_revision_after_all(
    reopen: Reopen, committed: Callable[[Store], Awaitable[None]], make_change: Callable[..., ChangeRow]
) -> None:
    store = reopen()
    store.batch.add_change(make_change(1, rev=0))
    await committed(store)
    store.batch.reopen_change(1, 5, b"other")
    store = reopen()
    assert store.load().open_changes == [make_change(1, rev=5, before=b"other")]
    assert [change.rev for change in store.history("arm1", 0, 9, None, 9).changes] == [5]


def test_a_handle_that_is_put_again_keeps_its_owner(reopen: Reopen) -> None:
    store = reopen()
    handle = HandleRow(identifier=1, user="u", conn="c", arm="a", topic="t", created_us=1, last_seen_us=1)
    store.batch.put_handle(handle)
    store = reopen()
    store.batch.put_handle(msgspec.structs.replace(handle, last_seen_us=5, last_seq=6))
    assert reopen().load().handles == [msgspec.structs.replace(handle, last_seen_us=5, last_seq=6)]


async def test_an_update_and_the_end_of_its_reply_in_one_batch_close_the_request(
    reopen: Reopen, make_request: Callable[..., RequestRow], make_change: Callable[..., ChangeRow]
) -> None:
    store = reopen()
    store.batch.add_request(make_request(1, outcome=b"", settled=False))
    store.batch.add_change(make_change(1))
    store.batch.update_request(RequestUpdate(n=1, outcome=b"done", reply_open=True, rev=1))
    store.batch.reply_published(1)
    store = reopen()
    assert [row.reply_open for row in store.load().open_requests] == [False]
    assert store.request(1) == make_request(1, settled=False, reply_open=False, rev=1)


async def test_a_start_looks_for_open_changes_from_the_least_number_that_was_open(
    reopen: Reopen, committed: Callable[[Store], Awaitable[None]], make_change: Callable[..., ChangeRow]
) -> None:
    store = reopen()
    store.load()
    kept: list[int] = []

    async def commit() -> None:
        store.batch.audit(b"{}")
        await committed(store)
        kept.append(counts(store._connection).open_n)

    for n in range(1, 5):
        store.batch.add_change(make_change(n))
    await commit()
    for n, state in ((2, "settled"), (1, "pending"), (3, "writing")):
        store.batch.update_change(ChangeUpdate(n=n, state=state))
    await commit()
    store.batch.update_change(ChangeUpdate(n=1, state="accepted"))
    await commit()
    assert kept == [1, 3, 1]
    for n in (1, 3, 4):
        store.batch.update_change(ChangeUpdate(n=n, state="held" if n == 3 else "settled"))
    await commit()
    assert kept[-1] == 5
    store = reopen()
    assert [(row.n, row.state) for row in store.load().open_changes] == [(3, "held")]
    await commit()
    assert kept[-1] == 5


def test_overrides_and_their_grounds_are_kept_until_they_are_dropped(reopen: Reopen, numbers: range) -> None:
    store = reopen()
    for n in numbers:
        store.batch.put_override("arm1", n, b"%d" % n)
        store.batch.put_ground(("arm1", "twist", n), b"%d" % n)
    store = reopen()
    loaded = store.load()
    assert loaded.overrides == [OverrideRow(arm="arm1", rev=n, body=b"%d" % n) for n in numbers]
    assert loaded.grounds == [GroundRow(arm="arm1", key="twist", mode=n, value=b"%d" % n) for n in numbers]
    assert loaded.damages == []
    for n in numbers[:-1]:
        store.batch.put_override("arm1", n, None)
        store.batch.put_ground(("arm1", "twist", n), None)
    store.batch.put_override("arm1", numbers[-1], b"extended")
    loaded = reopen().load()
    assert loaded.overrides == [OverrideRow(arm="arm1", rev=numbers[-1], body=b"extended")]
    assert [row.mode for row in loaded.grounds] == [numbers[-1]]
