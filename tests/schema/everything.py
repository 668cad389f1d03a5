"""Records with every kind of field, and generated messages for them."""

import enum

import msgspec
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message as Generated

from schema.fields import Double, Field, Fixed32, Float32, Int32, Int64, Kind, UInt32, UInt64, fields_of
from schema.messages import Message


class Colour(enum.IntEnum):
    UNKNOWN = 0
    RED = 1
    BLUE = 5


class Part(Message, frozen=True):
    number: UInt32 = 0
    maybe: Double | None = None


class Everything(Message, frozen=True):
    double: Double = 0.0
    single: Float32 = 0.0
    int32: Int32 = 0
    int64: Int64 = 0
    uint32: UInt32 = 0
    uint64: UInt64 = 0
    fixed32: Fixed32 = 0
    flag: bool = False
    text: str = ""
    data: bytes = b""
    colour: Colour | int = Colour.UNKNOWN
    part: Part | None = None
    maybe_flag: bool | None = None
    doubles: tuple[Double, ...] = ()
    singles: tuple[Float32, ...] = ()
    colours: tuple[Colour | int, ...] = ()
    parts: tuple[Part, ...] = ()
    by_name: dict[str, Part] = msgspec.field(default_factory=dict)
    by_number: dict[Int32, Double] = msgspec.field(default_factory=dict)


_PACKAGE = "armbroker.test"
_File = descriptor_pb2.FileDescriptorProto
_Proto = descriptor_pb2.FieldDescriptorProto


def _describe(target: descriptor_pb2.DescriptorProto, field: Field, number: int, kind: Kind) -> None:
    made = target.field.add(name=field.name, number=number, type=_Proto.Type.Value(f"TYPE_{_proto_type(kind)}"))
    made.label = _Proto.LABEL_REPEATED if field.repeated and field.key is None else _Proto.LABEL_OPTIONAL
    if kind in {Kind.MESSAGE, Kind.ENUM}:
        made.type_name = f".{_PACKAGE}.{field.type.__name__}"
    if field.optional and kind is not Kind.MESSAGE:
        made.proto3_optional = True
        made.oneof_index = len(target.oneof_decl)
        target.oneof_decl.add(name=f"_{field.name}")


def _proto_type(kind: Kind) -> str:
    return "FLOAT" if kind is Kind.FLOAT32 else kind.name


def _message(file: descriptor_pb2.FileDescriptorProto, cls: type[Message]) -> None:
    target = file.message_type.add(name=cls.__name__)
    for number, field in enumerate(fields_of(cls), 1):
        if field.key is None:
            _describe(target, field, number, field.kind)
            continue
        entry = target.nested_type.add(name=f"{field.name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        entry.field.add(
            name="key", number=1, type=_Proto.Type.Value(f"TYPE_{field.key.name}"), label=_Proto.LABEL_OPTIONAL
        )
        _describe(entry, field._replace(name="value"), 2, field.kind)
        target.field.add(
            name=field.name,
            number=number,
            type=_Proto.TYPE_MESSAGE,
            label=_Proto.LABEL_REPEATED,
            type_name=f".{_PACKAGE}.{cls.__name__}.{entry.name}",
        )


def _generate() -> dict[type[Message], type[Generated]]:
    file = _File(name="armbroker/test/everything.proto", package=_PACKAGE, syntax="proto3")
    values = file.enum_type.add(name="Colour").value
    for colour in Colour:
        values.add(name=colour.name, number=colour.value)
    for cls in (Part, Everything):
        _message(file, cls)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        cls: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{cls.__name__}"))
        for cls in (Part, Everything)
    }


GENERATED = _generate()
"""Generated message of each record."""
