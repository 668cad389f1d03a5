"""How long rows are kept, and their removal in small steps. Audit entries go into archives, which are kept."""

import sqlite3
from collections.abc import Callable, Iterator
from typing import NamedTuple

_DAY_US = 86_400_000_000
REQUESTS_US = 30 * _DAY_US
"""Settled requests without an owed reply."""
EVENTS_US = 7 * _DAY_US
"""Published events, except the newest of each topic."""
CHANGES_US = 400 * _DAY_US
"""Settled changes, the arms' history."""
STEP = 500
"""Largest number of rows looked at in one transaction."""


# ruff: noqa: S608 - every statement is built from constants
class Rule(NamedTuple):
    """Rows of one table that may go once they are older than `kept_us`; both grow with `number`."""

    table: str
    number: str
    kept_us: int
    removable: str


# The newest request and change stay whatever their age: the next number is counted from them.
RULES = (
    Rule("request", "n", REQUESTS_US, "settled = 1 AND reply_open = 0 AND n < (SELECT max(n) FROM request)"),
    Rule(
        "event",
        "rowid",
        EVENTS_US,
        "seq <= (SELECT seq FROM published WHERE published.arm = event.arm) AND NOT EXISTS ("
        "SELECT 1 FROM topic_head AS head WHERE head.arm = event.arm AND head.topic = event.topic "
        "AND head.seq = event.seq)",
    ),
    Rule("change", "n", CHANGES_US, "state = 'settled' AND n < (SELECT max(n) FROM change)"),
)

_ANY_TIME = 2**63 - 1

Step = Callable[[sqlite3.Connection], int | None]
"""Removes some rows and returns how many; None when nothing old is left."""


def oldest_statement(rule: Rule) -> str:
    """Finds number and time of the first row above a number that is not later than a time."""
    return (
        f"SELECT {rule.number}, at_us FROM {rule.table} WHERE {rule.number} > ? AND at_us <= ? "
        f"ORDER BY {rule.number} LIMIT 1"
    )


def newest_statement(rule: Rule) -> str:
    """Finds the number of the last row between two numbers (exclusive, inclusive) that is older than a time."""
    return f"SELECT max({rule.number}) FROM {rule.table} WHERE {rule.number} > ? AND {rule.number} <= ? AND at_us < ?"


def delete_statement(rule: Rule) -> str:
    """Removes what may go between two numbers (exclusive, inclusive) and before a time.

    Rows of a later time than now were written under a wrong clock: they are as old as a row that came after them (the
    last two values: now, and the number of an old row).
    """
    return (
        f"DELETE FROM {rule.table} WHERE {rule.number} > ? AND {rule.number} <= ? "
        f"AND (at_us < ? OR (at_us > ? AND {rule.number} < ?)) AND {rule.removable}"
    )


def steps(rule: Rule, now_us: int, sure_since_us: int = 0) -> Iterator[Step]:
    """The steps of one rule, without end: run each in a transaction until one returns None.

    Nothing is old for sure that was written before `sure_since_us`, unless all the time since then makes it old.
    """
    oldest, newest, delete = oldest_statement(rule), newest_statement(rule), delete_statement(rule)
    before_us = now_us - rule.kept_us
    cursor = 0

    def step(connection: sqlite3.Connection) -> int | None:
        nonlocal cursor
        first = connection.execute(oldest, (cursor, _ANY_TIME)).fetchone()
        old = connection.execute(oldest, (cursor, now_us)).fetchone() if first and first[1] > now_us else first
        if old is None or old[1] >= before_us or before_us < sure_since_us:
            return None
        low, cursor = first[0] - 1, first[0] - 1 + STEP
        if first is not old:
            cursor = min(cursor, old[0] - 1)
        (last,) = connection.execute(newest, (low, max(cursor, old[0]), before_us)).fetchone()
        return connection.execute(delete, (low, cursor, before_us, now_us, last)).rowcount

    while True:
        yield step
