"""Plans that are kept no longer, removed in small steps."""

import sqlite3

from broker.store.retention import REMEMBERED_US, STEP

_OLD = """SELECT n FROM plan WHERE settled = 1 AND at_us < ? AND n < (SELECT max(n) FROM plan) ORDER BY n LIMIT 1"""
_ROWS = """DELETE FROM plan_row WHERE plan_n = ?1 AND arm IN (
    SELECT arm FROM plan_row WHERE plan_n = ?1 ORDER BY arm LIMIT ?2)"""


def forget_plans(now_us: int, sure_since_us: int, connection: sqlite3.Connection) -> int | None:
    """Remove rows of the oldest plan whose time is over, and itself with its last; how many, None: nothing is old.

    The newest plan stays whatever its age: the next number is counted from it.
    """
    before_us = now_us - REMEMBERED_US
    found = connection.execute(_OLD, (before_us,)).fetchone() if before_us >= sure_since_us else None
    if found is None:
        return None
    removed = connection.execute(_ROWS, (*found, STEP)).rowcount
    if removed < STEP:
        removed += connection.execute("DELETE FROM plan WHERE n = ?", found).rowcount
    return int(removed)
