from collections.abc import Callable

import msgspec
import pytest

from broker.store.rows import (
    ArmRow,
    ChangeRow,
    ChangeUpdate,
    EventRow,
    HandleRow,
    ItemRow,
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
    requests = [make_request(n, outcome=b"%d" % n, rev=n) for n in numbers]
    changes = [make_change(n, key=f"item{n}") for n in numbers]
    events = [make_event(n, topic=f"topic{n}", body=b"%d" % n) for n in numbers]
    items = [ItemRow(arm="arm1", key="twist", mode=n, desired=b"%d" % n, last_rev=n) for n in numbers]
    handles = [
        HandleRow(identifier=n, user="u", conn=f"c{n}", arm="arm1", topic="mode", created_us=n, last_seen_us=n)
        for n in numbers
    ]
    store.batch.put_arm(ArmRow(arm="arm1"))
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
    assert loaded.topic_heads == {("arm1", f"topic{n}"): n for n in numbers}
    assert store.audit_head().n == len(numbers)


async def test_updates_reach_their_own_row_whatever_their_number(
    reopen: Reopen,
    numbers: range,
    make_request: Callable[..., RequestRow],
    make_change: Callable[..., ChangeRow],
) -> None:
    store = reopen()
    for n in numbers:
        store.batch.add_request(make_request(n))
        store.batch.add_change(make_change(n))
        handle = HandleRow(identifier=n, user="u", conn=f"c{n}", arm="a", topic="t", created_us=0, last_seen_us=0)
        store.batch.put_handle(handle)
    store = reopen()
    for n in numbers:
        outcome = b"%d" % n
        store.batch.update_request(RequestUpdate(n=n, outcome=outcome, settled=True, reply_open=True, rev=n))
        store.batch.update_change(
            ChangeUpdate(n=n, state="unknown", epoch=2, cmd_seq=n, after=outcome if n % 2 else None)
        )
        touched = HandleRow(identifier=n, user="u", conn=f"c{n}", arm="a", topic="t", created_us=0, last_seen_us=n)
        store.batch.put_handle(touched)
    loaded = reopen().load()
    assert loaded.open_requests == [make_request(n, outcome=b"%d" % n, settled=True, rev=n) for n in numbers]
    assert loaded.open_changes == [
        make_change(n, state="unknown", epoch=2, cmd_seq=n, after=b"%d" % n if n % 2 else None) for n in numbers
    ]
    assert [handle.last_seen_us for handle in loaded.handles] == list(numbers)
    store = reopen()
    for n in numbers:
        store.batch.reply_published(n)
        store.batch.drop_handle(n)
        store.batch.update_change(ChangeUpdate(n=n, state="settled", outcome="applied", seq=n, settled_at_us=n))
    loaded = reopen().load()
    assert (loaded.open_requests, loaded.open_changes, loaded.handles) == ([], [], [])
    assert loaded.next_handle == len(numbers) + 1


def test_a_handle_that_is_put_again_keeps_its_owner(reopen: Reopen) -> None:
    store = reopen()
    handle = HandleRow(identifier=1, user="u", conn="c", arm="a", topic="t", created_us=1, last_seen_us=1)
    store.batch.put_handle(handle)
    store = reopen()
    store.batch.put_handle(msgspec.structs.replace(handle, last_seen_us=5, last_seq=6))
    assert reopen().load().handles == [msgspec.structs.replace(handle, last_seen_us=5, last_seq=6)]


def test_an_update_and_the_end_of_its_reply_in_one_batch_close_the_request(
    reopen: Reopen, make_request: Callable[..., RequestRow]
) -> None:
    store = reopen()
    store.batch.add_request(make_request(1))
    store.batch.update_request(RequestUpdate(n=1, outcome=b"done", settled=True, reply_open=True, rev=1))
    store.batch.reply_published(1)
    store = reopen()
    assert store.load().open_requests == []
    assert store.request(1) == make_request(1, outcome=b"done", settled=True, reply_open=False, rev=1)
