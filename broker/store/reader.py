"""Queries of what is committed; only rows that agree with their hashes are answered."""

import sqlite3
from collections.abc import Callable, Collection, Container, Generator, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import msgspec

from broker.store import job
from broker.store.audit import read_head
from broker.store.eras import (
    EVENTS,
    FIRST_ERAS,
    FIRSTS,
    HIGHEST_SEQ,
    HISTORY,
    LATER,
    LEAST_REV,
    LEAST_SEQ,
    MOST_ERAS,
    REV_START,
    SEQ_START,
    Eras,
)
from broker.store.errors import RowDamagedError
from broker.store.keys_migration import left_keys, old_key_of
from broker.store.rows import (
    ChangeRow,
    Damage,
    EventPage,
    EventRow,
    HistoryPage,
    PastChange,
    RequestRow,
)
from broker.store.schema import connect_reader
from broker.store.seals import DIFFERS, Values, all_rows
from broker.store.tables import AuditHead

DAMAGED = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What reading damaged pages raises; the second where SQLite quotes what is no text."""
UNUSABLE = (msgspec.MsgspecError, ValueError, KeyError, TypeError)
"""What making a body of a row that is what was written may raise, all the same."""
_TOP = 2**63 - 1
"""The largest number of the file."""

# ruff: noqa: S608 - every statement is built from constants
# A row is read from its table, never from an index: an index holds copies of columns that no hash covers.
_FIND = f"SELECT {job.SELECT} FROM job WHERE n IN (SELECT n FROM job WHERE key = ? AND key <> 0)"


@lru_cache(maxsize=256)
def _used(count: int) -> str:
    """The query for so many keys."""
    return f"SELECT key FROM job WHERE key IN ({', '.join('?' * count)}) AND key <> 0"


_BY_NUMBER = f"SELECT {job.SELECT} FROM job WHERE n = ?"
_OF_FLEET = f"SELECT {job.SELECT} FROM job WHERE n < ? AND n >= ? AND rev > 0 ORDER BY n DESC"
BOUNDS = "SELECT coalesce(min(n), 0), coalesce(max(n), 0) FROM job"
"""Finds the lowest and the highest number of a job."""
_OWED = f"""SELECT {job.SELECT} FROM job
    WHERE n IN (SELECT n FROM job WHERE reply_open = {job.OWED} AND n > ? ORDER BY n LIMIT ?) ORDER BY n"""


def stored_body(_change: ChangeRow | None, event: EventRow) -> bytes:
    """The body of an event, as far as it is stored."""
    return event.body


class Reader:
    """A connection that only reads, for one thread; each query is one short read transaction.

    `on_damage` is told of every row that is not what was written; such a row is answered by nothing.
    """

    def __init__(self, path: Path) -> None:
        self._connection = connect_reader(path)
        self._left = left_keys(self._connection)
        """Old keys of damaged requests."""
        self.on_damage: Callable[[Damage], None] = lambda _: None
        self.body_of: Callable[[ChangeRow | None, EventRow], bytes] = stored_body
        """Makes the body of an event whose row holds only the parts of it."""

    def find(self, user: str, conn: str, request_id: str) -> RequestRow | None:
        """The request of that name.

        Raises:
            RowDamagedError: there is one, and nobody knows what it was.
        """
        name = f"{user}/{conn}/{request_id}"
        damaged: Damage | None = None
        for values in self._rows("job", "", _FIND, (job.key_of(user, conn, request_id),), name):
            found = job.Job(values)
            row = found.request() if found.whole else None
            if row is None:
                damaged = Damage("job", "", name, DIFFERS)
            elif (row.user, row.conn, row.id) == (user, conn, request_id):
                return row
        if self._is_left(user, conn, request_id):
            damaged = Damage("job", "", name, DIFFERS)
        if damaged is not None:
            raise self._damaged(damaged)
        return None

    def _is_left(self, user: str, conn: str, request_id: str) -> bool:
        """Whether a request of that name was damaged when keys were reckoned anew."""
        return bool(self._left) and old_key_of(user, conn, request_id) in self._left

    def used(self, keys: Collection[int]) -> set[int]:
        """Those of some keys (`job.key_of`) that there may be a request of; all where that cannot be read."""
        try:
            return {key for (key,) in self._connection.execute(_used(len(keys)), tuple(keys))}
        except DAMAGED:
            return set(keys)

    def request(self, n: int) -> RequestRow | None:
        """The request of that number.

        Raises:
            RowDamagedError: as `find`.
        """
        for values in self._rows("job", "", _BY_NUMBER, (n,), str(n)):
            found = job.Job(values)
            if not found.whole:
                raise self._damaged(Damage("job", "", str(n), DIFFERS))
            return found.request()
        return None

    def owed(self, after_n: int, limit: int) -> tuple[list[RequestRow], int]:
        """Requests above a number whose replies are owed and go without an event, and the number of the last one.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        rows = self._rows("job", "", _OWED, (after_n, limit))
        found = [row for values in rows if (row := self._reply(job.Job(values))) is not None]
        return found, rows[-1][job.N] if rows else 0

    def _reply(self, row: job.Job) -> RequestRow | None:
        if row.whole:
            return row.request()
        self.on_damage(row.damage)
        return None

    def history(self, arm: str, after_rev: int, before_rev: int, key: str | None, limit: int) -> HistoryPage:
        """Changes of an arm with `after_rev` < rev < `before_rev`, newest first, of one item or all.

        Entries of one revision stand on one page, so that the next can begin before it; where they alone are more than
        `limit`, the newest are told.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        rows, more = self._history(arm, after_rev, before_rev, key, limit)
        return self._page(arm, key, rows, more=more)

    def history_pieces(
        self, arm: str, after_rev: int, before_rev: int, key: str | None, limit: int, size: int
    ) -> Iterator[HistoryPage]:
        """As `history`, in pieces of so many rows; each but the last says that there is more.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        rows, more = self._history(arm, after_rev, before_rev, key, limit)
        for first in range(0, len(rows) or 1, size):
            last = first + size >= len(rows)
            yield self._page(arm, key, rows[first : first + size], more=more or not last)

    def _history(
        self, arm: str, after_rev: int, before_rev: int, key: str | None, limit: int
    ) -> tuple[list[Values], bool]:
        """The rows of a page of the history, and whether there are more."""
        code = None if key is None else job.code_of(key)
        values = (min(after_rev, _TOP), min(before_rev, _TOP), code)
        eras = (_TOP, self._start(arm, REV_START, values[0]))
        rows = self._walk(arm, HISTORY, eras, values, limit + 1)
        more = len(rows) > limit
        if more:
            rows = [row for row in rows if row[-1] != rows[limit][-1]] or rows[:limit]
        return rows, more

    def later(self, arm: str, after_rev: int, key: str, limit: int) -> HistoryPage:
        """Changes of an item of an arm with rev > `after_rev`, oldest first.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        eras = (self._start(arm, REV_START, after_rev), _TOP)
        rows = self._walk(arm, LATER, eras, (after_rev, job.code_of(key)), limit)
        return self._page(arm, key, rows, more=len(rows) == limit)

    def firsts(self, arm: str, before_rev: int, key: str, limit: int) -> HistoryPage:
        """The first entry of an item of an arm at each revision with rev < `before_rev`, newest first.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        found: dict[int, Values] = {}
        values = (before_rev, job.code_of(key), limit + 1)
        for rows in self._pieces(arm, FIRSTS, (_TOP, 0), values):
            found |= {row[-1]: row for row in rows}  # what was given in an older era came before
            if len(found) > limit:
                break
        return self._page(arm, key, list(found.values())[:limit], more=len(found) > limit)

    def _page(self, arm: str, key: str | None, rows: list[Values], *, more: bool) -> HistoryPage:
        """The changes in rows, each with its revision behind it; those of another item with the same code are none."""
        changes: list[PastChange] = []
        missing: list[int] = []
        for *values, _, rev in rows:
            row = job.Job(tuple(values))
            change = row.past() if row.tells else None
            if change is not None and key is not None and change.key != key:
                continue
            if change is not None and (change.rev, change.arm) == (rev, arm):
                changes.append(change)
            else:
                missing.append(rev)
                self.on_damage(Damage("job", arm, f"rev {rev}", DIFFERS))
        return HistoryPage(changes=changes, more=more, missing=missing)

    def oldest_rev(self, arm: str) -> int:
        """The lowest revision of an arm of which there is a change; 0 without any.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        return self._one(arm, LEAST_REV) or 0

    def numbers(self) -> tuple[int, int]:
        """The lowest and the highest number of a job; 0 where there is none."""
        low, high = self._rows("job", "", BOUNDS, ())[0]
        return low, high

    def changes_between(
        self, before_n: int, from_n: int, arms: Container[str] | None, items: Collection[str]
    ) -> tuple[list[job.Job], int]:
        """The jobs that are changes of some arms (None: all) and items (none: all), the newest first.

        `from_n` <= n < `before_n`. There may be some of other items among them. Second: when the oldest change between
        these numbers was accepted, whatever it is of; 0 where there is none.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        codes = {job.code_of(item) for item in items}
        rows = self._rows("job", "", _OF_FLEET, (before_n, from_n))
        found = [
            job.Job(values)
            for values in rows
            if (arms is None or values[job.ARM] in arms) and (not codes or values[job.ITEM] in codes)
        ]
        return found, rows[-1][job.AT] if rows else 0

    def events(self, arm: str, after_seq: int, limit: int, max_bytes: int, *, replies: bool = False) -> EventPage:
        """Events of an arm above `after_seq`, oldest first, as many as fit (at least one).

        With `replies` the page has the requests of their changes whose replies were owed with them.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        pieces = self.event_pieces(arm, after_seq, limit, max_bytes, limit + 1, replies=replies)
        try:
            while True:
                next(pieces)
        except StopIteration as end:
            page: EventPage = end.value
            return page

    def event_pieces(
        self, arm: str, after_seq: int, limit: int, max_bytes: int, size: int, *, replies: bool = False
    ) -> Generator[None, None, EventPage]:
        """As `events`, with a stop behind each so many rows.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        events: list[EventRow] = []
        missing: list[tuple[int, int]] = []
        requests: dict[int, RequestRow] = {}
        told = 0
        more = False
        rows, first, head = self._events(arm, min(after_seq, _TOP), limit + 1)
        reached = looked = max(after_seq, (first or 1) - 1)
        for number, (*values, _, seq) in enumerate(rows):
            row = job.Job(tuple(values))
            event = self._event(arm, row, seq)
            told += 0 if event is None else len(event.body)
            more = number == limit or bool(events and told > max_bytes)
            if more:
                break
            if event is not None:
                if event.seq > reached + 1:
                    missing.append((reached + 1, event.seq - 1))
                reached = event.seq
                events.append(event)
            owed = replies and values[job.OPEN] == job.OWED_WITH_EVENT
            if owed and (request := self._reply(row)) is not None:
                requests[seq] = request
            looked = seq
            if (number + 1) % size == 0:
                yield
        if (end := looked if more else head or 0) > reached:
            missing.append((reached + 1, end))
        return EventPage(
            events=events, missing=missing, requests=requests, first_seq=first or 0, head_seq=head or 0, more=more
        )

    def _events(self, arm: str, after_seq: int, limit: int) -> tuple[list[Values], int | None, int | None]:
        """The rows of events of an arm above `after_seq`, its lowest seq and its highest."""
        with self._snapshot():
            eras = (self._start(arm, SEQ_START, after_seq), _TOP)
            rows = self._walk(arm, EVENTS, eras, (after_seq,), limit)
            return rows, self._one(arm, LEAST_SEQ), self._one(arm, HIGHEST_SEQ)

    def _event(self, arm: str, row: job.Job, seq: int) -> EventRow | None:
        """The event of a row, with its body; None where the row is damaged or says what nobody can use."""
        what = DIFFERS
        if row.tells:
            event = row.event()
            if event is not None and (event.arm, event.seq) == (arm, seq):
                if event.parts is None:
                    return event
                try:
                    body = self.body_of(row.change(), event)
                    return msgspec.structs.replace(event, body=body)
                except UNUSABLE as error:
                    what = f"it cannot be used: {error}"
        self.on_damage(Damage("job", arm, f"seq {seq}", what))
        return None

    def _start(self, arm: str, statement: str, after: int) -> int:
        """The first era that may hold what an arm was given after a number."""
        return (self._one(arm, statement, after) or 0) if after > 0 else 0

    def _one(self, arm: str, statement: str, *values: int) -> int | None:
        """What is found of an arm, if anything is."""
        found = self._rows("job", arm, statement, (arm, *values))
        return found[0][0] if found else None

    def _pieces(self, arm: str, statement: str, eras: Eras, values: Values) -> Iterator[list[Values]]:
        """Rows of an arm between two eras, some eras at once, as long as there are any."""
        (era, last), most = eras, FIRST_ERAS
        step = 1 if era <= last else -1
        while rows := self._rows("job", arm, statement, (era, last, most, arm, *values)):
            yield rows
            era, most = step + step * max(step * row[-2] for row in rows), min(2 * most, MOST_ERAS)

    def _walk(self, arm: str, statement: str, eras: Eras, values: Values, limit: int) -> list[Values]:
        """Rows of an arm until there are so many."""
        found: list[Values] = []
        for rows in self._pieces(arm, statement, eras, (*values, limit)):
            found += rows
            if len(found) >= limit:
                break
        return found[:limit]

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Several queries of what one commit left."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:  # SQLite ends it itself after some errors
                self._connection.execute("ROLLBACK")

    def _rows(self, table: str, arm: str, statement: str, values: Values, name: str = "") -> list[Values]:
        """All rows of a query; texts that are no UTF-8 come as `readable` has them."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except DAMAGED:
            try:
                return all_rows(self._connection, statement, values)
            except DAMAGED as error:
                raise self._damaged(_unreadable(table, arm, name, error)) from error

    def _damaged(self, damage: Damage) -> RowDamagedError:
        self.on_damage(damage)
        return RowDamagedError(damage)

    def audit_head(self) -> AuditHead:
        """Number and hash of the last committed audit entry, to be kept outside the store."""
        return read_head(self._connection)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _unreadable(table: str, arm: str, key: str, error: Exception) -> Damage:
    """What SQLite itself cannot read."""
    return Damage(table, arm, key, f"it cannot be read: {error}")
