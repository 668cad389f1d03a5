"""The history of one item: its own changes, and those of several items that touch it."""

from broker.arms.batch_job import old_outcomes
from broker.record.batch_entries import batch_of
from broker.record.past_values import Past
from broker.store.rows import HistoryPage, PastChange
from handlers.batch.outcomes import WHOLE_KEY
from schema.items import ITEMS

_PAGE = 100
LOOKED_AT_MOST = 20_000
"""The most changes of several items that one page looks at."""


def history_of(past: Past, arm: str, after_rev: int, before_rev: int, item: str, limit: int) -> HistoryPage:
    """Changes between two revisions, both exclusive, newest first; of one item, or of all without one.

    Raises:
        RowDamagedError: the file is damaged where they lie.
    """
    own = past.history(arm, after_rev, before_rev, item or None, limit)
    if item not in ITEMS:
        return own
    lowest = own.changes[-1].rev - 1 if own.more and own.changes else after_rev
    found, missing, more = _of_many(past, arm, max(after_rev, lowest), before_rev, item, limit)
    changes = sorted([*own.changes, *found], key=lambda change: change.rev, reverse=True)
    return HistoryPage(
        changes=changes[:limit], more=own.more or more or len(changes) > limit, missing=[*own.missing, *missing]
    )


def _of_many(
    past: Past, arm: str, after_rev: int, before_rev: int, item: str, limit: int
) -> tuple[list[PastChange], list[int], bool]:
    """The changes of several items that touch one, the damaged revisions, and whether there are more."""
    found: list[PastChange] = []
    missing: list[int] = []
    looked = 0
    while True:
        page = past.history(arm, after_rev, before_rev, WHOLE_KEY, _PAGE)
        found += [change for change in page.changes if touches(change, item)]
        missing += page.missing
        looked += len(page.changes)
        if not page.more or not page.changes or len(found) > limit or looked >= LOOKED_AT_MOST:
            return found, missing, page.more
        before_rev = page.changes[-1].rev


def touches(change: PastChange, item: str) -> bool:
    """Whether a change of several items is about one of them."""
    if (told := old_outcomes(change.after)) is not None:
        return any(path.partition("/")[0] == item for path in told)
    return any(step.slot[0] == item for step in batch_of(change).steps)
