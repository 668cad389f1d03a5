"""Carries batches into the file: one statement per kind of row, many rows in one statement.

Python's sqlite3 lets go of the interpreter's lock for each statement and has to win it back from the event loop, so a
statement takes up to 64 rows.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, repeat
from typing import Any, NamedTuple

import msgspec

from broker.life import State
from broker.store import job, tables
from broker.store.audit import counts, read_head
from broker.store.batch import Batch, Late
from broker.store.digest import audit_chain, digest
from broker.store.rows import RequestRow, RequestUpdate
from broker.store.seals import Statement, Values, all_rows

RAISE_EPOCH = (
    """UPDATE service SET epoch = max(epoch, ?1),
        hash = digest(one, max(epoch, ?1), last_time_us, clean, store, commits)""",
    """UPDATE meta SET value = max(CAST(value AS INTEGER), ?1),
        hash = digest(key, CAST(max(CAST(value AS INTEGER), ?1) AS TEXT)) WHERE key = 'epoch'""",
)
"""Both places where the epoch stands."""
COUNT = """UPDATE service SET commits = ?1, last_time_us = max(last_time_us, ?2),
    hash = digest(one, epoch, max(last_time_us, ?2), clean, store, ?1)"""
"""Counts a transaction without an entry of the audit; takes its number and the latest time in it."""
UNDER_WAY = frozenset({State.ACCEPTED.value, State.WRITING.value, State.UNKNOWN.value})
"""States of a change that may be with its arm, or is next."""

_SIZES = (64, 16, 4, 1)
"""Rows of one statement; each size of each kind is prepared once."""
_text = cache(Statement.text)


class Made(NamedTuple):
    """The rows of a batch as they are executed, with their hashes: made where the batch is handed over."""

    new: dict[int, Values]
    """Of jobs, by their number."""
    newest: int
    """The highest number of a job that was given until then."""
    latest_us: int
    """The latest time in it."""
    ends: list[Values]
    progress: list[Values]
    answers: list[Values]
    """Of END, PROGRESSED and ANSWERED."""
    late: list[Values]
    """Of LATES: what becomes of arms and slots."""
    others: list[tuple[Statement, list[Values]]]
    before: tables.AuditHead
    head: tables.AuditHead
    """The audit before it, and after it."""

    @property
    def era(self) -> int:
        """Of revisions and events in it."""
        return job.era_of(self.newest)


class BatchWriter:
    """Executes batches on one connection and keeps what the next one builds on.

    `descriptions` are those in the file: they are long and rarely change, so only a new one is written. With
    `last_time_us` that is the latest time, whatever the file says.
    """

    def __init__(self, connection: sqlite3.Connection, last_time_us: int | None = None) -> None:
        self._connection = connection
        self.head = read_head(connection)
        self.commits, known_us, self._open_n = counts(connection)
        self._last_time_us = known_us if last_time_us is None else last_time_us
        self.newest: int
        (self.newest,) = connection.execute("SELECT coalesce(max(n), 0) FROM job").fetchone()
        self.descriptions: dict[str, bytes] = {}
        self._open: dict[int, None] | None = None
        """The changes under way in the order of their numbers; None: not known."""
        self._late = Late()
        self._earlier = (self.head, self.commits, self.newest, self._late)
        self._replaced: dict[str, bytes | None] = {}

    def begin(self, descriptions: Mapping[str, bytes], under_way: Iterable[int]) -> None:
        """Say which descriptions of arms, and which changes under way, the file holds; before the first batch."""
        self.descriptions.update(descriptions)
        self._open = dict.fromkeys(sorted(under_way))

    def mark(self) -> None:
        """A transaction begins."""
        self._earlier, self._replaced = (self.head, self.commits, self.newest, self._late), {}

    def take_back(self) -> None:
        """Forget what was written since the last mark: its transaction was rolled back."""
        self.head, self.commits, self.newest, self._late = self._earlier
        for arm, description in self._replaced.items():
            if description is None:
                self.descriptions.pop(arm, None)
            else:
                self.descriptions[arm] = description
        self._replaced = {}

    def write(self, batch: Batch) -> None:
        """Execute the batch inside the open transaction, and count it; after an error call `take_back`."""
        made: Made = batch.made
        if made is None or made.before != self.head:
            made = made_of(batch, self.head, self.newest)
        self.newest = max(self.newest, made.newest)
        for statement, rows in self._statements(batch, made):
            self._execute(statement, rows)
        self._keep_open(made.new, batch)
        if batch.epochs:
            for text in RAISE_EPOCH:
                self._connection.execute(text, (max(batch.epochs),))
        self.commits += 1
        self._last_time_us = max(self._last_time_us, made.latest_us)
        if batch.audits:
            self._connection.execute(_text(tables.ADD_AUDIT, 1), self._chained(batch.audits, made))
        else:
            self._connection.execute(COUNT, (self.commits, self._last_time_us))

    def count(self) -> None:
        """Count a transaction that others filled."""
        self.commits += 1
        self._connection.execute(COUNT, (self.commits, 0))

    def is_brief(self, batch: Batch) -> bool:
        """Whether a batch writes nothing that is late."""
        return not (batch.arms or batch.items) or not self._late.count or self._may_be_late(batch)

    def write_late(self) -> None:
        """Write all that is late, in a transaction that is counted."""
        for statement, rows in self._all_late():
            if rows:
                self._execute(statement, rows)

    def _execute(self, statement: Statement, rows: Sequence[Values]) -> None:
        done, left = 0, len(rows)
        while left:
            size = next(filter(left.__ge__, _SIZES))
            values = rows[done] if size == 1 else list(chain.from_iterable(rows[done : done + size]))
            self._connection.execute(_text(statement, size), values)
            done, left = done + size, left - size

    def _statements(self, batch: Batch, made: Made) -> list[tuple[Statement, Sequence[Values]]]:
        """Statements in their order, with rows; none for what the batch does not hold."""
        found: list[tuple[Statement, Sequence[Values]]] = []
        if made.late:
            found += self._of_arms(batch, made)
        if made.new:
            found.append((job.ADD, [*made.new.values()]))
        if batch.reopened:
            found.append((job.REOPEN, self._reopened(batch, made.era)))
        if made.ends:
            found.append((job.END, made.ends))
        if made.progress:
            found.append((job.PROGRESSED, made.progress))
        if made.answers:
            found.append((job.ANSWERED, made.answers))
        if batch.replies:
            found.append((job.REPLY_TAKEN, [(n,) for n in batch.replies]))
        if batch.arms and (new := self._new_descriptions(batch)):
            found.append((tables.DESCRIPTIONS.put, list(map(tables.DESCRIPTIONS.make, new))))
        found += made.others
        if batch.dropped_handles:
            found.append((tables.DROP_HANDLE, [(one,) for one in batch.dropped_handles]))
        return found

    def _of_arms(self, batch: Batch, made: Made) -> Iterable[tuple[Statement, list[Values]]]:
        """Late rows, or where these become too many, or an arm is new, the rows themselves of all that is late."""
        may_be = self._may_be_late(batch)
        self._late.add(batch.arms, batch.items)
        return ((tables.LATES.put, made.late),) if may_be else self._all_late()

    def _may_be_late(self, batch: Batch) -> bool:
        arms, items = batch.arms, batch.items
        known = self.descriptions.keys()
        return self._late.takes(arms, items) and arms.keys() <= known and {arm for arm, _, _ in items} <= known

    def _all_late(self) -> Iterable[tuple[Statement, list[Values]]]:
        late, self._late = self._late, Late()
        return of_late(late)

    def _reopened(self, batch: Batch, era: int) -> list[Values]:
        """A damaged row stays as it is."""
        rows: list[Values] = []
        query = f"SELECT {job.SELECT} FROM job WHERE n = ?"  # noqa: S608 - constants
        for n, (rev, before) in batch.reopened.items():
            found = all_rows(self._connection, query, (n,))
            rows += [one.reopened(rev, before, era) for one in map(job.Job, found) if one.accepted is not None]
        return rows

    def _keep_open(self, new: Mapping[int, Values], batch: Batch) -> None:
        under_way = self._open
        if under_way is None:
            return
        last, unordered = next(reversed(under_way), 0), False
        for n, values in new.items():
            if values[job.STATE] in UNDER_WAY:
                unordered = unordered or n < last
                under_way[n] = None
        for n, update in batch.change_updates.items():
            if update.state in UNDER_WAY:
                unordered = unordered or n < last
                under_way[n] = None
            else:
                under_way.pop(n, 0)
        if unordered and list(under_way) != sorted(under_way):
            self._open = dict.fromkeys(sorted(under_way))

    def _new_descriptions(self, batch: Batch) -> list[Values]:
        known = self.descriptions
        new = [row for row in batch.arms.values() if row.arm not in known or known[row.arm] != row.description]
        if not new:
            return []
        self._replaced = {row.arm: known.get(row.arm) for row in new}
        known.update((row.arm, row.description) for row in new)
        return [(row.arm, row.description) for row in new]

    def _chained(self, entries: list[bytes], made: Made) -> Values:
        """The row of the audit: the number and hash of its last entry, each of them chained to the one before it."""
        prev, self.head = made.before.hash, made.head
        if self._open is not None:
            self._open_n = next(iter(self._open), self.newest + 1)
        values = (self.head.n, self.commits, self._last_time_us, self._open_n)
        return (*values, bytearray(prev), bytearray(b"\n".join(entries)), bytearray(self.head.hash), digest(values))


def of_late(late: Late) -> list[tuple[Statement, list[Values]]]:
    """What writes all that is late in its own tables."""
    arms, items = list(map(tables.ARMS.make, late.arms.values())), list(map(tables.ITEMS.make, late.items.values()))
    return [(tables.ARMS.put, arms), (tables.ITEMS.put, items), (tables.DROP_LATE, [()])]


def made_of(batch: Batch, head: tables.AuditHead, newest: int) -> Made:
    """The rows of a batch that follows this entry of the audit and this job; nothing may be put into it any more.

    Raises:
        ValueError: a change has the number of a request that did not ask for it.
    """
    numbers = _new_numbers(batch)
    newest = max(newest, numbers[-1]) if numbers else newest
    era = job.era_of(newest)
    new = _new_jobs(batch, numbers, era)
    others = [_rows_of(tables.BY_NAME[name], rows.values()) for name, rows in batch.put.items()]
    if batch.published_seqs:
        others.append(_rows_of(tables.PUBLISHED_SEQS, batch.published_seqs.items()))
    if batch.recipes:
        others += _of_recipes(batch)
    if batch.grounds or batch.overrides:
        others += _of_overrides(batch)
    after = tables.AuditHead(*audit_chain(*head, batch.audits))
    late = _late_of(batch) if batch.arms or batch.items else []
    return Made(new, newest, batch.latest_us(), *_updates(batch, new, era), late, others, head, after)


def _rows_of(table: tables.Table, rows: Iterable[Any]) -> tuple[Statement, list[Values]]:
    return table.put, list(map(table.make, rows))


def _late_of(batch: Batch) -> list[Values]:
    """The rows of LATES: that of an arm goes with the first of its slots."""
    make, arms = tables.LATES.make, dict(batch.arms)
    late = [make((item, arms.pop(item.arm, None))) for item in batch.items.values()]
    return late + [make((None, row)) for row in arms.values()]


def _new_numbers(batch: Batch) -> list[int]:
    return sorted(batch.requests.keys() | batch.changes.keys() | (batch.events.keys() - batch.change_updates.keys()))


def _new_jobs(batch: Batch, numbers: list[int], era: int) -> dict[int, Values]:
    """The new rows of jobs by their number, in its order: a request, its change and event are one."""
    if not numbers:
        return {}
    requests, changes, events, updates = batch.requests, batch.changes, batch.events, batch.change_updates
    if answers := [(n, last) for n, last in batch.request_updates.items() if n in requests]:
        requests = requests | {n: _answered(requests[n], last) for n, last in answers}
    request_of, change_of = map(requests.get, numbers), map(changes.get, numbers)
    update_of, event_of = map(updates.get, numbers), map(events.get, numbers)
    rows = map(job.added, request_of, change_of, update_of, event_of, repeat(era))
    return dict(zip(numbers, rows, strict=True))


def _of_recipes(batch: Batch) -> Iterable[tuple[Statement, list[Values]]]:
    yield tables.RECIPES.put, [tables.RECIPES.make(row) for row in batch.recipes.values() if row is not None]
    yield tables.DROP_RECIPE, [key for key, row in batch.recipes.items() if row is None]


def _of_overrides(batch: Batch) -> Iterable[tuple[Statement, list[Values]]]:
    """Overrides and grounds that are put, and those that are kept no longer."""
    yield tables.GROUNDS.put, [tables.GROUNDS.make(row) for row in batch.grounds.values() if row is not None]
    yield tables.OVERRIDES.put, [tables.OVERRIDES.make(row) for row in batch.overrides.values() if row is not None]
    yield tables.DROP_GROUND, [slot for slot, row in batch.grounds.items() if row is None]
    yield tables.DROP_OVERRIDE, [key for key, row in batch.overrides.items() if row is None]


def _updates(batch: Batch, new: Mapping[int, Values], era: int) -> tuple[list[Values], list[Values], list[Values]]:
    """The rows of END, PROGRESSED and ANSWERED."""
    ends: list[Values] = []
    progress: list[Values] = []
    answered: list[Values] = []
    updates, answers, events = batch.change_updates, batch.request_updates, batch.events
    for n, update in updates.items():
        if n not in new:
            answer = answers.get(n)
            if answer is None:
                progress.append(job.progressed(update, events.get(n), era))
            else:
                ends.append(job.at_its_end(update, events.get(n), answer, era))
    for n, answer in answers.items():
        if n not in new and n not in updates:
            answered.append(job.answered(answer))
    return ends, progress, answered


def _answered(request: RequestRow, update: RequestUpdate) -> RequestRow:
    """A request with the outcome that it got in the same batch."""
    return msgspec.structs.replace(request, outcome=update.outcome, reply_open=update.reply_open, rev=update.rev)
