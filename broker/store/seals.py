"""Which columns of which table a hash covers, and how rows are compared with it.

A row has one hash, or two where a part of it changes later: `hash` of what stays and `progress_hash` of the rest.
"""

import sqlite3
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from broker.store.digest import digest
from broker.store.rows import (
    ArmRow,
    ChangeRow,
    ChangeUpdate,
    Damage,
    EventRow,
    FirstRow,
    HandleRow,
    ItemRow,
    RequestRow,
)

R = TypeVar("R", bound=msgspec.Struct)
Values = tuple[Any, ...]

HASH, PROGRESS_HASH = "hash", "progress_hash"
LONGEST_NAME = 160
"""Characters of the longest text that names something."""


DIFFERS = "hash differs"


def _shown(value: Any) -> str:
    """A value of a damaged row as a name that can be shown and stored."""
    return str(value)[:LONGEST_NAME].encode("utf-8", "backslashreplace").decode()


class Seal(NamedTuple):
    """One hash of one table: over `columns` in this order, plus the value of the column `flag` (0 or 1).

    `arm` is the column that names the arm, `key` those that name the row to people.
    """

    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    arm: str = ""
    hash: str = HASH
    flag: str = ""

    def names(self, values: Values) -> Damage:
        """The row of these values of `columns`, as far as it can be named."""
        given = dict(zip(self.columns, values, strict=False))
        return Damage(
            self.table, _shown(given.get(self.arm, "")), "/".join(_shown(given[name]) for name in self.key), DIFFERS
        )


_CHANGING = ("n", *(name for name in ChangeUpdate.__struct_fields__ if name != "n"))
_REQUEST_CHANGING = ("n", "outcome", "settled", "rev")

ARM_COLUMNS = tuple(name for name in ArmRow.__struct_fields__ if name not in {"published_seq", "description"})
REQUEST_FIXED = tuple(
    name for name in RequestRow.__struct_fields__ if name not in {"outcome", "settled", "reply_open", "rev"}
)
CHANGE_FIXED = tuple(name for name in ChangeRow.__struct_fields__ if name == "n" or name not in {*_CHANGING, "starts"})

SERVICE = Seal("service", ("one", "epoch", "last_time_us", "clean", "store", "commits"), ("one",))
META = Seal("meta", ("key", "value"), ("key",))
ARM = Seal("arm", ARM_COLUMNS, (), "arm")
DESCRIPTION = Seal("description", ("arm", "description"), (), "arm")
PUBLISHED = Seal("published", ("arm", "seq"), (), "arm")
ITEM = Seal("item", ItemRow.__struct_fields__, ("key", "mode"), "arm")
FIRST = Seal("first_value", FirstRow.__struct_fields__, ("key", "mode"), "arm")
REQUEST = Seal("request", REQUEST_FIXED, ("user", "conn", "id"), "arm")
REQUEST_PROGRESS = Seal("request", _REQUEST_CHANGING, ("n",), "", PROGRESS_HASH, "reply_open")
CHANGE = Seal("change", CHANGE_FIXED, ("n", "rev"), "arm")
CHANGE_PROGRESS = Seal("change", _CHANGING, ("n",), "", PROGRESS_HASH)
EVENT = Seal("event", EventRow.__struct_fields__, ("seq",), "arm")
TOPIC_HEAD = Seal("topic_head", ("arm", "topic", "seq"), ("topic",), "arm")
HANDLE = Seal("handle", HandleRow.__struct_fields__, ("identifier",), "arm")
PRINCIPAL = Seal("principal", ("name", "number"), ("name",))

SEALS = (
    SERVICE, META, ARM, DESCRIPTION, PUBLISHED, ITEM, FIRST, REQUEST, REQUEST_PROGRESS, CHANGE, CHANGE_PROGRESS,
    EVENT, TOPIC_HEAD, HANDLE, PRINCIPAL,
)  # fmt: skip
"""Every hash of the file, but for the chain of the audit."""


class Sealed(Generic[R]):
    """Reads rows of one table into structs, and only those that agree with their hashes.

    Values come in the order of `columns`; `without` is a field that no column holds.
    """

    def __init__(self, row: type[R], *seals: Seal, without: str = "") -> None:
        self._fields = tuple(name for name in row.__struct_fields__ if name != without)
        names = list(self._fields)
        for seal in seals:
            names += [name for name in (*seal.columns, seal.hash) if name not in names]
        self.table, self.seals = seals[0].table, seals
        self.columns = ", ".join(names)
        self._row = row
        self._flags = tuple(field.name for field in msgspec.structs.fields(row) if field.type is bool)
        self._checks: list[tuple[Callable[[Values], Values], int, int | None]] = [
            (
                itemgetter(*map(names.index, seal.columns)),
                names.index(seal.hash),
                names.index(seal.flag) if seal.flag else None,
            )
            for seal in seals
        ]

    def agrees(self, values: Values) -> bool:
        """Whether a row is what was written."""
        try:
            for part, at, flag in self._checks:
                if digest(part(values)) + (0 if flag is None else values[flag]) != values[at]:
                    return False
        except (ValueError, TypeError, OverflowError):
            return False
        return True

    def agrees_last(self, values: Values) -> bool:
        """Whether the part that its last hash covers is what was written."""
        part, at, flag = self._checks[-1]
        try:
            return bool(digest(part(values)) + (0 if flag is None else values[flag]) == values[at])
        except (ValueError, TypeError, OverflowError):
            return False

    def open(self, values: Values) -> R | None:
        """The row; None if it is not what was written."""
        return self.of(values) if self.agrees(values) else None

    def of(self, values: Values) -> R:
        """The row of values that agree with their hashes."""
        given = dict(zip(self._fields, values, strict=False))
        for name in self._flags:
            given[name] = bool(given[name])
        return self._row(**given)

    def damage(self, values: Values) -> Damage:
        """What to call a row that is not what was written."""
        part, at, _ = self._checks[0]
        return self.seals[0].names(meant(self.seals[0], (*part(values), values[at])))


def agrees(seal: Seal, values: Values) -> bool:
    """Whether values of the columns of a seal, the flag if it has one, and the hash belong together."""
    *covered, said = values
    flag = covered.pop() if seal.flag else 0
    try:
        return bool(digest(tuple(covered)) + flag == said)
    except (ValueError, TypeError, OverflowError):
        return False


def selected(seal: Seal) -> str:
    """The columns that `agrees` takes."""
    return ", ".join((*seal.columns, *filter(None, (seal.flag,)), seal.hash))


def meant(seal: Seal, values: Values) -> Values:
    """What the columns of a damaged row must have been, if one bit of a text in it differs; else as they are.

    It tells whose row it is; what else the row said stays damaged.
    """
    *covered, said = values
    if seal.flag:
        covered.pop()
    for at, text in enumerate(covered):
        if isinstance(text, str) and len(text) <= LONGEST_NAME and isinstance(said, int):
            for other in _neighbours(text):
                try:
                    if digest((*covered[:at], other, *covered[at + 1 :])) == said & -2:
                        return (*covered[:at], other, *covered[at + 1 :])
                except (ValueError, TypeError, OverflowError):
                    return tuple(covered)
    return tuple(covered)


def _neighbours(text: str) -> list[str]:
    """Every text that differs in one bit."""
    raw = text.encode("utf-8", "surrogateescape")
    found = []
    for at in range(len(raw)):
        for bit in range(8):
            other = raw[:at] + bytes((raw[at] ^ 1 << bit,)) + raw[at + 1 :]
            try:
                found.append(other.decode())
            except UnicodeDecodeError:
                continue
    return found


def readable(text: bytes) -> str:
    """A text of the file; where it is no UTF-8 it agrees with no hash."""
    return text.decode("utf-8", "surrogateescape")


def all_rows(connection: sqlite3.Connection, statement: str, values: tuple[Any, ...] = ()) -> list[Values]:
    """All rows of a query on another connection, with texts as `readable` has them."""
    factory, connection.text_factory = connection.text_factory, readable
    try:
        return connection.execute(statement, values).fetchall()
    finally:
        connection.text_factory = factory
