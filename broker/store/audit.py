"""The audit chain: its end and its check."""

import sqlite3
from typing import NamedTuple

import msgspec

from broker.store import meta_keys
from broker.store.digest import audit_hash
from broker.store.rows import Damage
from broker.store.seals import agrees, all_rows, selected
from broker.store.tables import AUDIT_COUNTS, META, SERVICE, START, AuditHead


class Entry(NamedTuple):
    """One entry: its number, the hash before it, its bytes, its hash."""

    n: int
    prev: bytes
    entry: bytes
    hash: bytes


class _Archived(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    n: int
    hash: str


def archived(connection: sqlite3.Connection) -> AuditHead:
    """The last entry that went into an archive: the chain in the file goes on after it."""
    query = f"SELECT {selected(META)} FROM meta WHERE key = ?"  # noqa: S608 - constants
    for values in all_rows(connection, query, (meta_keys.AUDIT_ARCHIVED,)):
        if agrees(META, values):
            last = msgspec.json.decode(values[1], type=_Archived)
            return AuditHead(last.n, bytes.fromhex(last.hash))
    return START


def archived_text(head: AuditHead) -> str:
    """What the small value says of the last archived entry."""
    return msgspec.json.encode(_Archived(head.n, head.hash.hex())).decode()


def read_head(connection: sqlite3.Connection) -> AuditHead:
    """The end of the committed chain; number 0 when it is empty."""
    found = connection.execute("SELECT n, hash FROM audit ORDER BY n DESC LIMIT 1").fetchone()
    return archived(connection) if found is None else AuditHead(found[0], bytes(found[1]))


class Counts(NamedTuple):
    """Number of commits, latest time, and the least number of a job that may be under way, as a row tells."""

    commits: int
    last_time_us: int
    open_n: int


def newest_counts(connection: sqlite3.Connection) -> Counts | None:
    """What the newest row of the audit counts; None if it is not what was written, zeros if there is none."""
    query = f"SELECT {selected(AUDIT_COUNTS)} FROM audit ORDER BY n DESC LIMIT 1"  # noqa: S608 - constants
    for values in connection.execute(query).fetchall():
        return Counts(*values[1:4]) if agrees(AUDIT_COUNTS, values) else None
    return Counts(0, 0, 0)


def counts(connection: sqlite3.Connection) -> Counts:
    """What the row of the service and the newest one of the audit count, whichever counts further."""
    newest = newest_counts(connection) or Counts(0, 0, 0)
    query = f"SELECT {selected(SERVICE)} FROM service"  # noqa: S608 - constants
    for values in all_rows(connection, query):
        if agrees(SERVICE, values):
            _, _, last_time_us, _, _, commits, _ = values
            return Counts(max(commits, newest.commits), max(last_time_us, newest.last_time_us), newest.open_n)
    return newest


Row = tuple[int, bytes, bytes, bytes]
"""A row of the file: the number of its last entry, the hash before its first, its entries, the hash of the last."""


class Chain:
    """Follows the chain over rows of entries."""

    def __init__(self, head: AuditHead) -> None:
        self.head = head

    def row(self, row: Row) -> tuple[list[Entry], str]:
        """The entries of the next row, and what is wrong with it; the chain goes on behind it either way."""
        n, prev, text, said = row
        expected, before = self.head.n + 1, self.head.hash
        lines = [text] if n == expected else text.split(b"\n")
        first = n - len(lines) + 1
        found, hashed = [], prev
        for number, line in enumerate(lines, first):
            follows, hashed = hashed, audit_hash(max(number, 0), hashed, line)
            found.append(Entry(number, follows, line, said if number == n else hashed))
        self.head = AuditHead(n, said)
        wrong = ""
        if first > expected:
            wrong = f"entries {expected} to {first - 1} are missing"
        elif first < expected:
            wrong = f"entry {first} stands after entry {expected - 1}"
        elif prev != before:
            wrong = f"entry {first} does not follow entry {expected - 1}"
        elif hashed != said:
            wrong = (
                f"entry {n} is not what was written"
                if first == n
                else f"entries {first} to {n} are not what was written"
            )
        return found, wrong


def check_audit(connection: sqlite3.Connection, after: int, upto: int) -> Damage | None:
    """Check the rows of entries `after` < n <= `upto` that are in the file; the first missing, moved or changed one.

    A row is named by its first entry.
    """
    start = archived(connection)
    if after > start.n:
        query = "SELECT n, hash FROM audit WHERE n > ? AND n <= ? ORDER BY n DESC LIMIT 1"
        for n, said in connection.execute(query, (start.n, after)).fetchall():
            start = AuditHead(n, bytes(said))
    chain = Chain(start)
    (last,) = connection.execute("SELECT coalesce(min(n), 0) FROM audit WHERE n >= ?", (upto,)).fetchone()
    query = f"SELECT prev, entries, hash, {selected(AUDIT_COUNTS)} FROM audit WHERE n > ? AND n <= ? ORDER BY n"  # noqa: S608
    for prev, entries, said, *counted in connection.execute(query, (start.n, max(last, upto))).fetchall():
        expected = chain.head.n + 1
        if not isinstance(entries, bytes) or not isinstance(counted[0], int):
            return Damage("audit", "", str(expected), "it is not what was written")
        _, wrong = chain.row((counted[0], prev, entries, said))
        if wrong or not agrees(AUDIT_COUNTS, tuple(counted)):
            missing = wrong.endswith("missing")
            return Damage("audit", "", str(expected), "it is missing" if missing else "it is not what was written")
    return None if chain.head.n >= upto else Damage("audit", "", str(chain.head.n + 1), "it is missing")
