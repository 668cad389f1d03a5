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


class _Rule(NamedTuple):
    table: str
    number: str
    kept_us: int
    removable: str


# The newest request and change stay whatever their age: the next number is counted from them.
RULES = (
    _Rule("request", "n", REQUESTS_US, "settled = 1 AND reply_open = 0 AND n < (SELECT max(n) FROM request)"),
    _Rule(
        "event",
        "rowid",
        EVENTS_US,
        "seq <= (SELECT seq FROM published WHERE published.arm = event.arm) AND NOT EXISTS ("
        "SELECT 1 FROM topic_head AS head WHERE head.arm = event.arm AND head.topic = event.topic "
        "AND head.seq = event.seq)",
    ),
    _Rule("change", "n", CHANGES_US, "state = 'settled' AND n < (SELECT max(n) FROM change)"),
)

Step = Callable[[sqlite3.Connection], int | None]
"""Removes some rows and returns how many; None when nothing old is left."""


def steps(rule: _Rule, now_us: int) -> Iterator[Step]:
    """The steps of one rule, without end: run each in a transaction until one returns None."""
    table, number, kept_us, removable = rule
    before_us = now_us - kept_us
    # ruff: noqa: S608 - every statement is built from constants
    oldest = f"SELECT {number}, at_us FROM {table} WHERE {number} > ? ORDER BY {number} LIMIT 1"
    delete = f"DELETE FROM {table} WHERE {number} > ? AND {number} <= ? AND at_us < ? AND {removable}"
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
