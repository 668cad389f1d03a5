"""The records that the JSON of the Kinova vectors describes."""

from typing import Any

from schema.fields import Field, Kind, fields_of
from schema.floats import as_float32
from schema.messages import Message


def _value(field: Field, value: Any) -> Any:
    """One value of a vector's JSON: enums by name or number, numbers that are not finite as text."""
    if field.kind is Kind.MESSAGE:
        return record_of(value, field.type)
    if field.kind is Kind.ENUM:
        if isinstance(value, str):
            return field.type[value]
        return field.type(value) if value in {member.value for member in field.type} else value
    if field.kind is Kind.FLOAT32:
        return as_float32(float(value))
    return value


def record_of(document: dict[str, Any], cls: type[Message]) -> Message:
    """The record that a vector's JSON describes; what it leaves out has its default."""
    values: dict[str, Any] = {}
    for field in fields_of(cls):
        if field.name in document:
            value = document[field.name]
            values[field.name] = (
                tuple(_value(field, each) for each in value) if field.repeated else _value(field, value)
            )
    return cls(**values)
