"""The audit chain: its end and its check."""

import sqlite3

from broker.store.digest import AUDIT_START, audit_hash
from broker.store.errors import StoreBrokenError
from broker.store.statements import AuditHead


def audit_head(connection: sqlite3.Connection) -> AuditHead:
    """The end of the committed chain; number 0 when it is empty."""
    found = connection.execute("SELECT n, hash FROM audit ORDER BY n DESC LIMIT 1").fetchone()
    return AuditHead(0, AUDIT_START) if found is None else AuditHead(*found)


def check_audit(connection: sqlite3.Connection, after: int, upto: int) -> None:
    """Check the entries `after` < n <= `upto`; StoreBrokenError names the first that is missing, moved or changed."""
    prev = AUDIT_START
    if after:
        found = connection.execute("SELECT hash FROM audit WHERE n = ?", (after,)).fetchone()
        if found is None:
            raise StoreBrokenError(f"audit entry {after} is missing")
        (prev,) = found
    expected = after
    rows = connection.execute("SELECT n, prev, entry, hash FROM audit WHERE n > ? AND n <= ? ORDER BY n", (after, upto))
    for n, said_prev, entry, said in rows.fetchall():
        expected += 1
        if n != expected:
            raise StoreBrokenError(f"audit entry {expected} is missing")
        if said_prev != prev or said != audit_hash(n, prev, entry):
            raise StoreBrokenError(f"audit entry {n} was changed")
        prev = said
    if expected != upto:
        raise StoreBrokenError(f"audit entry {expected + 1} is missing")
