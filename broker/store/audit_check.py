"""The whole chain of the audit, over the archives and the database, whether or not a service runs on it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from broker.store.anchor import read_anchor
from broker.store.archive import archive_files, read_lines, rows_after
from broker.store.audit import Chain, archived
from broker.store.digest import audit_hash
from broker.store.errors import HistoryLostError, StoreBrokenError
from broker.store.schema import connect_reader
from broker.store.tables import START, AuditHead

FAULTS_MOST = 100
"""So many faults are told."""


class Entry(NamedTuple):
    """One entry, and where it stands."""

    n: int
    entry: bytes
    hash: bytes
    place: str


@dataclass
class Report:
    """What a check of the whole chain found; nothing is wrong if `faults` is empty."""

    entries: int = 0
    archives: int = 0
    head: AuditHead = START
    faults: list[str] = field(default_factory=list)

    def wrong(self, text: str) -> None:
        """Note a fault."""
        if len(self.faults) < FAULTS_MOST:
            self.faults.append(text)


def open_database(path: Path) -> sqlite3.Connection:
    """A connection that only reads; also where nothing can be written beside the file.

    Raises:
        sqlite3.Error: it cannot be opened.
        OSError: there is none.
    """
    path.stat()
    try:
        connection = connect_reader(path)
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)
    return connection


def verify(path: Path, head: AuditHead | None = None) -> Report:
    """Check every entry beside the database at `path` and in it.

    `head` is an end of the chain that somebody kept elsewhere: it has to be there.

    Raises:
        sqlite3.Error, OSError: something cannot be read at all.
    """
    report = Report()
    kept = _anchored(path.parent, report)  # before the database, which only grows
    wanted = {one.n: one.hash for one in (kept, head) if one is not None and one.n}
    with closing(open_database(path)) as connection:
        connection.execute("BEGIN")
        last = archived(connection)
        seen = {n: said for n, said in _chain(path.parent, connection, report) if n in wanted}
    if last.n > report.head.n or (last.n and report.archives == 0 and not report.entries):
        report.wrong(f"entries up to {last.n} were archived, the archives end before that")
    for n, said in wanted.items():
        if seen.get(n) != said:
            found = "is another one" if n in seen else f"is not there: the chain ends at {report.head.n}"
            report.wrong(f"entry {n}, which was kept as an end of the chain, {found}")
    return report


def _anchored(directory: Path, report: Report) -> AuditHead | None:
    try:
        found = read_anchor(directory)
    except HistoryLostError as error:
        report.wrong(str(error))
        return None
    return None if found is None else AuditHead(found.anchor.audit, found.anchor.audit_hash)


def _chain(directory: Path, connection: sqlite3.Connection, report: Report) -> Iterator[tuple[int, bytes]]:
    """Every entry with its hash, each compared with the one before it."""
    for path in archive_files(directory):
        report.archives += 1
        try:
            yield from _archive(path, report)
        except (StoreBrokenError, KeyError, TypeError, ValueError) as error:
            report.wrong(f"{path}: {error!r}" if isinstance(error, KeyError) else f"{path}: {error}")
    after, chain = report.head.n, Chain(report.head)
    for row in rows_after(connection, 0):
        n, _, _, said = row
        if n < after:
            continue  # it lies in an archive, and will be removed here
        if n == after:
            if said != report.head.hash:
                report.wrong(f"entry {n} of the database is not the one in the archive")
            continue
        found, wrong = chain.row(row)
        if wrong:
            report.wrong(f"the database: {wrong}")
        report.entries += len(found)
        report.head = chain.head
        yield from ((entry.n, entry.hash) for entry in found)


def _archive(path: Path, report: Report) -> Iterator[tuple[int, bytes]]:
    lines = read_lines(path)
    first = next(lines, {})
    if first.get("armbroker_audit") != 1:
        raise StoreBrokenError("it does not begin as an archive")
    for count, line in enumerate(lines):
        if "entries" in line:
            if (line["last"], line["hash"], line["entries"]) != (report.head.n, report.head.hash.hex(), count):
                report.wrong(f"{path}: its last line does not fit to what stands before it")
            return
        said = bytes.fromhex(line["hash"])
        prev = bytes.fromhex(first["prev"]) if not count else report.head.hash
        _compare(report, line["n"], prev, entry_of(line), said, str(path))
        yield line["n"], said
    report.wrong(f"{path}: it ends before its last line")


def entry_of(line: dict[str, Any]) -> bytes:
    """The bytes of an entry in a line of an archive."""
    return bytes.fromhex(line["entry_hex"]) if "entry_hex" in line else str(line["entry"]).encode()


def _compare(report: Report, n: int, prev: bytes, entry: bytes, said: bytes, place: str) -> None:
    expected = report.head.n + 1
    if n != expected:
        missing = (
            f"entries {expected} to {n - 1} are missing"
            if n > expected
            else f"entry {n} stands after entry {report.head.n}"
        )
        report.wrong(f"{place}: {missing}")
    elif prev != report.head.hash:
        report.wrong(f"{place}: entry {n} does not follow entry {n - 1}")
    if said != audit_hash(n, prev, entry):
        report.wrong(f"{place}: entry {n} is not what was written")
    report.entries += 1
    report.head = AuditHead(n, said)


def entries(path: Path) -> Iterator[Entry]:
    """Every entry of the archives and of the database at `path`, in order, unchecked.

    Raises:
        StoreBrokenError: an archive cannot be read.
        sqlite3.Error, OSError: something cannot be read at all.
    """
    chain = Chain(START)
    for archive in archive_files(path.parent):
        for line in read_lines(archive):
            if "n" in line:
                chain.head = AuditHead(line["n"], bytes.fromhex(line["hash"]))
                yield Entry(chain.head.n, entry_of(line), chain.head.hash, archive.name)
    with closing(open_database(path)) as connection:
        for row in rows_after(connection, chain.head.n):
            yield from (Entry(one.n, one.entry, one.hash, path.name) for one in chain.row(row)[0])
