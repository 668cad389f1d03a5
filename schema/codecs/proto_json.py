"""proto3 JSON of records with a proto message: lowerCamelCase names, "NaN" and "Infinity" strings, defaults left out.

Reading is strict: what a field cannot hold is refused by name, nothing is converted silently. The proto's own field
names are read too, as proto3 JSON demands. Kinds that no record here has (64-bit, bytes, bool) are refused.

The library's `json_format` cannot stand in for it: it takes "2.5" and true for numbers and "01" for a key, names no
place in a list, orders maps by chance and writes the smallest floats with more digits than they hold.
"""

import json
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import msgspec

from schema.fields import RANGES, Field, Kind, camel_case, fields_of
from schema.floats import as_float32

Record = TypeVar("Record", bound=msgspec.Struct)

_FLOATS = frozenset({Kind.DOUBLE, Kind.FLOAT32})
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_MAP_KEY = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)


class ProtoJsonError(ValueError):
    """A document that is not the proto3 JSON of the record.

    Attributes:
        key: path of the field, such as `joints[2].element.id`; empty for the document.
        value: what was found.
        reason: what is wrong, in words.
    """

    def __init__(self, key: str, reason: str, value: object = None) -> None:
        super().__init__(f"{key or 'document'}: {reason}" + ("" if value is None else f" (got {value!r:.80})"))
        self.key = key
        self.reason = reason
        self.value = value


@cache
def _names(cls: type[msgspec.Struct]) -> dict[str, Field]:
    fields = fields_of(cls)
    return {field.name: field for field in fields} | {camel_case(field.name): field for field in fields}


def _read_double(value: object, _: Any, key: str) -> float:
    if isinstance(value, str) and value in _NON_FINITE:
        return _NON_FINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProtoJsonError(key, 'not a number, "NaN", "Infinity" or "-Infinity"', value)
    try:
        return float(value)
    except OverflowError:
        raise ProtoJsonError(key, "beyond the range of a double", value) from None


def _read_float32(value: object, _: Any, key: str) -> float:
    try:
        return as_float32(_read_double(value, None, key))
    except OverflowError:
        raise ProtoJsonError(key, "beyond the range of a float", value) from None


def _read_integer(kind: Kind) -> Callable[[object, Any, str], int]:
    low, high = RANGES[kind]

    def read(value: object, _: Any, key: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ProtoJsonError(key, "not an integer", value)
        if not low <= value <= high:
            raise ProtoJsonError(key, f"outside {low} to {high}", value)
        return value

    return read


def _read_string(value: object, _: Any, key: str) -> str:
    if not isinstance(value, str):
        raise ProtoJsonError(key, "not a string", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ProtoJsonError(key, "not valid Unicode", value) from None
    return value


_INT32 = _read_integer(Kind.INT32)


def _read_enum(value: object, cls: Any, key: str) -> Any:
    """The member of a known name or number; an unknown number stays a number."""
    if isinstance(value, str):
        if value not in cls.__members__:
            raise ProtoJsonError(key, f"no value of {cls.__name__}", value)
        return cls[value]
    number = _INT32(value, None, key)
    return cls(number) if number in set(cls) else number


def _read_message(value: object, cls: Any, key: str) -> Any:
    return from_json(value, cls, key)


_READERS: dict[Kind, Callable[[object, Any, str], Any]] = {
    Kind.DOUBLE: _read_double,
    Kind.FLOAT32: _read_float32,
    Kind.INT32: _INT32,
    Kind.UINT32: _read_integer(Kind.UINT32),
    Kind.STRING: _read_string,
    Kind.ENUM: _read_enum,
    Kind.MESSAGE: _read_message,
}


def _reader(field: Field) -> Callable[[object, Any, str], Any]:
    if field.kind not in _READERS:
        raise TypeError(f"{field.name}: no proto3 JSON for the kind {field.kind.value}")
    return _READERS[field.kind]


def _read_map(value: object, field: Field, key: str) -> dict[int, Any]:
    if not isinstance(value, dict):
        raise ProtoJsonError(key, "not an object", value)
    read = _reader(field)
    limit = RANGES[field.key or Kind.UINT32][1]
    entries = {}
    for text, entry in value.items():
        if not _MAP_KEY.fullmatch(text) or int(text) > limit:
            raise ProtoJsonError(key, f"key is no integer up to {limit}", text)
        entries[int(text)] = read(entry, field.type, f"{key}[{text}]")
    return dict(sorted(entries.items()))


def _read_field(value: object, field: Field, key: str) -> Any:
    if field.key is not None:
        return _read_map(value, field, key)
    read = _reader(field)
    if not field.repeated:
        return read(value, field.type, key)
    if not isinstance(value, list | tuple):
        raise ProtoJsonError(key, "not a list", value)
    return tuple(read(entry, field.type, f"{key}[{index}]") for index, entry in enumerate(value))


def from_json(document: object, cls: type[Record], key: str = "") -> Record:
    """Record of a parsed document; null is absence.

    Raises:
        ProtoJsonError: the document does not fit the record; it names the field.
    """
    if not isinstance(document, dict):
        raise ProtoJsonError(key, "not an object", document)
    names = _names(cls)
    values: dict[str, Any] = {}
    for name, value in document.items():
        place = f"{key}.{name}" if key else str(name)
        if name not in names:
            raise ProtoJsonError(place, f"no field of {cls.__name__}")
        field = names[name]
        if field.name in values:
            raise ProtoJsonError(place, "given twice")
        if value is not None:
            values[field.name] = _read_field(value, field, place)
    return cls(**values)


def _write_double(value: float) -> Any:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _write_value(value: Any, field: Field) -> Any:
    if field.kind in _FLOATS:
        return _write_double(value)
    if field.kind is Kind.MESSAGE:
        return to_json(value)
    if field.kind is Kind.ENUM and value in set(field.type):
        return field.type(value).name
    return value


def _is_default(value: Any, field: Field) -> bool:
    if value is None:
        return True
    if field.optional:
        return False
    return not value and not (field.kind in _FLOATS and not field.repeated and math.copysign(1.0, value) < 0)


def to_json(record: msgspec.Struct) -> dict[str, Any]:
    """Document of a record: absent fields and defaults are left out, -0.0 is kept."""
    document: dict[str, Any] = {}
    for field in fields_of(type(record)):
        value = getattr(record, field.name)
        if _is_default(value, field):
            continue
        if field.key is not None:
            written: Any = {str(key): _write_value(entry, field) for key, entry in value.items()}
        elif field.repeated:
            written = [_write_value(entry, field) for entry in value]
        else:
            written = _write_value(value, field)
        document[camel_case(field.name)] = written
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _ in pairs]
        raise ProtoJsonError("", "a name stands twice", next(name for name in names if names.count(name) > 1))
    return document


def _no_constant(text: str) -> float:
    raise ProtoJsonError("", f'{text} is no JSON; write "{text}"')


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ProtoJsonError("", "beyond the range of a double", text)
    return value


def decode_json(data: bytes, cls: type[Record]) -> Record:
    """Record of a UTF-8 document.

    Raises:
        ProtoJsonError: it is no JSON, holds a name twice, or does not fit the record.
    """
    try:
        document = json.loads(
            data.decode(), object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
        )
    except ProtoJsonError:
        raise
    except (ValueError, RecursionError) as error:
        raise ProtoJsonError("", f"no JSON: {error}") from error
    return from_json(document, cls)


def encode_json(record: msgspec.Struct, *, indent: int | None = None) -> bytes:
    """UTF-8 document of a record."""
    return json.dumps(to_json(record), ensure_ascii=False, allow_nan=False, indent=indent).encode()
