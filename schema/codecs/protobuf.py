"""Records to protobuf bytes and back, driven by the fields of the records."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from google.protobuf.message import DecodeError
from google.protobuf.message import Message as Generated
from google.protobuf.unknown_fields import UnknownFieldSet

from schema.codecs.faults import FaultError, FirstFault, step
from schema.codecs.registry import MESSAGES
from schema.codecs.scalars import read_double, read_float32, rounded
from schema.fields import Field, Kind, fields_of
from schema.messages import Message

GeneratedT = TypeVar("GeneratedT", bound=Generated)
Convert = Callable[[Any], Any]

_NAMED = 8
"""Most unknown fields that a message names."""


def encode_message(record: Message) -> bytes:
    """The bytes of a record as its proto message."""
    return _build(record).SerializeToString()


def decode_message(payload: bytes, cls: type[Message], *, strict: bool, path: str = "") -> Message:
    """The record of the bytes of its proto message.

    With `strict` unknown fields, unknown enum numbers, NaN and infinite floats are refused (an infinite double is no
    limit); without it (what an arm says) fields are ignored and numbers kept.

    Raises:
        BrokerError: `malformed`, `unknown_field`, `unknown_enum` or `not_finite`; the message begins with `path`.
    """
    try:
        message = parse(payload, MESSAGES[cls])
        if strict:
            refuse_unknown(message, payload)
        return _reader(cls, strict)(message)  # type: ignore[no-any-return]  # plans are not generic
    except FaultError as fault:
        raise fault.as_refusal(path) from None


def parse(payload: bytes, cls: type[GeneratedT]) -> GeneratedT:
    """The generated message of bytes.

    Raises:
        FaultError: `malformed`.
    """
    try:
        return cls.FromString(payload)
    except DecodeError:
        raise FaultError("malformed", f"the bytes are no {cls.DESCRIPTOR.full_name}") from None


def refuse_unknown(message: Generated, payload: bytes) -> None:
    """Refuse a message parsed from `payload` that holds an unknown field at any depth; the field is dropped.

    Raises:
        FaultError: `unknown_field`.
    """
    size = message.ByteSize()
    message.DiscardUnknownFields()
    if message.ByteSize() != size:
        name = message.DESCRIPTOR.name
        unknown = UnknownFieldSet(type(message).FromString(payload))
        numbers = sorted({unknown[index].field_number for index in range(len(unknown))})
        what = (
            f"{name} has no field {', '.join(map(str, numbers[:_NAMED]))}"
            if numbers
            else f"an unknown field within {name}"
        )
        raise FaultError("unknown_field", what)


def _build(record: Message) -> Generated:
    """The generated message of a record."""
    values: dict[str, Any] = {}
    for name, convert in _writers(type(record)):
        value = getattr(record, name)
        if value is not None:
            values[name] = value if convert is None else convert(value)
    return MESSAGES[type(record)](**values)


@cache
def _writers(cls: type[Message]) -> tuple[tuple[str, Convert | None], ...]:
    """Field names and how to write their values; None = as they are."""
    plan: list[tuple[str, Convert | None]] = []
    for field in fields_of(cls):
        convert: Convert | None = None
        if field.kind is Kind.MESSAGE:
            convert = _build
            if field.key is not None:
                convert = _build_map
            elif field.repeated:
                convert = _build_list
        plan.append((field.name, convert))
    return tuple(plan)


def _build_list(records: tuple[Message, ...]) -> list[Generated]:
    return [_build(record) for record in records]


def _build_map(records: dict[Any, Message]) -> dict[Any, Generated]:
    return {key: _build(record) for key, record in records.items()}


def _read_enum(cls: Any, *, strict: bool) -> Convert:
    members: dict[int, Any] = {member.value: member for member in cls}

    def read(number: int) -> Any:
        member = members.get(number, number)
        if strict and number not in members:
            raise FaultError("unknown_enum", f"{number} is no {cls.__name__}")
        return member

    return read


def _read_limit(value: float) -> float:
    """A double that is a number; infinite ones are no limit."""
    return value if math.isinf(value) else read_double(value)


def _as_it_is(value: Any) -> Any:
    return value


def _read_one(field: Field, *, strict: bool) -> Convert:
    """How to read one value of a field."""
    if field.kind is Kind.MESSAGE:
        return _reader(field.type, strict)
    if field.kind is Kind.ENUM:
        return _read_enum(field.type, strict=strict)
    if field.kind is Kind.FLOAT32:
        return read_float32 if strict else rounded
    if field.kind is Kind.DOUBLE and strict:
        return _read_limit
    return _as_it_is


def _read_list(convert: Convert) -> Convert:
    def read(values: Any) -> tuple[Any, ...]:
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


def _read_map(convert: Convert) -> Convert:
    def read(values: Any) -> dict[Any, Any]:
        done: dict[Any, Any] = {}
        first = FirstFault()
        for key in sorted(values):
            try:
                done[key] = convert(values[key])
            except FaultError as fault:
                first.add(fault, step(str(key)))
        first.tell()
        return done

    return read


def _field_plan(field: Field, *, strict: bool) -> tuple[str, bool, Convert]:
    """Name, whether presence counts, and how to read the value."""
    convert = _read_one(field, strict=strict)
    if field.key is not None:
        return field.name, False, _read_map(convert)
    if field.repeated:
        return field.name, False, _read_list(convert)
    return field.name, field.optional, convert


@cache
def _reader(cls: type[Message], strict: bool) -> Convert:
    """How to read the generated message of a record class."""
    plan = tuple(_field_plan(field, strict=strict) for field in fields_of(cls))

    def read(message: Generated) -> Message:
        values: dict[str, Any] = {}
        first = FirstFault()
        for name, has_presence, convert in plan:
            if has_presence and not message.HasField(name):
                continue
            try:
                values[name] = convert(getattr(message, name))
            except FaultError as fault:
                first.add(fault, name)
        first.tell()
        return cls(**values)

    return read
