"""Records to plain documents and back: the form that JSON and MessagePack share.

A plan per record class is made once from `schema.fields`; a plan is a tuple of closures, one per field.
"""

import base64
from collections.abc import Callable
from functools import cache
from typing import Any

from schema.codecs import scalars
from schema.codecs.faults import FaultError, FirstFault, quote, step, unknown_field, wrong_type
from schema.fields import Field, Kind, fields_of
from schema.messages import Message
from schema.nearest import did_you_mean

Convert = Callable[[Any], Any]


def to_plain(record: Message) -> dict[str, Any]:
    """The document of a record.

    Every scalar is present, absent sub-messages and absent `optional` scalars are left out. Enums are names, unknown
    enum numbers numbers, `bytes` base64, infinite doubles the texts `Infinity` and `-Infinity`.
    """
    document: dict[str, Any] = {}
    for name, convert in _writers(type(record)):
        value = getattr(record, name)
        if value is not None:
            document[name] = value if convert is None else convert(value)
    return document


def bare(record: Message | None, value_field: str) -> Any:
    """The plain value of one field of a record, of the whole record without a `value_field`; None of None."""
    if record is None:
        return None
    if not value_field:
        return to_plain(record)
    convert = _writer_of(type(record), value_field)
    value = getattr(record, value_field)
    return value if convert is None else convert(value)


@cache
def _writer_of(cls: type[Message], name: str) -> Convert | None:
    """How to write the value of one field."""
    return dict(_writers(cls))[name]


def from_plain(mapping: object, cls: type[Message], path: str = "") -> Message:
    """The record of a document, strictly; absent keys take the record's defaults.

    Raises:
        BrokerError: `malformed`, `unknown_field`, `unknown_enum` or `not_finite`; the message names the path, which
            begins with `path`.
    """
    try:
        return _reader(cls)(mapping)  # type: ignore[no-any-return]  # plans are not generic
    except FaultError as fault:
        raise fault.as_refusal(path) from None


def from_bare(value: object, cls: type[Message], value_field: str, path: str = "") -> Any:
    """The value of one field of a record, of what `bare` makes of it, strictly.

    Raises:
        BrokerError: as `from_plain`.
    """
    try:
        return _value_reader(cls, value_field)(value)
    except FaultError as fault:
        raise fault.as_refusal(path) from None


def _write_enum(cls: Any) -> Convert:
    names: dict[int, str] = {member.value: member.name for member in cls}

    def write(value: int) -> str | int:
        return names.get(value, value)

    return write


def _write_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _writer(field: Field) -> Convert | None:
    """How to write one value of a field; None = as it is."""
    if field.kind is Kind.ENUM:
        return _write_enum(field.type)
    if field.kind is Kind.MESSAGE:
        return to_plain
    if field.kind is Kind.BYTES:
        return _write_bytes
    return scalars.write_limit if field.kind is Kind.DOUBLE else None


def _write_list(convert: Convert | None) -> Convert:
    if convert is None:
        return list
    return lambda values: [convert(value) for value in values]


def _write_map(convert: Convert | None) -> Convert:
    return lambda values: {
        str(key): value if convert is None else convert(value) for key, value in sorted(values.items())
    }


@cache
def _writers(cls: type[Message]) -> tuple[tuple[str, Convert | None], ...]:
    """Field names and how to write their values."""
    plan: list[tuple[str, Convert | None]] = []
    for field in fields_of(cls):
        convert = _writer(field)
        if field.key is not None:
            convert = _write_map(convert)
        elif field.repeated:
            convert = _write_list(convert)
        plan.append((field.name, convert))
    return tuple(plan)


def _read_enum(cls: Any) -> Convert:
    members = {member.name: member for member in cls}

    def read(value: object) -> Any:
        if type(value) is not str:
            wrong_type(value, f"a name of {cls.__name__}")
        member = members.get(value)
        if member is None:
            hint = did_you_mean(value, members)
            raise FaultError("unknown_enum", f"{quote(value)} is no {cls.__name__}{hint}")
        return member

    return read


def _read_bytes(value: object) -> bytes:
    if type(value) is not str:
        wrong_type(value, "base64 text")
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        raise FaultError("malformed", f"{quote(value)} is no base64 text") from None


def _read_one(field: Field) -> Convert:
    """How to read one value of a field."""
    if field.kind is Kind.ENUM:
        return _read_enum(field.type)
    if field.kind is Kind.MESSAGE:
        return _reader(field.type)
    if field.kind is Kind.BYTES:
        return _read_bytes
    return scalars.READERS[field.kind]


def _read_list(convert: Convert) -> Convert:
    def read(values: object) -> tuple[Any, ...]:
        if type(values) is not list:
            wrong_type(values, "a list")
        done: list[Any] = []
        first = FirstFault()
        for index, value in enumerate(values):
            try:
                done.append(convert(value))
            except FaultError as fault:
                first.add(fault, f"[{index}]")
        first.tell()
        return tuple(done)

    return read


def _read_map(key_kind: Kind, convert: Convert) -> Convert:
    read_key = scalars.KEYS[key_kind]

    def read(values: object) -> dict[Any, Any]:
        if type(values) is not dict:
            wrong_type(values, "an object")
        done: dict[Any, Any] = {}
        first = FirstFault()
        for key, value in values.items():
            try:
                done[read_key(key)] = convert(value)
            except FaultError as fault:
                first.add(fault, step(key))
        first.tell()
        return done

    return read


def _read_field(field: Field) -> Convert:
    """How to read the whole value of a field."""
    convert = _read_one(field)
    if field.key is not None:
        return _read_map(field.key, convert)
    return _read_list(convert) if field.repeated else convert


@cache
def _value_reader(cls: type[Message], name: str) -> Convert:
    """How to read the value of one field."""
    return next(_read_field(field) for field in fields_of(cls) if field.name == name)


@cache
def _reader(cls: type[Message]) -> Convert:
    """How to read a document of a record class."""
    plan = {field.name: _read_field(field) for field in fields_of(cls)}

    def read(mapping: object) -> Message:
        if type(mapping) is not dict:
            wrong_type(mapping, f"an object ({cls.__name__})")
        values: dict[str, Any] = {}
        first = FirstFault()
        for name, value in mapping.items():
            convert = plan.get(name)
            if convert is None:
                raise unknown_field(name, cls.__name__, plan)
            try:
                values[name] = convert(value)
            except FaultError as fault:
                first.add(fault, name)
        first.tell()
        return cls(**values)

    return read
