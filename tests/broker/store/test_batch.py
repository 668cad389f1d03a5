from collections.abc import Callable

import pytest

from broker.store.batch import Batch
from broker.store.rows import (
    ArmRow,
    ChangeRow,
    ChangeUpdate,
    EventRow,
    HandleRow,
    ItemRow,
    RecipeRow,
    RequestRow,
    RequestUpdate,
)

HANDLE = HandleRow(identifier=1, user="alice", conn="alice-hmi", arm="arm1", topic="mode", created_us=1, last_seen_us=1)


def test_the_last_arm_item_and_update_win() -> None:
    batch = Batch()
    for rev in (1, 2):
        batch.put_arm(ArmRow(arm="arm1", rev=rev))
        batch.put_item(ItemRow(arm="arm1", key="gravity_vector", last_rev=rev))
        batch.update_request(RequestUpdate(n=1, outcome=b"", reply_open=True, rev=rev))
        batch.update_change(ChangeUpdate(n=1, state="writing", cmd_seq=rev))
    batch.put_item(ItemRow(arm="arm1", key="gravity_vector", mode=1, last_rev=1))
    assert batch.arms["arm1"].rev == 2
    assert [item.last_rev for item in batch.items.values()] == [2, 1]
    assert batch.request_updates[1].rev == 2
    assert batch.change_updates[1].cmd_seq == 2
    assert batch.weight == 5


def test_a_request_cannot_be_added_twice(make_request: Callable[..., RequestRow]) -> None:
    batch = Batch()
    batch.add_request(make_request(1))
    with pytest.raises(ValueError, match="alice/alice-hmi/id-1 is already in the batch"):
        batch.add_request(make_request(2, id="id-1"))
    assert batch.weight == 1


def test_a_change_has_one_event(make_event: Callable[..., EventRow]) -> None:
    batch = Batch()
    batch.add_event(make_event(1, n=7))
    with pytest.raises(ValueError, match="7 has an event already"):
        batch.add_event(make_event(2, n=7))


def test_rows_of_what_changed_are_made_when_it_is_handed_over() -> None:
    """Each once, as it stands then."""
    batch, made = Batch(), []

    def item(slot: tuple[str, str, int]) -> ItemRow:
        made.append(slot)
        return ItemRow(arm=slot[0], key=slot[1], mode=slot[2], last_rev=rev)

    for rev in (1, 2):
        batch.changed_arms["arm1"] = lambda: ArmRow(arm="arm1", rev=rev)  # noqa: B023 - as it stands at last
        batch.changed_slots["arm1", "gravity_vector", 0] = item
    assert batch.weight == 2
    batch.make_rows()
    assert (batch.arms["arm1"].rev, [row.last_rev for row in batch.items.values()]) == (2, [2])
    assert (len(made), batch.weight) == (1, 2)


def test_published_never_falls() -> None:
    batch = Batch()
    for seq in (3, 5, 4):
        batch.mark_published("arm1", seq)
    assert batch.published_seqs == {"arm1": 5}


def test_a_dropped_handle_is_not_put() -> None:
    batch = Batch()
    batch.put_handle(HANDLE)
    batch.drop_handle(1)
    batch.drop_handle(2)
    assert batch.put["handle"] == {}
    assert batch.dropped_handles == [1, 2]


def test_the_last_word_on_a_version_of_a_recipe_counts() -> None:
    batch, row = Batch(), RecipeRow(name="a", version=1, body=b"1")
    batch.put_recipe("a", 1, row)
    assert (batch.recipes, batch.due) == ({("a", 1): row}, True)
    batch.put_recipe("a", 1, None)
    assert (batch.recipes, batch.weight) == ({("a", 1): None}, 1)


def test_the_latest_time_of_all_rows_is_kept(
    make_request: Callable[..., RequestRow],
    make_change: Callable[..., ChangeRow],
    make_event: Callable[..., EventRow],
) -> None:
    batch = Batch()
    batch.add_request(make_request(1, at_us=5))
    assert batch.latest_us() == 5
    batch.add_change(make_change(1, at_us=6))
    assert batch.latest_us() == 6
    batch.add_event(make_event(1, at_us=7))
    assert batch.latest_us() == 7
    batch.update_change(ChangeUpdate(n=1, state="settled", settled_at_us=8))
    batch.update_change(ChangeUpdate(n=2, state="writing"))
    assert batch.latest_us() == 8
    handle = HandleRow(identifier=1, user="u", conn="c", arm="a", topic="t", created_us=1, last_seen_us=9)
    batch.put_handle(handle)
    assert batch.latest_us() == 9


def test_it_is_due_with_a_row_or_a_callback() -> None:
    empty, called, filled = Batch(), Batch(), Batch()
    called.on_commit(called.replies.clear)
    filled.set_meta("key", "value")
    assert (empty.due, called.due, filled.due) == (False, True, True)
    assert filled.weight == 1
