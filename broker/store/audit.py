"""The audit chain: its end, its check, and its anchor outside the file."""

import os
import sqlite3
from pathlib import Path

import msgspec

from broker.store.digest import AUDIT_START, audit_hash
from broker.store.errors import StoreBrokenError
from broker.store.schema import sync_directory
from broker.store.statements import AuditHead

ANCHOR = "audit.anchor"
"""Name of the file that holds an end of the chain which the next start must find again."""


class _Anchor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    n: int
    hash: str


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


def write_anchor(directory: Path, head: AuditHead) -> None:
    """Keep the end of the chain beside the file, durably."""
    place = directory / ANCHOR
    draft = place.with_suffix(".new")
    with draft.open("wb") as file:
        file.write(msgspec.json.encode(_Anchor(head.n, head.hash.hex())))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(place)
    sync_directory(directory)


def check_anchor(connection: sqlite3.Connection, directory: Path) -> None:
    """StoreBrokenError when the anchored entry is gone or another: the end of the chain was cut off or replaced."""
    place = directory / ANCHOR
    if not place.exists():
        return
    try:
        anchor = msgspec.json.decode(place.read_bytes(), type=_Anchor)
    except msgspec.DecodeError as error:
        raise StoreBrokenError(f"{place} cannot be read: {error}") from error
    found = connection.execute("SELECT hash FROM audit WHERE n = ?", (anchor.n,)).fetchone()
    if anchor.n and (found is None or found[0].hex() != anchor.hash):
        raise StoreBrokenError(
            f"audit entry {anchor.n} is not the one in {place}: the file was cut, replaced or restored from a backup; "
            "remove the anchor to accept a restored file"
        )
