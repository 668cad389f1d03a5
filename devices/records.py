"""The records of config items in plain JSON: what adapters keep in files of their own."""

from typing import Any

from schema.fields import Field, Kind, fields_of
from schema.messages import Message

FAULTY = (AttributeError, LookupError, TypeError, ValueError)
"""What `record_of` raises when the plain value is none of the record."""


def record_of(record: type[Message], plain: dict[str, Any]) -> Message:
    """Rebuild a record of finite numbers from its JSON object as `msgspec.json` writes it, with enum numbers.

    Raises:
        AttributeError, LookupError, TypeError, ValueError: it is none of the record; see `FAULTY`.
    """
    return record(**{field.name: _value(field, plain[field.name]) for field in fields_of(record)})


def _value(field: Field, plain: Any) -> Any:
    """The value of a field."""
    if field.key is not None:
        return {key: _element(field, value) for key, value in plain.items()}
    if field.repeated:
        return tuple(_element(field, value) for value in plain)
    return None if plain is None and field.optional else _element(field, plain)


def _element(field: Field, plain: Any) -> Any:
    """One value of a field."""
    if field.kind is Kind.MESSAGE:
        return record_of(field.type, plain)
    return field.type(plain) if field.kind is Kind.ENUM else plain
