"""The history of one item: its own changes, and those of several items that touch it."""

from collections.abc import Iterator

from broker.arms.batch_job import old_outcomes
from broker.record.batch_entries import batch_of
from broker.store.reader import Reader
from broker.store.rows import HistoryPage, PastChange
from handlers.batch.outcomes import WHOLE_KEY
from schema.items import ITEMS

_PAGE = 100
LOOKED_AT_MOST = 20_000
"""The most changes of several items that one page looks at."""


def pieces_of(
    past: Reader, arm: str, after_rev: int, before_rev: int, item: str, limit: int, size: int
) -> Iterator[HistoryPage]:
    """Changes between two revisions, both exclusive, newest first; of one item, or of all without one.

    They come in pieces: of so many changes at most, or of none while it is still looked for them. Each but the last
    says that there is more.

    Raises:
        RowDamagedError: the file is damaged where they lie.
    """
    if item not in ITEMS:
        yield from past.history_pieces(arm, after_rev, before_rev, item or None, limit, size)
        return
    changes: list[PastChange] = []
    more = False
    for page in past.history_pieces(arm, after_rev, before_rev, item, limit, size):
        changes += page.changes
        more = page.more
        yield HistoryPage(changes=[], more=True, missing=page.missing)
    lowest = changes[-1].rev - 1 if more and changes else after_rev
    for page in _of_many(past, arm, max(after_rev, lowest), before_rev, item, limit):
        changes += page.changes
        more = more or page.more
        yield HistoryPage(changes=[], more=True, missing=page.missing)
    more = more or len(changes) > limit
    changes = sorted(changes, key=lambda change: change.rev, reverse=True)[:limit]
    for first in range(0, len(changes) or 1, size):
        last = first + size >= len(changes)
        yield HistoryPage(changes=changes[first : first + size], more=more or not last, missing=[])


def _of_many(past: Reader, arm: str, after_rev: int, before_rev: int, item: str, limit: int) -> Iterator[HistoryPage]:
    """The changes of several items that touch one, page by page; `more` where it was not looked at all of them."""
    count = looked = 0
    while True:
        page = past.history(arm, after_rev, before_rev, WHOLE_KEY, _PAGE)
        found = [change for change in page.changes if touches(change, item)]
        count, looked = count + len(found), looked + len(page.changes)
        over = not page.more or not page.changes or count > limit or looked >= LOOKED_AT_MOST
        yield HistoryPage(changes=found, more=over and page.more, missing=page.missing)
        if over:
            return
        before_rev = page.changes[-1].rev


def touches(change: PastChange, item: str) -> bool:
    """Whether a change of several items is about one of them."""
    if (told := old_outcomes(change.after)) is not None:
        return any(path.partition("/")[0] == item for path in told)
    return any(step.slot[0] == item for step in batch_of(change).steps)
