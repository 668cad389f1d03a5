"""What a past change did: slot by slot the value before it and the one that it left."""

from broker.arms.batch_job import unpack_values
from broker.record.batch_entries import batch_of
from broker.store.rows import HistoryPage, PastChange
from broker.store.store import Store
from handlers.batch.outcomes import CHANGED, WHOLE_KEY
from handlers.batch.reversal import Effect
from handlers.items.settling import Ending
from schema.arms import Slot
from schema.codecs.json_codec import unpack
from schema.items import ITEMS

_ENTRIES = 16
"""Changes that stand at one revision at most: one, and acts of administration."""
_TOOK_EFFECT = frozenset(ending.value for ending in Ending if ending.took_effect)


def change_at(store: Store, arm: str, rev: int) -> PastChange | None:
    """The change of values that took a revision; None where there is none, or it is not known any more.

    Raises:
        RowDamagedError: the file is damaged where it lies.
    """
    page: HistoryPage = store.history(arm, rev - 1, rev + 1, None, _ENTRIES)
    return next((change for change in page.changes if change.key in ITEMS or change.key == WHOLE_KEY), None)


def effects_of(change: PastChange) -> dict[Slot, Effect]:
    """What took effect of a change."""
    if change.key == WHOLE_KEY:
        before = unpack_values(change.before)
        return {
            step.slot: Effect(before.get(step.slot), step.value)
            for step in batch_of(change).steps
            if step.outcome in CHANGED and not step.undoes
        }
    if change.outcome not in _TOOK_EFFECT:
        return {}
    record = ITEMS[change.key].record
    given, left = (None if blob is None else unpack(blob, record) for blob in (change.before, change.after))
    return {(change.key, change.mode): Effect(given, left)}
