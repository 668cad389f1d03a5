from collections.abc import Awaitable, Callable

import msgspec

from broker.accept import quarantine
from broker.presence import starts
from broker.store import meta_keys
from broker.store.rows import (
    ArmRow,
    ChangeRow,
    ChangeUpdate,
    EventRow,
    HandleRow,
    ItemRow,
    RequestRow,
)
from broker.store.store import Store

NOW_US = 20_000 * 86_400_000_000
ARM = ArmRow(
    arm="arm1", rev=3, seq=2, cmd_seq=5, adopted=True, serial="S1", description=b"{}", read_at_us=7, mode_seen_at_us=8
)
ITEM = ItemRow(arm="arm1", key="twist", mode=2, desired=b"d", desired_rev=3, last_rev=3, reported=b"r")
HANDLE = HandleRow(identifier=4, user="alice", conn="alice-hmi", arm="arm1", topic="mode", created_us=1, last_seen_us=2)
Reopen = Callable[[], Store]
Committed = Callable[[Store], Awaitable[None]]


def test_a_new_store_is_empty(reopen: Reopen) -> None:
    loaded = reopen().load()
    assert (loaded.epoch, loaded.clean, loaded.last_time_us) == (1, True, 0)
    assert (loaded.next_n, loaded.next_handle) == (1, 1)
    assert not any((loaded.arms, loaded.items, loaded.open_changes, loaded.open_requests))
    assert not any((loaded.handles, loaded.principals, loaded.meta))


def test_every_start_is_an_epoch(reopen: Reopen) -> None:
    assert [reopen().load().epoch for _ in range(3)] == [1, 2, 3]


async def test_rows_come_back_as_they_were_put(reopen: Reopen, committed: Committed) -> None:
    store = reopen()
    store.load()
    store.batch.put_arm(ArmRow(arm="arm1"))
    await committed(store)
    store.batch.put_arm(ARM)
    store.batch.put_item(ITEM)
    store.batch.put_handle(HANDLE)
    store.batch.put_principal("user:alice", 1)
    store.batch.put_principal("conn:alice/alice-hmi", 2)
    store.batch.set_meta("key", "value")
    store = reopen()
    loaded = store.load()
    assert loaded.arms == [ARM]
    assert loaded.items == [ITEM]
    assert loaded.handles == [HANDLE]
    assert loaded.principals == {"user:alice": 1, "conn:alice/alice-hmi": 2}
    assert loaded.meta == {"key": "value"}
    assert loaded.clean
    assert loaded.last_time_us == NOW_US
    store.batch.put_arm(ArmRow(arm="arm1", description=b"{new}"))
    assert reopen().load().arms == [ArmRow(arm="arm1", description=b"{new}")]


async def test_handles_are_touched_dropped_and_never_numbered_again(reopen: Reopen) -> None:
    store = reopen()
    store.batch.put_handle(HANDLE)
    store.batch.put_handle(msgspec.structs.replace(HANDLE, last_seen_us=9))
    store = reopen()
    loaded = store.load()
    assert [handle.last_seen_us for handle in loaded.handles] == [9]
    assert loaded.next_handle == 5
    store.batch.drop_handle(4)
    loaded = reopen().load()
    assert loaded.handles == []
    assert loaded.next_handle == 5


async def test_requests_are_loaded_whose_changes_have_no_end_and_replies_that_are_owed_are_read_by_pages(
    reopen: Reopen, make_request: Callable[..., RequestRow], make_change: Callable[..., ChangeRow]
) -> None:
    store = reopen()
    rows = [
        make_request(1, reply_open=False),
        make_request(2),
        make_request(3, outcome=b"", settled=False, reply_open=False),
        make_request(4),
        make_request(5, settled=False),
    ]
    for row in rows:
        store.batch.add_request(row)
    store.batch.add_change(make_change(3))
    store.batch.add_change(make_change(5, state="pending"))
    store = reopen()
    loaded = store.load()
    assert loaded.open_requests == [rows[2], rows[4]]
    assert loaded.next_n == 6
    assert store.owed(0, 2) == ([rows[1], rows[3]], 4)
    assert store.owed(4, 2) == ([rows[4]], 5)
    assert store.owed(5, 2) == ([], 0)


async def test_an_open_change_counts_the_unclean_starts_that_found_it(
    reopen: Reopen, committed: Committed, make_change: Callable[..., ChangeRow]
) -> None:
    store = reopen()
    store.load()
    store.batch.add_change(make_change(1))
    store.batch.add_change(make_change(2, before=None, after=None))
    store.batch.update_change(ChangeUpdate(n=1, state="settled", after=b"x", outcome="applied", seq=1, settled_at_us=3))
    store.batch.update_change(ChangeUpdate(n=2, state="writing", epoch=1, cmd_seq=6))
    await committed(store)
    expected = make_change(2, before=None, state="writing", epoch=1, cmd_seq=6, after=None)
    loaded = reopen().load()
    assert loaded.open_changes == [expected]
    assert loaded.next_n == 3
    store = reopen()
    store.load()
    store.close(clean=False)
    loaded = reopen().load()
    assert not loaded.clean
    assert [change.starts for change in loaded.open_changes] == [1]
    assert [change.starts for change in reopen().load().open_changes] == [1]


async def test_events_and_the_replies_that_go_with_them_are_unpublished_until_they_are_marked(
    reopen: Reopen, committed: Committed, make_event: Callable[..., EventRow], make_request: Callable[..., RequestRow]
) -> None:
    store = reopen()
    for place, arm in enumerate(("arm1", "arm2", "arm3")):
        store.batch.put_arm(ArmRow(arm=arm, seq=3))
        for seq in (1, 2, 3):
            store.batch.add_event(make_event(seq, n=10 * place + seq, arm=arm))
            store.batch.add_request(make_request(10 * place + seq, arm=arm))
    store.batch.mark_published("arm1", 2)
    store.batch.mark_published("arm3", 3)
    await committed(store)
    store.batch.put_arm(ArmRow(arm="arm1", seq=3, published_seq=0))
    store = reopen()
    loaded = store.load()
    pages = [store.events(arm.arm, arm.published_seq, 10, 10**6, replies=True) for arm in loaded.arms]
    assert [len(page.events) for page in pages] == [1, 3, 0]
    assert [[row.n for row in page.requests.values()] for page in pages] == [[3], [11, 12, 13], []]
    assert [arm.published_seq for arm in loaded.arms] == [2, 0, 3]
    assert store.owed(0, 10) == ([], 0)


async def test_a_start_without_blame_counts_on_no_change(
    reopen: Reopen, make_change: Callable[..., ChangeRow], committed: Committed
) -> None:
    store = reopen()
    store.load()
    store.batch.add_change(make_change(1))
    await committed(store)
    store.close(clean=False)
    loaded = reopen().load(blame=False)
    assert not loaded.clean
    assert [change.starts for change in loaded.open_changes] == [0]


def test_small_values_of_others_are_not_the_store_s_own() -> None:
    """Two that use one key would overwrite each other."""
    own = {meta_keys.EPOCH, meta_keys.STARTS, meta_keys.NEXT_HANDLE, meta_keys.AUDIT_ARCHIVED, meta_keys.SHORTENED}
    others = {quarantine.META_KEY, starts.META_KEY}
    assert len(own) == 5
    assert own.isdisjoint(others)
