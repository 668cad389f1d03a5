"""The audit chain: its end and its check."""

import sqlite3

import msgspec

from broker.store import meta_keys
from broker.store.digest import AUDIT_START, audit_hash
from broker.store.rows import Damage
from broker.store.seals import META, agrees, all_rows, selected
from broker.store.statements import AuditHead


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
    return AuditHead(0, AUDIT_START)


def archived_text(head: AuditHead) -> str:
    """What the small value says of the last archived entry."""
    return msgspec.json.encode(_Archived(head.n, head.hash.hex())).decode()


def audit_head(connection: sqlite3.Connection) -> AuditHead:
    """The end of the committed chain; number 0 when it is empty."""
    found = connection.execute("SELECT n, hash FROM audit ORDER BY n DESC LIMIT 1").fetchone()
    return archived(connection) if found is None else AuditHead(found[0], bytes(found[1]))


def check_audit(connection: sqlite3.Connection, after: int, upto: int) -> Damage | None:
    """Check the entries `after` < n <= `upto` that are in the file; the first that is missing, moved or changed."""
    first = archived(connection)
    if after <= first.n:
        after, prev = first
    else:
        found = connection.execute("SELECT hash FROM audit WHERE n = ?", (after,)).fetchone()
        if found is None:
            return _missing(after)
        (prev,) = found
    rows = connection.execute("SELECT n, prev, entry, hash FROM audit WHERE n > ? AND n <= ? ORDER BY n", (after, upto))
    expected = after
    for n, said_prev, entry, said in rows.fetchall():
        expected += 1
        if n != expected:
            return _missing(expected)
        if said_prev != prev or not isinstance(entry, bytes) or said != audit_hash(n, prev, entry):
            return Damage("audit", "", str(n), "it is not what was written")
        prev = said
    return _missing(expected + 1) if expected < upto else None


def _missing(n: int) -> Damage:
    return Damage("audit", "", str(n), "it is missing")
