"""What a start reads, the marks it leaves, and what becomes of rows that are not what was written."""

import sqlite3
from collections.abc import Mapping

import msgspec

from broker.store import meta_keys
from broker.store.reader import CHANGES, REQUESTS
from broker.store.repair import Repair
from broker.store.rows import ChangeRow, FirstRow, HandleRow, ItemRow, Loaded, RequestRow
from broker.store.scrub import Surveyed
from broker.store.seals import FIRST, HANDLE, ITEM, Sealed

ITEMS, FIRSTS, HANDLES = Sealed(ItemRow, ITEM), Sealed(FirstRow, FIRST), Sealed(HandleRow, HANDLE)

# ruff: noqa: S608 - every statement is built from constants
_OPEN_REQUESTS = f"SELECT {REQUESTS.columns} FROM request WHERE settled = 0 OR reply_open = 1 ORDER BY n"
_OPEN_CHANGES = f"SELECT {CHANGES.columns} FROM change WHERE state <> 'settled' ORDER BY n"
_UNDER_WAY = frozenset({"accepted", "writing", "unknown"})
"""States of a change that a start after an unclean end is counted on."""


def load(connection: sqlite3.Connection, surveyed: Surveyed, *, blame: bool = True) -> Loaded:
    """Raise the epoch, count this start on every change under way after an unclean end if `blame`, read the rest.

    Runs inside the caller's transaction. Damaged rows are left out; those that say what an arm is or should have are
    taken out of the file, and its arm is marked. `surveyed` is what was found before.

    Raises:
        StoreBrokenError: the row of the service is damaged.
    """
    repair = Repair(connection, surveyed.damages)
    service, meta = repair.service(), repair.meta()
    epoch = max(service.epoch, int(meta.pop(meta_keys.EPOCH, "0"))) + 1
    items, firsts = repair.state(ITEMS), repair.state(FIRSTS)
    arms = repair.arms(items, firsts)
    changes = _open_changes(repair, surveyed.doubtful)
    starts = _starts(meta, changes, blame=blame and not service.clean)
    handles = repair.state(HANDLES)
    loaded = Loaded(
        epoch=epoch,
        last_time_us=service.last_time_us,
        clean=service.clean,
        arms=arms,
        items=items,
        firsts=firsts,
        open_changes=[msgspec.structs.replace(row, starts=starts.get(str(row.n), 0)) for row in changes],
        open_requests=_open_requests(connection, repair),
        handles=handles,
        principals=repair.principals(),
        topic_heads=repair.topic_heads(),
        meta=meta,
        next_request_n=_next(connection, "request"),
        next_change_n=_next(connection, "change"),
        next_handle=_next_handle(connection, meta, handles),
        damages=repair.damages,
    )
    begun = msgspec.structs.replace(service, epoch=epoch, clean=False)
    repair.write_back(begun, {meta_keys.STARTS: msgspec.json.encode(starts).decode()}, meta)
    return loaded


def _open_changes(repair: Repair, doubtful: Mapping[int, str]) -> list[ChangeRow]:
    """The changes that have no end; a damaged one gets one: nobody knows what was asked."""
    repair.doubt(doubtful)
    found, damaged = repair.rows(CHANGES, _OPEN_CHANGES)
    repair.end_changes([int(values[0]) for values in damaged])
    return found


def _open_requests(connection: sqlite3.Connection, repair: Repair) -> list[RequestRow]:
    found, damaged = repair.rows(REQUESTS, _OPEN_REQUESTS)
    connection.executemany(
        "UPDATE request SET settled = 1, reply_open = 0 WHERE n = ?", [(values[0],) for values in damaged]
    )
    return found


def _starts(meta: dict[str, str], changes: list[ChangeRow], *, blame: bool) -> dict[str, int]:
    """How many starts after an unclean end found each open change, this one included if it counts."""
    known: dict[str, int] = msgspec.json.decode(meta.pop(meta_keys.STARTS, "{}"))
    return {
        str(row.n): known.get(str(row.n), 0) + (blame and row.state in _UNDER_WAY)
        for row in changes
        if str(row.n) in known or (blame and row.state in _UNDER_WAY)
    }


def _next(connection: sqlite3.Connection, table: str) -> int:
    (highest,) = connection.execute(f"SELECT coalesce(max(n), 0) FROM {table}").fetchone()
    return int(highest) + 1


def _next_handle(connection: sqlite3.Connection, meta: dict[str, str], handles: list[HandleRow]) -> int:
    """The number of the next handle; SQLite's own count is believed where ours is damaged or not there yet."""
    above = max((handle.identifier for handle in handles), default=0) + 1
    if (counted := meta.pop(meta_keys.NEXT_HANDLE, "")).isdecimal():
        return max(int(counted), above)
    (seen,) = connection.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'handle'").fetchone()
    return max(int(seen) + 1, above)
