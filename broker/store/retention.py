"""How long rows are kept, and their removal in small steps. Audit entries are kept for ever."""

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

Step = Callable[[sqlite3.Connection], int | None]
"""Removes some rows and returns how many; None when nothing old is left."""


def oldest_statement(rule: Rule) -> str:
    """Finds number and time of the first row above a number."""
    return f"SELECT {rule.number}, at_us FROM {rule.table} WHERE {rule.number} > ? ORDER BY {rule.number} LIMIT 1"


def delete_statement(rule: Rule) -> str:
    """Removes what may go between two numbers (exclusive, inclusive) and before a time."""
    return f"DELETE FROM {rule.table} WHERE {rule.number} > ? AND {rule.number} <= ? AND at_us < ? AND {rule.removable}"


def steps(rule: Rule, now_us: int) -> Iterator[Step]:
    """The steps of one rule, without end: run each in a transaction until one returns None."""
    oldest, delete = oldest_statement(rule), delete_statement(rule)
    before_us = now_us - rule.kept_us
    cursor = 0

    def step(connection: sqlite3.Connection) -> int | None:
        nonlocal cursor
        found = connection.execute(oldest, (cursor,)).fetchone()
        if found is None or found[1] >= before_us:
            return None
        low, cursor = found[0] - 1, found[0] - 1 + STEP
        return connection.execute(delete, (low, cursor, before_us)).rowcount

    while True:
        yield step
