"""Archives of the audit: a file for each month that is over, with every entry and its hash; the chain goes on in them.

A file is JSON lines: first `{"armbroker_audit": 1, "first": n, "prev": hash}`, then `{"n", "entry", "hash"}` in order,
last `{"last": n, "hash": hash, "entries": count}`. An entry is the text that its hash was made of, or hex where it is
no UTF-8.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from broker.store import meta_keys
from broker.store.audit import Chain, Entry, Row, archived, archived_text
from broker.store.digest import digest
from broker.store.errors import StoreBrokenError
from broker.store.schema import connect_reader, sync_directory
from broker.store.tables import AuditHead

DIRECTORY = "audit"
"""Where archives lie in the store's directory."""
PAGE = 1_000
"""Entries read or removed at once."""
_ROWS = "SELECT n, prev, entries, hash FROM audit WHERE n > ? ORDER BY n LIMIT ?"
_encode = msgspec.json.encode


class _At(msgspec.Struct):
    at: int = 0


def month_of(entry: bytes) -> str:
    """The month (UTC) in which an entry was made; empty where it does not say."""
    try:
        at_us = msgspec.json.decode(entry, type=_At).at
        return f"{datetime.fromtimestamp(at_us / 1e6, UTC):%Y-%m}" if at_us else ""
    except (msgspec.MsgspecError, ValueError, OverflowError):
        return ""


def rows_after(connection: sqlite3.Connection, after: int) -> Iterator[Row]:
    """The rows of the file above a number, in order."""
    while rows := connection.execute(_ROWS, (after, PAGE)).fetchall():
        for n, *blobs in rows:
            prev, entries, said = map(bytes, blobs)
            yield n, prev, entries, said
        after = rows[-1][0]


def line_of(n: int, entry: bytes, said: bytes) -> bytes:
    """An entry as a line of an archive."""
    try:
        text = {"n": n, "entry": entry.decode(), "hash": said.hex()}
    except UnicodeDecodeError:
        text = {"n": n, "entry_hex": entry.hex(), "hash": said.hex()}
    return _encode(text) + b"\n"


def write_archives(path: Path, now_us: int) -> AuditHead | None:
    """Write the months that are over into files of their own; the last entry in them, None if there is nothing new.

    `path` is that of the database. A file is complete on the disk before it has its name.

    Raises:
        OSError: the disk does not take it.
        sqlite3.Error: the database cannot be read.
    """
    present = month_of(_encode({"at": now_us}))
    last: AuditHead | None = None
    with closing(connect_reader(path)) as connection:
        head = archived(connection)
        chain = Chain(head)
        rows = (chain.row(row)[0] for row in rows_after(connection, head.n))
        row = next(rows, None)
        month = month_of(row[0].entry) if row is not None else ""
        while row is not None and month < present:
            row, last = _write_month(path.parent / DIRECTORY, month, row, rows)
            month = (month_of(row[0].entry) or month) if row is not None else ""
    return last


def _write_month(
    directory: Path, month: str, row: list[Entry], rows: Iterator[list[Entry]]
) -> tuple[list[Entry] | None, AuditHead]:
    """Write the rows of one month, beginning with `row`; the first that is of another one, and the last entry.

    The first entry of a row tells its month.
    """
    directory.mkdir(mode=0o700, exist_ok=True)
    first = row[0]
    target = directory / f"{month or 'undated'}-{first.n:012d}.jsonl"
    draft = target.with_suffix(".new")
    after: list[Entry] | None = row
    head, count = AuditHead(0, b""), 0
    with draft.open("wb") as file:
        file.write(_encode({"armbroker_audit": 1, "first": first.n, "prev": first.prev.hex()}) + b"\n")
        while after is not None and month_of(after[0].entry) in ("", month):
            for n, _, entry, said in after:
                file.write(line_of(n, entry, said))
                head, count = AuditHead(n, said), count + 1
            after = next(rows, None)
        file.write(_encode({"last": head.n, "hash": head.hash.hex(), "entries": count}) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    draft.chmod(0o440)
    draft.replace(target)
    sync_directory(directory)
    return after, head


def forget_archived(head: AuditHead, connection: sqlite3.Connection) -> int:
    """Remove rows that lie in archives, all but the newest of the chain; how many. Runs in a transaction."""
    known = archived(connection)
    if known.n < head.n:
        text = archived_text(head)
        said = digest((meta_keys.AUDIT_ARCHIVED, text))
        connection.execute("REPLACE INTO meta VALUES (?, ?, ?)", (meta_keys.AUDIT_ARCHIVED, text, said))
    oldest = "SELECT n FROM audit WHERE n <= ? AND n < (SELECT max(n) FROM audit) ORDER BY n LIMIT ?"
    return connection.execute(f"DELETE FROM audit WHERE n IN ({oldest})", (head.n, PAGE)).rowcount  # noqa: S608


def archive_files(directory: Path) -> list[Path]:
    """The archives in the order of their entries."""
    return sorted((directory / DIRECTORY).glob("*.jsonl"), key=lambda path: (path.stem.rpartition("-")[2], path.name))


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of an archive.

    Raises:
        StoreBrokenError: a line is no JSON object.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.MsgspecError as error:
                raise StoreBrokenError(f"{path}:{number}: {error}") from error
