"""The tables beside that of jobs, each declared once: columns, hash, statement and what makes rows of it."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from broker.store.digest import AUDIT_START, digest
from broker.store.rows import (
    ArmRow,
    FirstRow,
    GroundRow,
    HandleRow,
    ItemRow,
    OverrideRow,
    PlanArmRow,
    PlanRow,
    RecipeRow,
)
from broker.store.seals import Seal, Statement, Values, insert


class Table(NamedTuple):
    """A table whose rows are put whole: `put` takes what `make` makes of a row."""

    seal: Seal
    put: Statement
    make: Callable[[Any], Values]


def _of_struct(
    name: str, row: type[msgspec.Struct], key: tuple[str, ...], *, arm: str = "arm", without: tuple[str, ...] = ()
) -> Table:
    """Rows are structs of the class, but for the fields `without`.

    Python's sqlite3 binds `str`, `int` and `bytearray` directly; `bytes` and `bool` go through its adapters, at a cost
    above that of the row itself.
    """
    fields = [field for field in msgspec.structs.fields(row) if field.name not in without]
    columns = tuple(field.name for field in fields)
    flags = [at for at, field in enumerate(fields) if field.type is bool]
    blobs = [at for at, field in enumerate(fields) if field.type is bytes]
    get = attrgetter(*columns)

    def make(struct: msgspec.Struct) -> Values:
        values = list(get(struct))
        for at in flags:
            values[at] = +values[at]
        said = digest(values)
        for at in blobs:
            values[at] = bytearray(values[at])
        return (*values, said)

    return Table(Seal(name, columns, key, arm), insert(name, (*columns, "hash"), "REPLACE"), make)


def _of_pair(
    name: str, columns: tuple[str, str], key: tuple[str, ...], *, arm: str = "", verb: str = "REPLACE"
) -> Table:
    """Rows are pairs of values."""
    return Table(Seal(name, columns, key, arm), insert(name, (*columns, "hash"), verb), _pair)


def _pair(values: Values) -> Values:
    first, second = values
    return (first, bytearray(second) if isinstance(second, bytes) else second, digest(values))


def _of_late(of_arm: tuple[str, ...], of_slot: tuple[str, ...]) -> Table:
    """Rows are pairs of a row of a slot and of its arm, either may be missing, of these columns: `read_late`."""
    columns = ("arm", "slot", "row")
    arm_values, slot_values = attrgetter(*of_arm), attrgetter(*of_slot)
    encode = msgspec.msgpack.Encoder().encode

    def make(rows: tuple[ItemRow, ArmRow | None] | tuple[None, ArmRow]) -> Values:
        item, row = rows
        told: Any = None if row is None else arm_values(row)
        if item is not None:
            arm, slot, values = item.arm, f"{item.key}/{item.mode}", encode((slot_values(item), told))
        else:
            arm, slot, values = told[0], "", encode(told)
        return (arm, slot, bytearray(values), digest((arm, slot, values)))

    return Table(Seal("late", columns, ("slot",), "arm"), insert("late", (*columns, "hash")), make)


def read_late(slot: str, row: bytes) -> tuple[ItemRow | None, ArmRow | None]:
    """What a row of LATES was made of; fields that were appended since have their defaults."""
    values = msgspec.msgpack.decode(row)
    of_slot, of_arm = (None, values) if not slot else (values, None) if isinstance(values[0], str) else values
    item = None if of_slot is None else ItemRow(**dict(zip(ITEM.columns, of_slot, strict=False)))
    return item, None if of_arm is None else ArmRow(**dict(zip(ARM.columns, of_arm, strict=False)))


ARMS = _of_struct("arm", ArmRow, (), without=("published_seq", "description"))
DESCRIPTIONS = _of_pair("description", ("arm", "description"), (), arm="arm")
PUBLISHED_SEQS = _of_pair("published", ("arm", "seq"), (), arm="arm")
ITEMS = _of_struct("item", ItemRow, ("key", "mode"))
FIRSTS = _of_struct("first_value", FirstRow, ("key", "mode"))
HANDLES = _of_struct("handle", HandleRow, ("identifier",))
RECIPES = _of_struct("recipe", RecipeRow, ("name", "version"), arm="")
PRINCIPALS = _of_pair("principal", ("name", "number"), ("name",), verb="INSERT")
METAS = _of_pair("meta", ("key", "value"), ("key",))
GROUNDS = _of_struct("ground", GroundRow, ("key", "mode"))
OVERRIDES = _of_struct("override", OverrideRow, ("rev",))
PLANS = _of_struct("plan", PlanRow, ("n",), arm="")
PLAN_ARMS = _of_struct("plan_row", PlanArmRow, ("plan_n",))
LATES = _of_late(ARMS.seal.columns, ITEMS.seal.columns)
TABLES = (
    ARMS, DESCRIPTIONS, PUBLISHED_SEQS, ITEMS, FIRSTS, HANDLES, PRINCIPALS, METAS, GROUNDS, OVERRIDES, PLANS, PLAN_ARMS,
    RECIPES, LATES,
)  # fmt: skip
BY_NAME = {table.seal.table: table for table in TABLES}
DROP_RECIPE = Statement("DELETE FROM recipe WHERE (name, version) IN (VALUES ", "(?, ?)", ")")
DROP_HANDLE = Statement("DELETE FROM handle WHERE identifier IN (", "?", ")")
DROP_GROUND = Statement("DELETE FROM ground WHERE (arm, key, mode) IN (VALUES ", "(?, ?, ?)", ")")
DROP_LATE = Statement("DELETE FROM late", "")
DROP_OVERRIDE = Statement("DELETE FROM override WHERE (arm, rev) IN (VALUES ", "(?, ?)", ")")

(
    ARM, DESCRIPTION, PUBLISHED, ITEM, FIRST, HANDLE, PRINCIPAL, META, GROUND, OVERRIDE, PLAN, PLAN_ARM, RECIPE, LATE,
) = (table.seal for table in TABLES)  # fmt: skip
SERVICE = Seal("service", ("one", "epoch", "last_time_us", "clean", "store", "commits"), ("one",))
AUDIT_COUNTS = Seal("audit", ("n", "commits", "at_us", "open_n"), ("n",), "", "seal")
"""The columns beside the entries, which have the chain."""
AUDIT_COLUMNS = (*AUDIT_COUNTS.columns, "prev", "entries", "hash", "seal")
ADD_AUDIT = insert("audit", AUDIT_COLUMNS)

SEALS = (SERVICE, *(table.seal for table in TABLES))
"""Every hash of the file, but for those of the jobs and of the audit."""


class AuditHead(NamedTuple):
    """Number and hash of the last audit entry."""

    n: int
    hash: bytes


START = AuditHead(0, AUDIT_START)
