"""An arm goes on under another name: all that the store holds of it goes over, in one transaction."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import msgspec
import structlog

from broker.store import job, meta_keys
from broker.store.batch import Batch
from broker.store.digest import digest
from broker.store.eras import HIGHEST_REV, HIGHEST_SEQ
from broker.store.errors import RenameRefusedError
from broker.store.repair import HOLDING
from broker.store.rows import Damage
from broker.store.schema import connect_reader
from broker.store.seals import Seal, agrees, all_rows, meant, selected
from broker.store.statements import BatchWriter
from broker.store.tables import ARM, DESCRIPTION, FIRST, GROUND, HANDLE, ITEM, META, OVERRIDE, PLAN_ARM, PUBLISHED
from broker.store.transaction import transaction

log = structlog.get_logger()

_STATE = (ARM, DESCRIPTION, PUBLISHED, ITEM, FIRST, GROUND, OVERRIDE)
"""What of it may be dropped where an arm was met under its new name and nothing else happened."""
OF_ARM = (*_STATE, HANDLE, PLAN_ARM)
"""What goes over, and the jobs. A repeat of a request is known by its user and id, whatever its arm is called."""
_CHANGED = (HIGHEST_REV, HIGHEST_SEQ)
"""Find whether anything was changed under a name: in use, the row of the arm may be late."""
_NONE = 0
"""The hash of a row that is to agree with nothing, under neither name."""


# ruff: noqa: S608 - every statement is built from constants
def due(connection: sqlite3.Connection, renames: Mapping[str, str]) -> dict[str, str]:
    """Those of `renames` (new name to old) whose old name the store knows; the others were done, or mean nothing.

    An arm that was met under its new name without anything being set there, and that has the serial number of the old
    name, is the same arm: what was read of it then is dropped.

    Raises:
        RenameRefusedError: the store knows both names of one as two arms; each is named.
    """
    found = {new: old for new, old in renames.items() if _is_known(connection, old)}
    both = [
        f"arm {new}: was = {old!r}: the store knows both {old} and {new}, each with a history of its own; take `was` "
        f"out, or choose a name that is new"
        for new, old in found.items()
        if _is_known(connection, new) and not _was_only_met(connection, new, old)
    ]
    if both:
        raise RenameRefusedError("\n".join(both))
    return found


def due_in(path: Path, renames: Mapping[str, str]) -> dict[str, str]:
    """The same of the database at a path, which may be in use.

    Raises:
        RenameRefusedError: as `due`.
        sqlite3.Error: the database cannot be read.
    """
    with closing(connect_reader(path)) as connection:
        return due(connection, renames)


def _is_known(connection: sqlite3.Connection, arm: str) -> bool:
    queries = (
        *(f"SELECT 1 FROM {seal.table} WHERE arm = ? LIMIT 1" for seal in _STATE),
        HIGHEST_SEQ,
    )
    return any(connection.execute(query, (arm,)).fetchone() for query in queries)


def _was_only_met(connection: sqlite3.Connection, new: str, old: str) -> bool:
    """Whether nothing but first contact is known of a name, with the serial number that the old one has."""
    of_arm = "SELECT serial, rev, seq FROM arm WHERE arm = ?"
    rows = [all_rows(connection, of_arm, (arm,)) for arm in (new, old)]
    if not all(rows):
        return False
    (((serial, rev, seq),), ((before, _, _),)) = rows
    met = bool(serial and serial == before and rev <= 1 and seq == 0)
    found = [connection.execute(query, (new,)).fetchone() for query in _CHANGED]
    return met and all(given is None or given[0] <= most for given, most in zip(found, (1, 0), strict=True))


def rename_arms(
    connection: sqlite3.Connection, renames: Mapping[str, str], now_us: int, damages: list[Damage]
) -> dict[str, str]:
    """Let what is known under old names count under the new ones (`renames`: new to old); those that were due.

    A damaged row goes over, too, and stays damaged. `damages` that were found before name the new arms afterwards.

    Raises:
        RenameRefusedError: as `due`; nothing was changed.
        sqlite3.Error: the database cannot be read or written; nothing was changed.
    """
    found = due(connection, renames)
    if not found:
        return found
    with transaction(connection):
        batch = Batch()
        for new, old in found.items():
            _move(connection, new, old)
            batch.set_meta(meta_keys.FIRST_NAME + new, _move_meta(connection, new, old) or old)
            batch.set_meta(meta_keys.RENAMED + new, old)
            batch.audit(msgspec.json.encode({"at": now_us, "arm": new, "decision": "renamed", "was": old}))
        batch.last_time_us = now_us
        BatchWriter(connection).write(batch)
    names = {old: new for new, old in found.items()}
    damages[:] = [msgspec.structs.replace(one, arm=names.get(one.arm, one.arm)) for one in damages]
    for new, old in found.items():
        log.warning("arm_renamed", arm=new, was=old)
    return found


def _move(connection: sqlite3.Connection, new: str, old: str) -> None:
    for seal in _STATE:
        connection.execute(f"DELETE FROM {seal.table} WHERE arm = ?", (new,))
    for seal in OF_ARM:
        _move_rows(connection, seal, new, old)
    _move_jobs(connection, new, old)


def _move_rows(connection: sqlite3.Connection, seal: Seal, new: str, old: str) -> None:
    """Give the rows of one table their new name, sound ones with the hash of it; those last that are damaged."""
    at, keys = seal.columns.index("arm"), [seal.columns.index(name) for name in seal.key]
    moved = []
    for values in all_rows(connection, f"SELECT {selected(seal)} FROM {seal.table} WHERE arm = ?", (old,)):
        if agrees(seal, values):
            renamed = (*values[:at], new, *values[at + 1 : -1])
            moved.append((new, digest(renamed), old, *(values[key] for key in keys)))
    same = " AND ".join(f"{name} = ?" for name in ("arm", *seal.key))
    connection.executemany(f"UPDATE {seal.table} SET arm = ?, {seal.hash} = ? WHERE {same}", moved)
    connection.execute(f"UPDATE {seal.table} SET arm = ?, {seal.hash} = {_NONE} WHERE arm = ?", (new, old))
    if seal.table in HOLDING:
        _move_misnamed(connection, seal, new, old)


def _move_jobs(connection: sqlite3.Connection, new: str, old: str) -> None:
    """Give jobs their new name; damaged ones stay damaged, and one without an end whose name differs goes over, too."""
    numbers = connection.execute("SELECT n FROM job WHERE arm = ? OR state <> 'settled'", (old,)).fetchall()
    for (n,) in numbers:
        for values in all_rows(connection, f"SELECT {job.SELECT} FROM job WHERE n = ?", (n,)):
            row = job.Job(values)
            if old in (values[job.ARM], row.told_arm):
                connection.execute(job.REWRITE.text(1), row.renamed(new))


def _move_misnamed(connection: sqlite3.Connection, seal: Seal, new: str, old: str) -> None:
    """A damaged row whose name is what is damaged goes over, too: it holds the arm that it is of."""
    at = seal.columns.index("arm")
    for values in all_rows(connection, f"SELECT {selected(seal)} FROM {seal.table}"):
        if not agrees(seal, values) and meant(seal, values)[at] == old:
            name = str(values[at]).encode("utf-8", "surrogateescape")
            where = f"{seal.hash} = ? AND CAST(arm AS BLOB) = ?"
            statement = f"UPDATE {seal.table} SET arm = ?, {seal.hash} = {_NONE} WHERE {where}"
            connection.execute(statement, (new, values[-1], name))


def _move_meta(connection: sqlite3.Connection, new: str, old: str) -> str:
    """Give the small values of an arm the keys of its new name; the name that it was first known by, if it is told."""
    first = ""
    for prefix in (*meta_keys.OF_ARMS, meta_keys.DAMAGED):
        connection.execute("DELETE FROM meta WHERE key = ?", (prefix + new,))
        for values in all_rows(connection, f"SELECT {selected(META)} FROM meta WHERE key = ?", (prefix + old,)):
            sound = agrees(META, values)
            said = digest((prefix + new, values[1])) if sound else values[-1]
            connection.execute("UPDATE meta SET key = ?, hash = ? WHERE key = ?", (prefix + new, said, prefix + old))
            if sound and prefix == meta_keys.FIRST_NAME:
                first = values[1]
    return first
