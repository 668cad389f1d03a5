"""Hypothesis strategies of records, made from their fields."""

from functools import cache
from typing import Any

from hypothesis import strategies as st

from schema.fields import RANGES, Field, Kind, fields_of
from schema.floats import as_float32
from schema.messages import Message

_LARGEST = 3.4028234663852886e38
_FLOAT32 = st.floats(-_LARGEST, _LARGEST, width=32).map(as_float32)
_SIMPLE: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.FLOAT32: _FLOAT32,
    Kind.DOUBLE: st.floats(allow_nan=False, allow_infinity=False),
    Kind.BOOL: st.booleans(),
    Kind.PARAMETER: st.booleans() | st.floats(allow_nan=False, allow_infinity=False),
    Kind.STRING: st.text(max_size=8),
    Kind.BYTES: st.binary(max_size=8),
    **{kind: st.integers(low, high) for kind, (low, high) in RANGES.items()},
}


def _one(field: Field) -> st.SearchStrategy[Any]:
    if field.kind is Kind.MESSAGE:
        return records(field.type)
    if field.kind is Kind.ENUM:
        return st.sampled_from(list(field.type))
    return _SIMPLE[field.kind]


def _values(field: Field) -> st.SearchStrategy[Any]:
    if field.key is not None:
        return st.dictionaries(_SIMPLE[field.key], _one(field), max_size=3)
    if field.repeated:
        return st.lists(_one(field), max_size=4).map(tuple)
    return st.none() | _one(field) if field.optional else _one(field)


@cache
def records(cls: type[Message]) -> st.SearchStrategy[Message]:
    """Any record of a class, enums known, numbers finite."""
    return st.builds(cls, **{field.name: _values(field) for field in fields_of(cls)})


def any_record(*classes: type[Message]) -> st.SearchStrategy[Message]:
    """Any record of any of some classes."""
    return st.one_of(*map(records, classes))
