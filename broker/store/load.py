"""What a start reads, the marks it leaves, and what becomes of rows that are not what was written."""

import sqlite3

import msgspec

from broker.store import meta_keys
from broker.store.audit import counts
from broker.store.repair import Repair
from broker.store.rows import ChangeRow, Damage, FirstRow, GroundRow, HandleRow, ItemRow, Loaded, OverrideRow, RecipeRow
from broker.store.scrub import Surveyed
from broker.store.seals import Sealed
from broker.store.statements import UNDER_WAY
from broker.store.tables import FIRST, GROUND, HANDLE, ITEM, OVERRIDE, RECIPE

ITEMS, FIRSTS, HANDLES = Sealed(ItemRow, ITEM), Sealed(FirstRow, FIRST), Sealed(HandleRow, HANDLE)
GROUNDS, OVERRIDES = Sealed(GroundRow, GROUND), Sealed(OverrideRow, OVERRIDE)
RECIPES = Sealed(RecipeRow, RECIPE)


def load(connection: sqlite3.Connection, surveyed: Surveyed, *, blame: bool = True) -> Loaded:
    """Raise the epoch, count this start on every change under way after an unclean end if `blame`, read the rest.

    Of requests those without an end; damaged rows are left out, their arms marked. `surveyed` was found before.

    Raises:
        StoreBrokenError: the row of the service is damaged.
    """
    repair = Repair(connection, surveyed.damages)
    service, meta = repair.service(), repair.meta()
    epoch = max(service.epoch, int(meta.pop(meta_keys.EPOCH, "0"))) + 1
    items, firsts = repair.state(ITEMS), repair.state(FIRSTS)
    arms = repair.arms(items, firsts)
    repair.doubt(surveyed.doubtful)
    changes, requests = repair.unsettled()
    starts = _starts(meta, changes, blame=blame and not service.clean)
    handles, recipes = repair.state(HANDLES), repair.state(RECIPES)
    loaded = Loaded(
        epoch=epoch,
        last_time_us=counts(connection).last_time_us,
        clean=service.clean,
        arms=arms,
        items=items,
        firsts=firsts,
        grounds=repair.state(GROUNDS),
        overrides=repair.state(OVERRIDES),
        open_changes=[msgspec.structs.replace(row, starts=starts.get(str(row.n), 0)) for row in changes],
        open_requests=requests,
        handles=handles,
        plans=repair.plans(),
        recipes=recipes,
        principals=repair.principals(),
        meta=meta,
        next_n=_next_n(connection),
        next_handle=_next_handle(connection, meta, handles),
        damages=repair.damages,
    )
    values = {meta_keys.STARTS: msgspec.json.encode(starts).decode()} | _recipe_floor(meta, recipes, repair.damages)
    repair.write_back(msgspec.structs.replace(service, epoch=epoch, clean=False), values, meta)
    return loaded


def _starts(meta: dict[str, str], changes: list[ChangeRow], *, blame: bool) -> dict[str, int]:
    """How many starts after an unclean end found each open change, this one included if it counts."""
    known: dict[str, int] = msgspec.json.decode(meta.pop(meta_keys.STARTS, "{}"))
    return {
        str(row.n): known.get(str(row.n), 0) + (blame and row.state in UNDER_WAY)
        for row in changes
        if str(row.n) in known or (blame and row.state in UNDER_WAY)
    }


def _next_n(connection: sqlite3.Connection) -> int:
    """The number of the next job."""
    (newest,) = connection.execute("SELECT coalesce(max(n), 0) FROM job").fetchone()
    return int(newest) + 1


def _next_handle(connection: sqlite3.Connection, meta: dict[str, str], handles: list[HandleRow]) -> int:
    """The number of the next handle; SQLite's own count is believed where ours is damaged or not there yet."""
    above = max((handle.identifier for handle in handles), default=0) + 1
    if (counted := meta.pop(meta_keys.NEXT_HANDLE, "")).isdecimal():
        return max(int(counted), above)
    (seen,) = connection.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'handle'").fetchone()
    return max(int(seen) + 1, above)


def _recipe_floor(meta: dict[str, str], recipes: list[RecipeRow], damages: list[Damage]) -> dict[str, str]:
    """Where a recipe is damaged new versions are above all that were ever given: the small value that says so."""
    if not any(damage.table == RECIPE.table for damage in damages):
        return {}
    floor, top = (int(meta.get(key, "0")) for key in (meta_keys.RECIPE_FLOOR, meta_keys.RECIPE_TOP))
    meta[meta_keys.RECIPE_FLOOR] = str(max(floor, top, *(row.version for row in recipes)))
    return {meta_keys.RECIPE_FLOOR: meta[meta_keys.RECIPE_FLOOR]}
