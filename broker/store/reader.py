"""Queries of what is committed; only rows that agree with their hashes are answered."""

import sqlite3
from collections.abc import Callable, Collection
from functools import lru_cache
from itertools import chain
from pathlib import Path

from broker.store.audit import audit_head
from broker.store.errors import RowDamagedError
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
from broker.store.seals import (
    CHANGE,
    CHANGE_PROGRESS,
    DIFFERS,
    EVENT,
    REQUEST,
    REQUEST_PROGRESS,
    Sealed,
    Values,
    all_rows,
)
from broker.store.statements import AuditHead

DAMAGED = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What reading damaged pages raises; the second where SQLite quotes what is no text."""
_TOP = 2**63 - 1
"""The largest number of the file."""

REQUESTS = Sealed(RequestRow, REQUEST, REQUEST_PROGRESS)
EVENTS = Sealed(EventRow, EVENT)
CHANGES = Sealed(ChangeRow, CHANGE, CHANGE_PROGRESS, without="starts")
PAST = Sealed(PastChange, CHANGE, CHANGE_PROGRESS)

# ruff: noqa: S608 - every statement is built from constants
# A row is read from its table, never from an index: an index holds copies of columns that no hash covers.
_FIND = f"""SELECT {REQUESTS.columns} FROM request
    WHERE n = (SELECT n FROM request WHERE user = ? AND conn = ? AND id = ?)"""


@lru_cache(maxsize=256)
def _used(count: int) -> str:
    """The query for so many names."""
    marks = ", ".join(["(?, ?, ?)"] * count)
    wanted = "request.user = column1 AND request.conn = column2 AND request.id = column3"
    return f"SELECT user, conn, id FROM (VALUES {marks}) CROSS JOIN request ON {wanted}"


_BY_NUMBER = f"SELECT {REQUESTS.columns} FROM request WHERE n = ?"
_HISTORY = f"""SELECT {", ".join(f"change.{name}" for name in PAST.columns.split(", "))}, found.at FROM (
        SELECT n AS number, rev AS at FROM change
        WHERE arm = ?1 AND rev > ?2 AND rev < ?3 AND rev > 0 AND (?4 IS NULL OR key = ?4)
        ORDER BY rev DESC, n DESC LIMIT ?5
    ) AS found JOIN change ON change.n = found.number ORDER BY found.at DESC, found.number DESC"""
_EVENTS = f"SELECT {EVENTS.columns}, seq FROM event WHERE arm = ? AND seq > ? ORDER BY seq LIMIT ?"
_ENDS = "SELECT (SELECT min(seq) FROM event WHERE arm = ?1), (SELECT max(seq) FROM event WHERE arm = ?1)"
_LAST_EVENTS = f"""SELECT {EVENTS.columns}, seq FROM event
    WHERE arm = ?1 AND seq IN (SELECT seq FROM topic_head WHERE arm = ?1) ORDER BY seq"""


class Reader:
    """A connection that only reads, for one thread; each query is one short read transaction.

    `on_damage` is told of every row that is not what was written; such a row is answered by nothing.
    """

    def __init__(self, path: Path) -> None:
        self._connection = connect_reader(path)
        self.on_damage: Callable[[Damage], None] = lambda _: None

    def find(self, user: str, conn: str, request_id: str) -> RequestRow | None:
        """The request of that name.

        Raises:
            RowDamagedError: there is one, and nobody knows what it was.
        """
        return self._request(f"{user}/{conn}/{request_id}", _FIND, (user, conn, request_id))

    def used(self, names: Collection[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
        """Those of some names (user, connection, id) that there may be a request of; all where that cannot be read."""
        try:
            return set(self._connection.execute(_used(len(names)), tuple(chain.from_iterable(names))))
        except DAMAGED:
            return set(names)

    def request(self, n: int) -> RequestRow | None:
        """The request of that number.

        Raises:
            RowDamagedError: as `find`.
        """
        return self._request(str(n), _BY_NUMBER, (n,))

    def _request(self, name: str, statement: str, values: Values) -> RequestRow | None:
        try:
            found = self._connection.execute(statement, values).fetchone()
        except DAMAGED as error:
            raise self._damaged(_unreadable("request", "", name, error)) from error
        if found is None:
            return None
        row = REQUESTS.open(found)
        if row is None:
            raise self._damaged(Damage("request", "", name, DIFFERS))
        return row

    def history(self, arm: str, after_rev: int, before_rev: int, key: str | None, limit: int) -> HistoryPage:
        """Changes of an arm with `after_rev` < rev < `before_rev`, newest first, of one item or all.

        Entries of one revision stand on one page, so that the next can begin before it; where they alone are more than
        `limit`, the newest are told.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        bounds = (arm, min(after_rev, _TOP), min(before_rev, _TOP), key, limit + 1)
        rows = self._rows("change", arm, _HISTORY, bounds)
        more = len(rows) > limit
        if more:
            rows = [row for row in rows if row[-1] != rows[limit][-1]] or rows[:limit]
        changes: list[PastChange] = []
        missing: list[int] = []
        for *values, rev in rows:
            change = PAST.open(tuple(values))
            if change is not None and (change.rev, change.arm) == (rev, arm):
                changes.append(change)
            else:
                missing.append(rev)
                self.on_damage(Damage("change", arm, f"rev {rev}", DIFFERS))
        return HistoryPage(changes=changes, more=more, missing=missing)

    def events(self, arm: str, after_seq: int, limit: int, max_bytes: int) -> EventPage:
        """Events of an arm above `after_seq`, oldest first, as many as fit (at least one).

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        events: list[EventRow] = []
        missing: list[tuple[int, int]] = []
        size = 0
        more = False
        rows = self._rows("event", arm, _EVENTS, (arm, min(after_seq, _TOP), limit + 1))
        first, head = self._rows("event", arm, _ENDS, (arm,))[0]
        reached = looked = max(after_seq, (first or 1) - 1)
        for number, (*values, seq) in enumerate(rows):
            event = self._event(arm, tuple(values), seq)
            size += 0 if event is None else len(event.body)
            more = number == limit or bool(events and size > max_bytes)
            if more:
                break
            if event is not None:
                if event.seq > reached + 1:
                    missing.append((reached + 1, event.seq - 1))
                reached = event.seq
                events.append(event)
            looked = seq
        if (end := looked if more else head or 0) > reached:
            missing.append((reached + 1, end))
        return EventPage(events=events, missing=missing, first_seq=first or 0, head_seq=head or 0, more=more)

    def last_events(self, arm: str) -> list[EventRow]:
        """The newest event of each topic of an arm, in the order of their seq.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        rows = self._rows("event", arm, _LAST_EVENTS, (arm,))
        events = [self._event(arm, tuple(values), seq) for *values, seq in rows]
        return [event for event in events if event is not None]

    def _event(self, arm: str, values: Values, seq: int) -> EventRow | None:
        event = EVENTS.open(values)
        if event is None:
            self.on_damage(Damage("event", arm, str(seq), DIFFERS))
        return event

    def _rows(self, table: str, arm: str, statement: str, values: Values) -> list[Values]:
        """All rows of a query; texts that are no UTF-8 come as `readable` has them."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except DAMAGED:
            try:
                return all_rows(self._connection, statement, values)
            except DAMAGED as error:
                raise self._damaged(_unreadable(table, arm, "", error)) from error

    def _damaged(self, damage: Damage) -> RowDamagedError:
        self.on_damage(damage)
        return RowDamagedError(damage)

    def audit_head(self) -> AuditHead:
        """Number and hash of the last committed audit entry, to be kept outside the store."""
        return audit_head(self._connection)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _unreadable(table: str, arm: str, key: str, error: Exception) -> Damage:
    """What SQLite itself cannot read."""
    return Damage(table, arm, key, f"it cannot be read: {error}")
