"""Copies of a store for other days: taken while it is served, checked, and put back so that nobody is told lies."""

import hashlib
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from broker.store.anchor import FILE as ANCHOR
from broker.store.anchor import Anchor, AnchorFile, read_anchor
from broker.store.errors import BackupError, HistoryLostError, StoreError, store_error
from broker.store.history import own_anchor
from broker.store.late import put_back
from broker.store.lock import DirectoryLock
from broker.store.restored import go_on_from_here
from broker.store.schema import connect, connect_reader, migrate, sync_directory
from broker.store.scrub import whole_check
from broker.store.structure import check_tables
from schema.codecs.times import format_time

FILE = "store.sqlite3"
NOTE = "backup.json"
"""Name of the file that says what a backup holds; it is written last."""
REPLACED = "replaced"
"""What the directory begins with that keeps what a restored store was put in the place of."""
_CHUNK = 1024 * 1024
_NAMED = 10
"""So many damaged rows are named."""


class Backup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a backup holds: its store, how far it had got, and the SHA-256 of its file."""

    made_at: str
    store: str
    epoch: int
    commits: int
    requests: int
    changes: int
    audit: int
    audit_hash: str
    bytes: int
    sha256: str


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore did: the epoch above all that was told before, and where the files before it are kept."""

    backup: Backup
    epoch: int
    kept: str


def back_up(directory: Path, target: Path, now_us: int) -> Backup:
    """Copy the store of a directory, served or not, as it is at one moment; blocks; nothing is left if that fails.

    Raises:
        BackupError: there is no store, the target is not empty, or what was copied is damaged.
        StoreError: it cannot be read or written.
    """
    source = directory / FILE
    if not source.exists():
        raise BackupError(f"{source} does not exist")
    made = not target.exists()
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise BackupError(f"{target} is not empty: a backup gets a directory of its own")
    file = target / FILE
    try:
        with closing(connect_reader(source)) as reader, closing(sqlite3.connect(file)) as copy:
            reader.backup(copy)  # in one read transaction: one moment, and no writer waits
        anchor = _checked(file)
        _sync(file)
        backup = Backup(
            made_at=format_time(now_us), bytes=file.stat().st_size, sha256=_sha256(file),
            **{**anchor._asdict(), "audit_hash": anchor.audit_hash.hex()},
        )  # fmt: skip
        _write_note(target, backup)
    except (StoreError, sqlite3.Error, OSError) as error:
        for path in target.iterdir():
            path.unlink()
        if made:
            target.rmdir()
        raise store_error(error) from error
    return backup


def read_backup(target: Path) -> Backup:
    """What a backup says of itself, with its file compared.

    Raises:
        BackupError: it is none, it is not whole, or its file is not the one that was written.
    """
    try:
        backup = msgspec.json.decode((target / NOTE).read_bytes(), type=Backup)
        size = (target / FILE).stat().st_size
        if size != backup.bytes or _sha256(target / FILE) != backup.sha256:
            raise BackupError(f"{target / FILE} is not the file that was backed up at {backup.made_at}")
    except (OSError, msgspec.DecodeError) as error:
        raise BackupError(f"{target} is no whole backup: {error}") from error
    return backup


def restore(target: Path, directory: Path, now_us: int) -> Restored:
    """Put a backup in the place of the store of a directory; blocks. What was there is kept beside it.

    The next start serves it in an epoch above all that was told; what waited is held, and nothing is sent to arms that
    nobody asks for anew.

    Raises:
        StoreLockedError: a service runs on it.
        BackupError: the backup cannot be used.
        StoreError: it cannot be written.
    """
    backup = read_backup(target)
    lock = DirectoryLock(directory)
    draft = directory / f"{FILE}.restoring"
    try:
        _remove(draft)
        shutil.copyfile(target / FILE, draft)
        _checked(draft)
        generation, highest = _highest_epoch(directory)
        with closing(connect(draft)) as connection:
            migrate(connection, draft)
            put_back(connection)
            epoch = go_on_from_here(
                connection, highest, now_us, decision="restored", made_at=backup.made_at, commits=backup.commits
            )
            own = own_anchor(connection)
        kept = _keep_aside(directory, now_us)
        _sync(draft)
        draft.replace(directory / FILE)
        sync_directory(directory)
        AnchorFile(directory, own, generation).close()
    except (StoreError, sqlite3.Error, OSError) as error:
        _remove(draft)
        raise store_error(error) from error
    finally:
        lock.release()
    return Restored(backup=backup, epoch=epoch, kept=str(kept) if kept is not None else "")


def _checked(path: Path) -> Anchor:
    """Check every page, row and audit entry of a copy, and let it lie in one file.

    Raises:
        BackupError: something in it is damaged.
    """
    with closing(connect(path)) as connection:
        check_tables(connection)
        found = [one for damages in whole_check(connection) for one in damages]
        if found:
            names = [f"row {one.key} of {one.table} {one.arm}".rstrip() for one in found[:_NAMED]]
            raise BackupError(f"{path} is damaged, {len(found)} rows or more: {', '.join(names)}")
        anchor = own_anchor(connection)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    return anchor


def _highest_epoch(directory: Path) -> tuple[int, int]:
    """Generation of the anchor and the highest epoch that the files of a directory tell of, as far as they can."""
    generation, epochs = 0, [0]
    try:
        if (found := read_anchor(directory)) is not None:
            generation = found.generation
            epochs.append(found.anchor.epoch)
    except HistoryLostError:
        pass
    try:
        with closing(connect_reader(directory / FILE)) as connection:
            (epoch,) = connection.execute("SELECT epoch FROM service").fetchone()
            epochs.append(int(epoch))
    except (sqlite3.Error, TypeError, ValueError):
        pass
    return generation, max(epochs)


def _keep_aside(directory: Path, now_us: int) -> Path | None:
    """Move the files of the store aside, the anchor as a copy: until the new one is there it tells of the loss."""
    files = [path for path in (directory / f"{FILE}{end}" for end in ("", "-wal", "-shm")) if path.exists()]
    anchor = directory / ANCHOR
    if not files and not anchor.exists():
        return None
    kept = directory / f"{REPLACED}-{now_us}"
    kept.mkdir(mode=0o700)
    if anchor.exists():
        shutil.copyfile(anchor, kept / ANCHOR)
    for path in files:
        path.rename(kept / path.name)
    sync_directory(kept)
    sync_directory(directory)
    return kept


def _write_note(target: Path, backup: Backup) -> None:
    draft = target / f"{NOTE}.new"
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(backup)) + b"\n")
    _sync(draft)
    draft.replace(target / NOTE)
    sync_directory(target)
    sync_directory(target.parent)


def _sha256(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_CHUNK):
            found.update(part)
    return found.hexdigest()


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
