"""The tables, the numbered migrations that make them, and the settings of every connection."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import starmap
from pathlib import Path
from typing import Any

import structlog

from broker.store.copies import copy_path, way_back
from broker.store.digest import SQL_FUNCTIONS
from broker.store.eras_migration import ERAS_FUNCTIONS, ERAS_MIGRATION
from broker.store.errors import StoreBrokenError, StoreVersionError
from broker.store.fleet_migration import FLEET_MIGRATION
from broker.store.jobs_migration import JOBS_FUNCTIONS, JOBS_MIGRATION
from broker.store.keys_migration import KEYS_FUNCTIONS, KEYS_MIGRATION
from broker.store.transaction import transaction

log = structlog.get_logger()

APPLICATION_ID = 0x41524D42
"""Marks the file as ours: `ARMB`."""

BUSY_MS = 5000
"""How long a lock of somebody else is waited for."""
PRAGMAS: tuple[tuple[str, str, str | int], ...] = (
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", 2),
    ("busy_timeout", str(BUSY_MS), BUSY_MS),
    ("foreign_keys", "ON", 1),
    ("trusted_schema", "OFF", 0),
    ("cell_size_check", "ON", 1),
    ("mmap_size", "0", 0),
    ("wal_autocheckpoint", "0", 0),  # `checkpoints.py` copies the log: a commit would after each backup, for seconds
    ("journal_size_limit", "67108864", 67_108_864),
    ("temp_store", "MEMORY", 2),
)
"""Name, what is set, what must be read back."""

_VERSION_1 = (
    """CREATE TABLE service (
        one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, last_time_us INTEGER NOT NULL,
        clean INTEGER NOT NULL, test_writes INTEGER NOT NULL
    ) STRICT""",
    "INSERT INTO service VALUES (1, 0, 0, 1, 0)",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    """CREATE TABLE arm (
        arm TEXT PRIMARY KEY, rev INTEGER NOT NULL, seq INTEGER NOT NULL, cmd_seq INTEGER NOT NULL,
        adopted INTEGER NOT NULL, serial TEXT NOT NULL, read_at_us INTEGER NOT NULL, mode_seen_at_us INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE TABLE description (arm TEXT PRIMARY KEY, description BLOB NOT NULL) STRICT",
    "CREATE TABLE published (arm TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    """CREATE TABLE item (
        arm TEXT NOT NULL, key TEXT NOT NULL, mode INTEGER NOT NULL, desired BLOB NOT NULL,
        desired_rev INTEGER NOT NULL, last_rev INTEGER NOT NULL, reported BLOB NOT NULL,
        PRIMARY KEY (arm, key, mode)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE request (
        n INTEGER PRIMARY KEY, user TEXT NOT NULL, conn TEXT NOT NULL, id TEXT NOT NULL, fingerprint BLOB NOT NULL,
        arm TEXT NOT NULL, method TEXT NOT NULL, at_us INTEGER NOT NULL, address TEXT NOT NULL,
        correlation BLOB NOT NULL, codec TEXT NOT NULL, outcome BLOB NOT NULL, settled INTEGER NOT NULL,
        reply_open INTEGER NOT NULL, rev INTEGER NOT NULL,
        UNIQUE (user, conn, id)
    ) STRICT""",
    "CREATE INDEX request_open ON request (n) WHERE settled = 0 OR reply_open = 1",
    """CREATE TABLE change (
        n INTEGER PRIMARY KEY, request_n INTEGER NOT NULL, arm TEXT NOT NULL, rev INTEGER NOT NULL,
        verb TEXT NOT NULL, key TEXT NOT NULL, mode INTEGER NOT NULL, before BLOB, after BLOB, state TEXT NOT NULL,
        epoch INTEGER NOT NULL, cmd_seq INTEGER NOT NULL, at_us INTEGER NOT NULL, expires_us INTEGER NOT NULL,
        loosening INTEGER NOT NULL, user TEXT NOT NULL, conn TEXT NOT NULL, proven INTEGER NOT NULL,
        request_id TEXT NOT NULL, method TEXT NOT NULL, reason TEXT NOT NULL, starts INTEGER NOT NULL,
        outcome TEXT NOT NULL, seq INTEGER NOT NULL, settled_at_us INTEGER NOT NULL, row_hash BLOB NOT NULL,
        state_hash BLOB NOT NULL
    ) STRICT""",
    "CREATE INDEX change_open ON change (n) WHERE state <> 'settled'",
    "CREATE INDEX change_revision ON change (arm, rev, key) WHERE rev > 0",
    """CREATE TABLE event (
        arm TEXT NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL, prev INTEGER NOT NULL, rev INTEGER NOT NULL,
        at_us INTEGER NOT NULL, topic TEXT NOT NULL, body BLOB NOT NULL,
        UNIQUE (arm, seq)
    ) STRICT""",
    """CREATE TABLE topic_head (
        arm TEXT NOT NULL, topic TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (arm, topic)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE handle (
        identifier INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL, conn TEXT NOT NULL, arm TEXT NOT NULL,
        topic TEXT NOT NULL, created_us INTEGER NOT NULL, last_seen_us INTEGER NOT NULL, last_seq INTEGER NOT NULL
    ) STRICT""",
    "CREATE INDEX handle_connection ON handle (user, conn)",
    "CREATE TABLE principal (name TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE) STRICT, WITHOUT ROWID",
    "CREATE TABLE audit (n INTEGER PRIMARY KEY, prev BLOB NOT NULL, entry BLOB NOT NULL, hash BLOB NOT NULL) STRICT",
)

_VERSION_2 = ("ALTER TABLE item ADD COLUMN set_by BLOB NOT NULL DEFAULT x''",)

# What was adopted of a slot that no arm can reset is, in an older file, what its first change found there.
_VERSION_3 = (
    """CREATE TABLE first_value (
        arm TEXT NOT NULL, key TEXT NOT NULL, mode INTEGER NOT NULL, value BLOB NOT NULL, PRIMARY KEY (arm, key, mode)
    ) STRICT, WITHOUT ROWID""",
    """INSERT INTO first_value SELECT arm, key, mode, coalesce((
        SELECT before FROM change WHERE change.arm = item.arm AND change.key = item.key AND change.mode = item.mode
        AND before IS NOT NULL ORDER BY n LIMIT 1
    ), reported) FROM item WHERE key IN (
        'cartesian_reference_frame', 'desired_linear_twist', 'desired_angular_twist', 'desired_joint_speeds'
    )""",
)

# What names the store, and counts its commits, for the anchor outside of it.
_VERSION_4 = (
    "ALTER TABLE service ADD COLUMN store TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE service ADD COLUMN commits INTEGER NOT NULL DEFAULT 0",
    "UPDATE service SET store = lower(hex(randomblob(16)))",
)

_HASHED = (
    ("service", "hash", "one, epoch, last_time_us, clean, store, commits"),
    ("meta", "hash", "key, value"),
    ("arm", "hash", "arm, rev, seq, cmd_seq, adopted, serial, read_at_us, mode_seen_at_us"),
    ("description", "hash", "arm, description"),
    ("published", "hash", "arm, seq"),
    ("item", "hash", "arm, key, mode, desired, desired_rev, last_rev, reported, set_by"),
    ("first_value", "hash", "arm, key, mode, value"),
    ("request", "hash", "n, user, conn, id, fingerprint, arm, method, at_us, address, correlation, codec"),
    ("request", "progress_hash", "n, outcome, settled, rev"),
    ("event", "hash", "arm, seq, epoch, prev, rev, at_us, topic, body"),
    ("topic_head", "hash", "arm, topic, seq"),
    ("handle", "hash", "identifier, user, conn, arm, topic, created_us, last_seen_us, last_seq"),
    ("principal", "hash", "name, number"),
)
_CHANGE_1 = (
    "n, request_n, arm, rev, verb, key, mode, before, at_us, expires_us, loosening, user, conn, proven, request_id, "
    "method, reason"
)
_CHANGE_2 = "n, state, epoch, cmd_seq, after, outcome, seq, settled_at_us"

_CARRIED = f"""UPDATE change SET
    hash = CASE WHEN sha256({_CHANGE_1}) = row_hash THEN digest({_CHANGE_1}, warnings) ELSE 0 END,
    progress_hash = CASE WHEN sha256({_CHANGE_2}) = state_hash THEN digest({_CHANGE_2}) ELSE 0 END"""  # noqa: S608
_OPEN_STARTS = """INSERT INTO meta SELECT 'change_starts', json_group_object(n, starts), 0 FROM change
    WHERE starts > 0 AND state <> 'settled' HAVING count(*)"""


def _hashed(table: str, column: str, covered: str) -> str:
    flag = "" if column == "hash" else " + reply_open"
    return f"UPDATE {table} SET {column} = digest({covered}){flag}"  # noqa: S608 - constants


# Every row gets a hash. A change that did not agree with its old ones gets one that agrees with nothing. The starts of
# open changes and the epoch stand among the small values, too.
_VERSION_5 = (
    *(f"ALTER TABLE {table} ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0" for table, column, _ in _HASHED),
    "ALTER TABLE change ADD COLUMN warnings BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE change ADD COLUMN hash INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE change ADD COLUMN progress_hash INTEGER NOT NULL DEFAULT 0",
    _CARRIED,
    _OPEN_STARTS,
    "INSERT INTO meta SELECT 'epoch', epoch, 0 FROM service",
    *starmap(_hashed, _HASHED),
    *(f"ALTER TABLE change DROP COLUMN {column}" for column in ("starts", "row_hash", "state_hash")),
)

# Rows of arms and slots that are not written in their own tables yet, in the order of commits.
_VERSION_8 = (
    "CREATE TABLE late (arm TEXT NOT NULL, slot TEXT NOT NULL, row BLOB NOT NULL, hash INTEGER NOT NULL) STRICT",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4, _VERSION_5, JOBS_MIGRATION, FLEET_MIGRATION,
    _VERSION_8, ERAS_MIGRATION, KEYS_MIGRATION,
)  # fmt: skip
"""Statements that lead to version 1, 2, ...; a released one is never edited."""

FUNCTIONS: tuple[tuple[str, Callable[..., Any]], ...] = (
    *SQL_FUNCTIONS, *JOBS_FUNCTIONS, *ERAS_FUNCTIONS, *KEYS_FUNCTIONS,
)  # fmt: skip
"""What the statements of this program call, by name."""
JOBS_VERSION = 6
"""The version from which on a request, its change and event are one row."""

HASHED_VERSION = 5
"""The version from which on rows have hashes."""
ANCHORED_VERSION = 4
"""From this version on a file has an anchor beside it."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection that may write, with every setting of `PRAGMAS` read back; StoreBrokenError when one differs."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=128)
    for name, function in FUNCTIONS:
        connection.create_function(name, -1, function, deterministic=True)
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # counts for a new file alone, and before all others
        for name, value, _ in PRAGMAS:
            connection.execute(f"PRAGMA {name} = {value}").fetchall()
        for name, _, expected in PRAGMAS:
            _expect(connection, path, name, expected)
    except BaseException:
        connection.close()
        raise
    return connection


def _expect(connection: sqlite3.Connection, path: Path, pragma: str, expected: str | int) -> None:
    (found,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    if found != expected:
        raise StoreBrokenError(f"{path}: {pragma} is {found!r}, not {expected!r}")


def roll_back(path: Path) -> None:
    """Undo what a kill left half done while the file was made: who only reads may not, and fails with it for ever.

    Raises:
        sqlite3.Error: it cannot be.
    """
    if path.with_name(f"{path.name}-journal").exists():
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection that only reads."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )
    return _with(connection, "busy_timeout", "trusted_schema", "cell_size_check", "mmap_size")


def connect_copier(path: Path) -> sqlite3.Connection:
    """A connection that copies the log of a file that others write; waits for none of them."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    return _with(connection, "synchronous", "trusted_schema", "cell_size_check", "mmap_size")


def _with(connection: sqlite3.Connection, *names: str) -> sqlite3.Connection:
    """Set some of `PRAGMAS`."""
    for name, value, _ in PRAGMAS:
        if name in names:
            connection.execute(f"PRAGMA {name} = {value}").fetchall()
    return connection


def migrate(connection: sqlite3.Connection, path: Path, migrations: tuple[tuple[str, ...], ...] = MIGRATIONS) -> None:
    """Bring the file to the newest version in one transaction; an older file is first copied to `<name>.v<version>`.

    Raises:
        StoreVersionError: the file belongs to another application or to a newer version of ours.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and application != APPLICATION_ID:
        raise StoreVersionError(f"{path}: application id {application:#x} is not ours ({APPLICATION_ID:#x})")
    if version > len(migrations):
        text = f"{path}: version {version} is newer than {len(migrations)}, the newest known here"
        raise StoreVersionError(f"{text}; {way_back(path, len(migrations))}")
    if version == len(migrations):
        return
    if version:
        _back_up(connection, copy_path(path, version))
    with transaction(connection):
        for statements in migrations[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
    sync_directory(path.parent)
    if version:
        log.info("store_migrated", version=len(migrations), before=version, copy=str(copy_path(path, version)))


def _back_up(connection: sqlite3.Connection, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        connection.execute("VACUUM INTO ?", (str(target),))
    except BaseException:
        for path in (target, target.with_name(f"{target.name}-journal")):  # where the disk is full they only take room
            path.unlink(missing_ok=True)
        raise
    sync_directory(target.parent)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
