"""Whether a store still knows what it knew: its counters beside the anchor outside of it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import structlog

from broker.store.anchor import FILE, Anchor, Found, read_anchor
from broker.store.audit import newest_counts, read_head
from broker.store.errors import HistoryLostError
from broker.store.schema import (
    ANCHORED_VERSION,
    APPLICATION_ID,
    HASHED_VERSION,
    JOBS_VERSION,
    MIGRATIONS,
    connect_reader,
    roll_back,
)
from broker.store.service_row import read_service

log = structlog.get_logger()

REMEDY = (
    "Bring the newest files back, or restore a backup with `armbroker restore`. "
    "`armbroker run --accept-lost-history` serves what is left, in an epoch above all others"
)


class Lost(NamedTuple):
    """What a store lost, as far as it is known, and the highest epoch that it may have told."""

    why: str
    epoch: int


def own_anchor(connection: sqlite3.Connection) -> Anchor:
    """What a file knows, of this version or of one before requests and changes were of one table."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    store, epoch, commits = connection.execute("SELECT store, epoch, commits FROM service").fetchone()
    if version < JOBS_VERSION:
        (requests,) = connection.execute("SELECT coalesce(max(n), 0) FROM request").fetchone()
        (changes,) = connection.execute("SELECT coalesce(max(n), 0) FROM change").fetchone()
    else:
        (requests,) = (changes,) = connection.execute("SELECT coalesce(max(n), 0) FROM job").fetchone()
        newest = newest_counts(connection)
        commits = max(commits, newest.commits if newest is not None else 0)
    return Anchor(store, epoch, commits, requests, changes, *read_head(connection))


def _counts_are_damaged(connection: sqlite3.Connection, version: int) -> bool:
    """Whether the file itself cannot say how many commits it has seen."""
    if version < HASHED_VERSION:
        return False
    return read_service(connection) is None or (version >= JOBS_VERSION and newest_counts(connection) is None)


def kept_anchor(directory: Path) -> Anchor | None:
    """The anchor of a directory; None if there is none that can be read."""
    try:
        found = read_anchor(directory)
    except HistoryLostError:
        return None
    return None if found is None else found.anchor


def check_history(directory: Path, path: Path, *, accept: bool = False) -> tuple[int, Lost | None]:
    """Compare the database at `path` with the anchor beside it, and change nothing that was committed.

    Returns the generation of the anchor, and with `accept` what is lost instead of an error.

    Raises:
        HistoryLostError: the store knows less than the anchor, or nobody can say what it knew.
    """
    found: Found | None = None
    why = ""
    try:
        found = read_anchor(directory)
    except HistoryLostError as error:
        why = str(error)
    if found is not None and found.damaged:
        log.warning("anchor_slot_damaged", file=str(directory / FILE), commits=found.anchor.commits)
    why = why or _missing(found.anchor if found is not None else None, path)
    if not why:
        return (found.generation if found is not None else 0), None
    if not accept:
        raise HistoryLostError(f"{why}. {REMEDY}")
    return (found.generation if found is not None else 0), Lost(why, found.anchor.epoch if found is not None else 0)


def _missing(anchor: Anchor | None, path: Path) -> str:
    """What the store should know and does not; empty if nothing. A store without an epoch never served."""
    if not path.exists() or not path.stat().st_size:
        return _gone(anchor, path)
    roll_back(path)
    with closing(connect_reader(path)) as connection:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if not tables:
            return _gone(anchor, path)
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID or version > len(MIGRATIONS):
            return ""  # it is refused for what it is
        if version < ANCHORED_VERSION:
            return f"{path} is of an older version than the anchor beside it" if anchor is not None else ""
        own = own_anchor(connection)
        if anchor is not None and _counts_are_damaged(connection, version):
            own = own._replace(store=anchor.store, epoch=anchor.epoch, commits=anchor.commits)  # it is mended from it
        if anchor is not None:
            return _behind(anchor, own, path, lambda n: _audit_hash(connection, n))
    if own.epoch and own.commits:
        return f"{path.parent / FILE} is missing beside a store of {own.commits} commits"
    return ""


def _gone(anchor: Anchor | None, path: Path) -> str:
    if anchor is None or not anchor.epoch:
        return ""
    return f"{path} is gone or empty: its anchor tells of {anchor.commits} commits up to epoch {anchor.epoch}"


def _behind(anchor: Anchor, own: Anchor, path: Path, hash_of: Callable[[int], bytes | None]) -> str:
    if anchor.store != own.store:
        return f"{path} is store {own.store[:8]}, the anchor beside it is of store {anchor.store[:8]}"
    if own.commits < anchor.commits:
        lost = [
            f"{name} {low + 1} to {high}"
            for name, low, high in (
                ("requests", own.requests, anchor.requests),
                ("changes", own.changes, anchor.changes),
                ("audit entries", own.audit, anchor.audit),
            )
            if low < high
        ]
        return (
            f"{path} ends at commit {own.commits}, its anchor at {anchor.commits}: "
            f"{', '.join(lost) or 'marks of what was published'} are missing"
        )
    said = own.audit_hash if own.audit == anchor.audit else hash_of(anchor.audit)
    if anchor.audit and said != anchor.audit_hash:
        return (
            f"audit entry {anchor.audit} of {path} is not the one in its anchor: the file was cut, edited or replaced"
        )
    return ""


def _audit_hash(connection: sqlite3.Connection, n: int) -> bytes | None:
    """The hash of an entry that ends a commit."""
    found = connection.execute("SELECT hash FROM audit WHERE n = ?", (n,)).fetchone()
    return None if found is None else bytes(found[0])
