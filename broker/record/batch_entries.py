"""What the history says of a change of several slots."""

from collections.abc import Mapping
from typing import Any

from broker.arms.batch_job import BatchRecord, old_outcomes, unpack_batch, unpack_values
from broker.store.rows import PastChange
from handlers.methods.factory import RESTORE_FACTORY
from schema.arms import Slot
from schema.codecs.plain import bare
from schema.items import ITEMS, slot_path
from schema.messages import Message


def values_by_path(values: Mapping[Slot, Message]) -> dict[str, Any]:
    """Plain values by path."""
    return {slot_path(slot): bare(value, ITEMS[slot[0]].field) for slot, value in values.items()}


def batch_of(change: PastChange) -> BatchRecord:
    """What became of a batch, and what was wanted; of an older RestoreFactory nobody knows."""
    return BatchRecord() if old_outcomes(change.after) is not None else unpack_batch(change.after)


def batch_entry(change: PastChange) -> dict[str, Any]:
    """`before`, `after` and `outcomes` by path; of a RestoreFactory `after` has the outcomes, `values` the values."""
    if (told := old_outcomes(change.after)) is not None:
        return {"before": None, "after": told}
    record = batch_of(change)
    before, after = values_by_path(unpack_values(change.before)), values_by_path(record.values())
    outcomes = record.outcomes()
    if change.method == RESTORE_FACTORY:
        return {"before": before, "after": outcomes, "values": after, "outcomes": outcomes}
    return {"before": before, "after": after, "outcomes": outcomes}
