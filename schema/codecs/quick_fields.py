"""Records of JSON and MessagePack read in one typed step: how each field is decoded, and what is made of it.

Whatever is unusual raises one of `UNUSUAL`; `schema.codecs.quick` says what that means.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from math import isfinite
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import astuple

from schema.codecs.faults import FaultError
from schema.codecs.scalars import rounded
from schema.fields import RANGES, Field, Kind, fields_of
from schema.floats import as_float32_list
from schema.messages import Message

MOST_ITEMS = 8_192
"""A longer list or map is unusual."""
Decode = Callable[[bytes], Any]
Read = Callable[[bytes, int], Any]
"""Reads a document that holds so many keys."""
Build = Callable[[tuple[Any, ...], int], Any]
"""Makes a record of the values of its fields, UNSET where there is none, that hold so many keys."""


class UnusualError(Exception):
    """The strict reader has to look."""


UNUSUAL = (UnusualError, FaultError, msgspec.MsgspecError, UnicodeDecodeError, KeyError, OverflowError, RecursionError)
"""What is raised of what is not read quickly."""


class Form(msgspec.Struct, frozen=True, eq=False):
    """How documents are read.

    `keys` counts the keys of a whole payload, `keys_within` those of a document within one whose keys could be counted;
    with `deep` both count those of the documents within it too. With `finite` every number that is decoded is finite.
    """

    decoder: Callable[[Any], Decode]
    keys: Callable[[bytes], int]
    keys_within: Callable[[bytes], int]
    deep: bool
    finite: bool


class _Plan(NamedTuple):
    """What a value is decoded as, and what is made of it (None: it is right as it is); `nested`: of its document."""

    type: Any
    make: Any = None
    nested: bool = False


def finite(value: float) -> float:
    """A finite number as it is; another one raises UnusualError."""
    if not isfinite(value):
        raise UnusualError
    return value


def finite32(value: float) -> float:
    """A finite number rounded to float32; another one raises UnusualError."""
    return rounded(finite(value))


def finite_list(values: Any) -> tuple[float, ...]:
    """Finite numbers; others, or those of an infinite sum, raise UnusualError."""
    if not isfinite(sum(values)):
        raise UnusualError
    return tuple(values)


_SHORT = 16
"""Longer lists are not remembered."""
_remembered = lru_cache(maxsize=2_048)(as_float32_list)


def rounded_list(values: Any) -> tuple[float, ...]:
    """Finite numbers rounded to float32."""
    numbers = tuple(values)
    return _remembered(numbers) if len(numbers) <= _SHORT else as_float32_list(numbers)


def finite32_list(values: Any) -> tuple[float, ...]:
    """Finite numbers rounded to float32; others raise UnusualError."""
    if not isfinite(sum(values)):
        raise UnusualError
    return rounded_list(values)


def _finite_parameter(value: bool | float) -> bool | float:
    return value if isinstance(value, bool) else finite(value)


_NUMBERS = (rounded, finite32)
"""What is made of a number that is a float32."""
_LISTS: dict[Any, Any] = {finite: finite_list, rounded: rounded_list, finite32: finite32_list, None: tuple}
"""What is made of a list, by what is made of each of its numbers."""


def _integer(low: int, high: int) -> Callable[[int], int]:
    def make(value: int) -> int:
        if not low <= value <= high:
            raise UnusualError
        return value

    return make


def _one(field: Field, form: Form) -> _Plan | None:
    """The plan of one value of a field; None: it is never read quickly."""
    kind = field.kind
    if kind is Kind.MESSAGE:
        read = reader_of(field.type, form)
        return None if read is None else _Plan(Raw, read, nested=True)
    if kind is Kind.ENUM:
        return _Plan(str, {member.name: member for member in field.type}.__getitem__)
    if kind in RANGES:
        return _Plan(int, _integer(*RANGES[kind]))
    return {
        Kind.FLOAT32: _Plan(float, rounded if form.finite else finite32),
        Kind.DOUBLE: _Plan(float, None if form.finite else finite),
        Kind.PARAMETER: _Plan(bool | float, None if form.finite else _finite_parameter),
        Kind.BOOL: _Plan(bool),
        Kind.STRING: _Plan(str),
    }.get(kind)


def _plan(field: Field, form: Form) -> _Plan | None:
    """The plan of a field; None: it is never read quickly."""
    one = _one(field, form)
    if one is None or not field.repeated:
        return one
    if field.key is not None:
        return _Plan(Raw, _map_reader(one, form), nested=True) if field.key is Kind.STRING else None
    items: Any = list[one.type]  # type: ignore[name-defined]  # a type made here
    make = _LISTS.get(one.make)
    return None if make is None else _Plan(Annotated[items, msgspec.Meta(max_length=MOST_ITEMS)], make)


def _map_reader(one: _Plan, form: Form) -> Read:
    """Reads the document of a map."""
    decode, keys = form.decoder(dict[str, one.type]), form.keys_within  # type: ignore[name-defined]  # a type made here
    make, nested = one.make, one.nested

    def read(document: bytes, left: int) -> dict[str, Any]:
        values: dict[str, Any] = decode(document)
        left -= len(values)
        for key, value in values.items():
            if nested:
                part = bytes(value)
                within = keys(part)
                if form.deep:
                    left -= within
                values[key] = make(part, within)
            elif make is not None:
                values[key] = make(value)
        if left or len(values) > MOST_ITEMS:
            raise UnusualError
        return values

    return read


@cache
def reader_of(cls: type[Message], form: Form) -> Read | None:
    """Reads the document of a record class; None for a class that is never read quickly."""
    built = builder_of(cls, form)
    if built is None:
        return None
    decode, build = form.decoder(built[0]), built[1]
    return lambda document, left: build(astuple(decode(document)), left)


@cache
def builder_of(cls: type[Message], form: Form) -> tuple[type[msgspec.Struct], Build] | None:
    """What the document of a record class is decoded as, and what makes the record of that; else as `reader_of`."""
    fields = fields_of(cls)
    plans = [_plan(field, form) for field in fields]
    if None in plans:
        return None
    shape = msgspec.defstruct(
        cls.__name__,
        [(field.name, plan.type | UnsetType, UNSET) for field, plan in zip(fields, plans, strict=True) if plan],
        forbid_unknown_fields=True,
        gc=False,
    )
    rows = [(field.name, plan.make, plan.nested) for field, plan in zip(fields, plans, strict=True) if plan]
    build = _record_builder(cls, form, rows)
    return shape, _number_builder(cls, form, build) if all(row[1] in _NUMBERS for row in rows) else build


def _record_builder(cls: type[Message], form: Form, rows: list[tuple[str, Any, bool]]) -> Build:
    """Makes a record field by field."""
    if not any(nested for _, _, nested in rows):
        return _flat_builder(cls, rows)
    keys, deep = form.keys_within, form.deep

    def build(values: tuple[Any, ...], left: int) -> Message:
        given = {}
        for (name, make, nested), value in zip(rows, values, strict=True):
            if value is UNSET:
                continue
            left -= 1
            if nested:
                part = bytes(value)
                within = keys(part)
                if deep:
                    left -= within
                given[name] = make(part, within)
            else:
                given[name] = value if make is None else make(value)
        if left:
            raise UnusualError
        return cls(**given)

    return build


def _flat_builder(cls: type[Message], rows: list[tuple[str, Any, bool]]) -> Build:
    """Makes a record without records in it: at once where all its fields are there."""
    names, makes = [name for name, _, _ in rows], [make for _, make, _ in rows]
    count = len(names)

    def build(values: tuple[Any, ...], left: int) -> Message:
        if left == count and UNSET not in values:
            return cls(*[value if make is None else make(value) for make, value in zip(makes, values, strict=True)])
        given = {
            name: value if make is None else make(value)
            for name, make, value in zip(names, makes, values, strict=True)
            if value is not UNSET
        }
        if left != len(given):
            raise UnusualError
        return cls(**given)

    return build


def _number_builder(cls: type[Message], form: Form, build_some: Build) -> Build:
    """Makes a record of nothing but float32 at once; one that is not whole by `build_some`."""
    numbers, count = rounded_list if form.finite else finite32_list, len(fields_of(cls))

    def build(values: tuple[Any, ...], left: int) -> Message:
        message: Message = cls(*numbers(values)) if left == count and UNSET not in values else build_some(values, left)
        return message

    return build
