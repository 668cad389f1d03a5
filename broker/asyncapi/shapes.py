"""JSON Schema in few words."""

from collections.abc import Iterable
from typing import Any

Schema = dict[str, Any]

ANY: Schema = {}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
TEXT: Schema = {"type": "string"}
NULL: Schema = {"type": "null"}
TIME: Schema = {"type": "string", "format": "date-time"}
NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"}
MAPPING: Schema = {"type": "object"}
COMPONENTS = "#/components/schemas/"


def whole(lowest: int = 0, highest: int | None = None) -> Schema:
    """Whole numbers between bounds, the second one if it is given."""
    bounds = {"minimum": lowest} if highest is None else {"minimum": lowest, "maximum": highest}
    return {"type": "integer", **bounds}


def one_of(*values: str) -> Schema:
    """One of some texts."""
    return {"type": "string", "enum": list(values)}


def listed(items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": items}


def mapped(values: Schema) -> Schema:
    """An object whose keys are data."""
    return {"type": "object", "additionalProperties": values}


def either(*schemas: Schema) -> Schema:
    """What is of one of several kinds."""
    return {"anyOf": list(schemas)}


def record(properties: dict[str, Schema], required: Iterable[str] = (), *, closed: bool = True) -> Schema:
    """An object of these keys; a `closed` one has no others."""
    schema: Schema = {"type": "object", "properties": properties}
    if names := list(required):
        schema["required"] = names
    if closed:
        schema["additionalProperties"] = False
    return schema


def ref(name: str) -> Schema:
    """A schema that stands among the components."""
    return {"$ref": f"{COMPONENTS}{name}"}
