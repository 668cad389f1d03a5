"""JSON Schema of the messages, from the fields that drive the codecs."""

from typing import Any

from broker.asyncapi.shapes import FLAG, NUMBER, TEXT, Schema, either, listed, mapped, one_of, record, ref, whole
from schema.enums import ControlMode
from schema.fields import RANGES, Field, Kind, fields_of
from schema.items import ITEMS
from schema.messages import Message

LIMIT = "Limit"
"""The name of what a double is: a number, or a text where it limits nothing."""
MODE, ITEM = ControlMode.__name__, "ItemKey"
"""Names of what control modes and items are."""
LIMIT_SCHEMA: Schema = either(NUMBER, one_of("Infinity", "-Infinity"))
_SCALARS: dict[Kind, Schema] = {
    Kind.DOUBLE: ref(LIMIT),
    Kind.FLOAT32: NUMBER,
    Kind.BOOL: FLAG,
    Kind.STRING: TEXT,
    Kind.BYTES: {"type": "string", "contentEncoding": "base64"},
    Kind.PARAMETER: either(FLAG, ref(LIMIT)),
    **{kind: whole(*bounds) for kind, bounds in RANGES.items()},
}


class Catalogue:
    """The schemas of messages by name, each once; asking for one brings all that it needs."""

    def __init__(self) -> None:
        modes = one_of(*(mode.name for mode in ControlMode))
        self.schemas: dict[str, Schema] = {LIMIT: LIMIT_SCHEMA, MODE: modes, ITEM: one_of(*ITEMS)}

    def of(self, cls: type[Message]) -> Schema:
        """Where the schema of a message stands."""
        name = cls.__name__
        if name not in self.schemas:
            self.schemas[name] = {}  # a message may hold itself
            self.schemas[name] = record({field.name: self._field(field) for field in fields_of(cls)})
        return ref(name)

    def value_of(self, cls: type[Message], name: str) -> Schema:
        """The schema of one field of a message; of the message itself without a name."""
        if not name:
            return self.of(cls)
        return self._field(next(field for field in fields_of(cls) if field.name == name))

    def _field(self, field: Field) -> Schema:
        one = self._one(field)
        if field.key is not None:
            return mapped(one)
        return listed(one) if field.repeated else one

    def _one(self, field: Field) -> Schema:
        if field.kind is Kind.MESSAGE:
            return self.of(field.type)
        if field.kind is Kind.ENUM:
            return self._enum(field.type)
        return _SCALARS[field.kind]

    def _enum(self, cls: Any) -> Schema:
        """The names of an enum; a number that an arm sends and nobody knows stays one."""
        self.schemas.setdefault(cls.__name__, one_of(*(member.name for member in cls)))
        return ref(cls.__name__)
