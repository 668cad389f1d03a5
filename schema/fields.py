"""The fields of the records, derived once from their annotations: what every codec is driven by."""

import enum
from functools import cache
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

Double = Annotated[float, "double"]
Float32 = Annotated[float, "float32"]
Int32 = Annotated[int, "int32"]
Int64 = Annotated[int, "int64"]
UInt32 = Annotated[int, "uint32"]
UInt64 = Annotated[int, "uint64"]
Fixed32 = Annotated[int, "fixed32"]
Parameter = Annotated[bool | float, "parameter"]


class Kind(enum.Enum):
    """What a field holds; the value is the proto scalar type where there is one."""

    DOUBLE = "double"
    FLOAT32 = "float32"
    INT32 = "int32"
    INT64 = "int64"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FIXED32 = "fixed32"
    BOOL = "bool"
    STRING = "string"
    BYTES = "bytes"
    ENUM = "enum"
    MESSAGE = "message"
    PARAMETER = "parameter"
    """A flag or a double: the value of a ROS parameter; there is none in proto."""


class Field(NamedTuple):
    """One field of a record."""

    name: str
    kind: Kind
    type: Any
    """The enum or record class; None for scalars."""
    repeated: bool
    optional: bool
    """True when absence differs from the default: sub-messages and proto3 `optional`."""
    key: Kind | None
    """The key's kind of a map field; None for the others."""


RANGES: dict[Kind, tuple[int, int]] = {
    Kind.INT32: (-(1 << 31), (1 << 31) - 1),
    Kind.INT64: (-(1 << 63), (1 << 63) - 1),
    Kind.UINT32: (0, (1 << 32) - 1),
    Kind.UINT64: (0, (1 << 64) - 1),
    Kind.FIXED32: (0, (1 << 32) - 1),
}
"""Lowest and highest value of the integer kinds."""

_PLAIN = {bool: Kind.BOOL, str: Kind.STRING, bytes: Kind.BYTES}


def _element(hint: Any) -> tuple[Kind, Any]:
    """Kind and class of one value."""
    if get_origin(hint) is Annotated:
        return Kind(get_args(hint)[1]), None
    if hint in _PLAIN:
        return _PLAIN[hint], None
    if get_origin(hint) is not None:
        members = [member for member in get_args(hint) if member is not int]
        return _element(members[0])
    if issubclass(hint, enum.IntEnum):
        return Kind.ENUM, hint
    return Kind.MESSAGE, hint


def _field(name: str, hint: Any) -> Field:
    optional = False
    arguments = get_args(hint)
    if get_origin(hint) is not Annotated and type(None) in arguments:
        optional = True
        rest = tuple(argument for argument in arguments if argument is not type(None))
        hint = rest[0] if len(rest) == 1 else Union[rest]  # noqa: UP007, RUF100 - built from a tuple
    if get_origin(hint) is tuple:
        kind, cls = _element(get_args(hint)[0])
        return Field(name, kind, cls, repeated=True, optional=optional, key=None)
    if get_origin(hint) is dict:
        key, value = get_args(hint)
        kind, cls = _element(value)
        return Field(name, kind, cls, repeated=True, optional=optional, key=_element(key)[0])
    kind, cls = _element(hint)
    return Field(name, kind, cls, repeated=False, optional=optional, key=None)


@cache
def fields_of(record: type[msgspec.Struct]) -> tuple[Field, ...]:
    """The fields of a record class in the order of its declaration.

    Lists are `tuple[X, ...]`, maps `dict[K, V]`, enums `SomeEnum | int` (an unknown number stays a number),
    sub-messages and proto3 `optional` scalars `X | None`.
    """
    hints = get_type_hints(record, include_extras=True)
    return tuple(_field(name, hints[name]) for name in record.__struct_fields__)


def camel_case(name: str) -> str:
    """The JSON name of a proto field."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
