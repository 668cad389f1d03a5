"""Queries of what is committed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from broker.store.audit import audit_head
from broker.store.rows import EventPage, EventRow, HistoryPage, PastChange, RequestRow
from broker.store.schema import connect_reader
from broker.store.statements import AuditHead

R = TypeVar("R", bound=msgspec.Struct)

_TOP = 2**63 - 1
"""The largest number of the file."""


def maker(row: type[R]) -> Callable[[tuple[Any, ...]], R]:
    """A function from column values, in the order of the fields, to the row."""
    names = row.__struct_fields__
    flags = tuple(field.name for field in msgspec.structs.fields(row) if field.type is bool)

    def make(values: tuple[Any, ...]) -> R:
        given = dict(zip(names, values, strict=True))
        for name in flags:
            given[name] = bool(given[name])
        return row(**given)

    return make


def columns(row: type[msgspec.Struct]) -> str:
    """The fields of a row as a column list."""
    return ", ".join(row.__struct_fields__)


make_request = maker(RequestRow)
make_event = maker(EventRow)
_make_past_change = maker(PastChange)

# ruff: noqa: S608 - every statement is built from constants
_SELECT_REQUEST = f"SELECT {columns(RequestRow)} FROM request"
_SELECT_EVENT = f"SELECT {columns(EventRow)} FROM event"
_FIND = f"{_SELECT_REQUEST} WHERE user = ? AND conn = ? AND id = ?"
_BY_NUMBER = f"{_SELECT_REQUEST} WHERE n = ?"
_HISTORY = f"""SELECT {columns(PastChange)} FROM change
    WHERE arm = ?1 AND rev > ?2 AND rev < ?3 AND rev > 0 AND (?4 IS NULL OR key = ?4) ORDER BY rev DESC LIMIT ?5"""
_EVENTS = f"{_SELECT_EVENT} WHERE arm = ? AND seq > ? ORDER BY seq LIMIT ?"
_ENDS = "SELECT (SELECT min(seq) FROM event WHERE arm = ?1), (SELECT max(seq) FROM event WHERE arm = ?1)"
_LAST_EVENTS = f"""{_SELECT_EVENT} WHERE arm = ?1 AND seq IN (SELECT seq FROM topic_head WHERE arm = ?1) ORDER BY seq"""


class Reader:
    """A connection that only reads, for one thread; each query is one short read transaction."""

    def __init__(self, path: Path) -> None:
        self._connection = connect_reader(path)

    def find(self, user: str, conn: str, request_id: str) -> RequestRow | None:
        """The request of that name."""
        found = self._connection.execute(_FIND, (user, conn, request_id)).fetchone()
        return None if found is None else make_request(found)

    def request(self, n: int) -> RequestRow | None:
        """The request of that number."""
        found = self._connection.execute(_BY_NUMBER, (n,)).fetchone()
        return None if found is None else make_request(found)

    def history(self, arm: str, after_rev: int, before_rev: int, key: str | None, limit: int) -> HistoryPage:
        """Changes of an arm with `after_rev` < rev < `before_rev`, newest first, of one item or all."""
        bounds = (arm, min(after_rev, _TOP), min(before_rev, _TOP), key, limit + 1)
        rows = self._connection.execute(_HISTORY, bounds).fetchall()
        return HistoryPage(changes=[_make_past_change(row) for row in rows[:limit]], more=len(rows) > limit)

    def events(self, arm: str, after_seq: int, limit: int, max_bytes: int) -> EventPage:
        """Events of an arm above `after_seq`, oldest first, as many as fit (at least one)."""
        events: list[EventRow] = []
        size = 0
        more = False
        for values in self._connection.execute(_EVENTS, (arm, min(after_seq, _TOP), limit + 1)).fetchall():
            event = make_event(values)
            size += len(event.body)
            more = len(events) == limit or bool(events and size > max_bytes)
            if more:
                break
            events.append(event)
        first, head = self._connection.execute(_ENDS, (arm,)).fetchone()
        return EventPage(events=events, first_seq=first or 0, head_seq=head or 0, more=more)

    def last_events(self, arm: str) -> list[EventRow]:
        """The newest event of each topic of an arm, in the order of their seq."""
        return [make_event(values) for values in self._connection.execute(_LAST_EVENTS, (arm,)).fetchall()]

    def audit_head(self) -> AuditHead:
        """Number and hash of the last committed audit entry, to be kept outside the store."""
        return audit_head(self._connection)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
