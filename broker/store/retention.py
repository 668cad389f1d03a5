"""How long rows are kept, and their removal in small steps. Audit entries go into archives, which are kept.

A settled job whose reply and event are taken is remembered for a month; then what the history tells is left of it.
"""

import sqlite3
from collections.abc import Callable, Iterator
from typing import NamedTuple

from broker.store import job, meta_keys
from broker.store.seals import agrees, all_rows, selected
from broker.store.tables import META, METAS

_DAY_US = 86_400_000_000
REMEMBERED_US = 30 * _DAY_US
"""Settled requests without an owed reply, and published events, except the newest of each arm."""
CHANGES_US = 400 * _DAY_US
"""Settled changes, the arms' history."""
STEP = 500
"""Largest number of rows looked at in one transaction."""
_ANY_TIME = 2**63 - 1

# ruff: noqa: S608 - every statement is built from constants
# The newest job stays whatever its age: the next number is counted from it; and so does the newest event of an arm.
_OVER = f"""state = 'settled' AND reply_open <> {job.OWED} AND n < (SELECT max(n) FROM job)
    AND (seq = 0 OR seq < (SELECT seq FROM published WHERE published.arm = job.arm))"""
# Rows of a later time than now were written under a wrong clock: they are as old as a row that came after them (the
# last two values: now, and the number of an old row).
_OLD = "n > ? AND n <= ? AND (at_us < ? OR (at_us > ? AND n < ?))"
_DELETE = f"DELETE FROM job WHERE {_OLD} AND {_OVER}"
_DELETE_PLAIN = f"{_DELETE} AND rev = 0 AND seq = 0"
_LONG = f"SELECT {job.SELECT} FROM job WHERE {_OLD} AND {_OVER} AND (key <> 0 OR seq > 0)"
_LEFT = f"""SELECT min(coalesce(min(n), ?2 + 1), (SELECT max(n) FROM job)) FROM job
    WHERE n > ?1 AND n <= ?2 AND (at_us >= ?3 OR state <> 'settled' OR reply_open = {job.OWED})"""
# What was the newest event of its arm at an earlier purge, or not published yet, lies before what is looked at.
_EARLIER = "SELECT n, arm, seq FROM job INDEXED BY job_event WHERE seq > 0 AND seq_era <= ? AND n <= ?"
_ONE = f"SELECT {job.SELECT} FROM job WHERE n = ? AND {_OVER}"
_DELETE_ONE = "DELETE FROM job WHERE n = ?"
OLDEST = "SELECT n, at_us FROM job WHERE n > ? AND at_us <= ? ORDER BY n LIMIT 1"
"""Finds number and time of the first row above a number that is not later than a time."""
_NEWEST = "SELECT max(n) FROM job WHERE n > ? AND n <= ? AND at_us < ?"
"""Finds the number of the last row between two numbers (exclusive, inclusive) that is older than a time."""

Window = tuple[int, int, int, int, int | None]
"""Two numbers (exclusive, inclusive), the time before which rows are old, now, the number of the last old row."""
Step = Callable[[sqlite3.Connection], int | None]
"""Removes some rows and returns how many; None when nothing old is left."""


def _remove(connection: sqlite3.Connection, window: Window) -> int:
    return connection.execute(_DELETE, window).rowcount


def _forget(connection: sqlite3.Connection, window: Window) -> int:
    """Leave of the rows of a window what the history tells; damaged ones stay as they are.

    So do those whose event is not old, for their change waited long for its arm: they go with what came after it.
    """
    low, cursor, before_us, now_us, _ = window
    count = connection.execute(_DELETE_PLAIN, window).rowcount
    gone: dict[str, int] = {}
    for row in map(job.Job, all_rows(connection, _LONG, window)):
        event = row.event() if row.whole else None
        if event is not None and before_us <= event.at_us <= now_us:
            continue
        if event is not None:
            gone[event.arm] = max(event.seq, gone.get(event.arm, 0))
        count += _shorten(connection, row)
    count += _forget_earlier(connection, low, job.era_of(cursor), gone)
    (left,) = connection.execute(_LEFT, (low, cursor, before_us)).fetchone()
    connection.execute(METAS.put.text(1), METAS.make((meta_keys.SHORTENED, str(left - 1))))
    return count


def _forget_earlier(connection: sqlite3.Connection, low: int, era: int, gone: dict[str, int]) -> int:
    """The same of events up to a row and an era that are below those which are gone: an arm's are whole from one on."""
    found = connection.execute(_EARLIER, (era, low)).fetchall() if gone else ()
    numbers = [n for n, arm, seq in found if seq < gone.get(arm, 0)]
    return sum(_shorten(connection, job.Job(values)) for n in numbers for values in all_rows(connection, _ONE, (n,)))


def _shorten(connection: sqlite3.Connection, row: job.Job) -> int:
    """Leave of a row what the history tells, if anything; 1 where that was done."""
    if not row.whole:
        return 0
    change = row.change()
    if change is not None and change.rev:
        connection.execute(job.REWRITE.text(1), row.shortened())
    else:
        connection.execute(_DELETE_ONE, (row.n,))
    return 1


def _forgotten(connection: sqlite3.Connection) -> int:
    """The number up to which nothing is left to forget."""
    query = f"SELECT {selected(META)} FROM meta WHERE key = ?"
    rows = all_rows(connection, query, (meta_keys.SHORTENED,))
    return next((int(values[1]) for values in rows if agrees(META, values)), 0)


class Rule(NamedTuple):
    """What becomes of rows that are older than `kept_us`, from which number on."""

    kept_us: int
    carry_out: Callable[[sqlite3.Connection, Window], int]
    begin: Callable[[sqlite3.Connection], int]


FORGET = Rule(REMEMBERED_US, _forget, _forgotten)
REMOVE = Rule(CHANGES_US, _remove, lambda _: 0)
RULES = (FORGET, REMOVE)


def steps(rule: Rule, now_us: int, sure_since_us: int = 0) -> Iterator[Step]:
    """The steps of one rule, without end: run each in a transaction until one returns None.

    Nothing is old for sure that was written before `sure_since_us`, unless all the time since then makes it old.
    """
    before_us = now_us - rule.kept_us
    cursor: int | None = None

    def step(connection: sqlite3.Connection) -> int | None:
        nonlocal cursor
        if cursor is None:
            cursor = rule.begin(connection)
        first = connection.execute(OLDEST, (cursor, _ANY_TIME)).fetchone()
        old = connection.execute(OLDEST, (cursor, now_us)).fetchone() if first and first[1] > now_us else first
        if old is None or old[1] >= before_us or before_us < sure_since_us:
            return None
        low, cursor = first[0] - 1, first[0] - 1 + STEP
        if first is not old:
            cursor = min(cursor, old[0] - 1)
        (last,) = connection.execute(_NEWEST, (low, max(cursor, old[0]), before_us)).fetchone()
        return rule.carry_out(connection, (low, cursor, before_us, now_us, last))

    while True:
        yield step
