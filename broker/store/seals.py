"""How a table is declared: which columns a hash covers, how rows are compared with it, how statements are made.

A row has one hash, or more where parts of it change later: `hash` is of what stays.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from broker.store.digest import digest
from broker.store.rows import Damage

R = TypeVar("R", bound=msgspec.Struct)
Values = tuple[Any, ...]

HASH, PROGRESS_HASH = "hash", "progress_hash"
LONGEST_NAME = 160
"""Characters of the longest text that names something."""


DIFFERS = "hash differs"


class Statement(NamedTuple):
    """A statement for any number of rows: `head`, then `row` for each of them, then `tail`."""

    head: str
    row: str
    tail: str = ""

    def text(self, rows: int) -> str:
        """The SQL for so many rows."""
        return f"{self.head}{', '.join([self.row] * rows)}{self.tail}"


def _marks(count: int) -> str:
    return f"({', '.join('?' * count)})"


def insert(table: str, columns: Sequence[str], verb: str = "INSERT") -> Statement:
    """Adds rows of values of `columns`."""
    return Statement(f"{verb} INTO {table} ({', '.join(columns)}) VALUES ", _marks(len(columns)))


def update(table: str, columns: Sequence[str], keys: Sequence[str]) -> Statement:
    """Changes rows: they hold the new values of `columns`, then those of `keys`."""
    sets = ", ".join(f"{name} = new.column{at}" for at, name in enumerate(columns, 1))
    where = " AND ".join(f"{table}.{name} = new.column{at}" for at, name in enumerate(keys, len(columns) + 1))
    row = _marks(len(columns) + len(keys))
    head = f"UPDATE {table} SET {sets} FROM (VALUES "  # noqa: S608 - constants
    return Statement(head, row, f") AS new WHERE {where}")


def shown(value: Any) -> str:
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
            self.table, shown(given.get(self.arm, "")), "/".join(shown(given[name]) for name in self.key), DIFFERS
        )


class Sealed(Generic[R]):
    """Reads rows of one table into structs, and only those that agree with their hashes.

    Values come in the order of `columns`.
    """

    def __init__(self, row: type[R], *seals: Seal) -> None:
        self._fields = row.__struct_fields__
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
    return list(each_row(connection, statement, values))


def each_row(connection: sqlite3.Connection, statement: str, values: tuple[Any, ...] = ()) -> Iterator[Values]:
    """As `all_rows`, one by one; nothing else is asked of the connection until the last."""
    factory, connection.text_factory = connection.text_factory, readable
    try:
        yield from connection.execute(statement, values)
    finally:
        connection.text_factory = factory
