from typing import Any

import msgspec
import pytest
from google.protobuf.descriptor import FieldDescriptor

from schema import messages
from schema.codecs.registry import MESSAGES
from schema.fields import Field, Kind, fields_of
from schema.messages import Message

TYPES = {
    Kind.DOUBLE: FieldDescriptor.TYPE_DOUBLE,
    Kind.FLOAT32: FieldDescriptor.TYPE_FLOAT,
    Kind.INT32: FieldDescriptor.TYPE_INT32,
    Kind.INT64: FieldDescriptor.TYPE_INT64,
    Kind.UINT32: FieldDescriptor.TYPE_UINT32,
    Kind.UINT64: FieldDescriptor.TYPE_UINT64,
    Kind.FIXED32: FieldDescriptor.TYPE_FIXED32,
    Kind.BOOL: FieldDescriptor.TYPE_BOOL,
    Kind.STRING: FieldDescriptor.TYPE_STRING,
    Kind.BYTES: FieldDescriptor.TYPE_BYTES,
    Kind.ENUM: FieldDescriptor.TYPE_ENUM,
    Kind.MESSAGE: FieldDescriptor.TYPE_MESSAGE,
}
PAIRS = [pytest.param(record, generated, id=record.__name__) for record, generated in MESSAGES.items()]


def assert_same_value(field: Field, descriptor: Any) -> None:
    assert descriptor.type == TYPES[field.kind], field.name
    if field.kind is Kind.MESSAGE:
        assert MESSAGES[field.type].DESCRIPTOR.full_name == descriptor.message_type.full_name, field.name
    if field.kind is Kind.ENUM:
        numbers = {value.name: value.number for value in descriptor.enum_type.values}
        assert {member.name: member.value for member in field.type} == numbers, field.name


@pytest.mark.parametrize(("record", "generated"), PAIRS)
def test_record_and_proto_agree_field_by_field(record: type[Message], generated: Any) -> None:
    fields = fields_of(record)
    descriptors = sorted(generated.DESCRIPTOR.fields, key=lambda field: field.number)
    assert [field.name for field in fields] == [descriptor.name for descriptor in descriptors]
    for field, descriptor in zip(fields, descriptors, strict=True):
        assert field.repeated == descriptor.is_repeated, field.name
        assert field.optional == descriptor.has_presence, field.name
        entry = descriptor.message_type if descriptor.type == FieldDescriptor.TYPE_MESSAGE else None
        is_map = entry is not None and entry.GetOptions().map_entry
        assert (field.key is not None) == is_map, field.name
        if entry is not None and field.key is not None:
            assert entry.fields_by_name["key"].type == TYPES[field.key], field.name
            descriptor = entry.fields_by_name["value"]  # noqa: PLW2901 - the value of a map is compared as a field
        assert_same_value(field, descriptor)


@pytest.mark.parametrize(("record", "generated"), PAIRS)
def test_defaults_are_those_of_proto3(record: type[Message], generated: Any) -> None:
    for field in fields_of(record):
        value = getattr(record(), field.name)
        if field.optional:
            assert value is None
        elif field.repeated:
            assert not value
        else:
            assert value == getattr(generated(), field.name)


def test_every_kinova_record_has_a_message_and_names_agree() -> None:
    classes = {
        value
        for value in vars(messages).values()
        if isinstance(value, type) and issubclass(value, Message) and value is not Message
    }
    assert len(classes) == 25
    assert classes <= set(MESSAGES)
    for record in classes:
        name = MESSAGES[record].DESCRIPTOR.full_name
        assert name in {f"Kinova.Api.ControlConfig.{record.__name__}", f"Kinova.Api.Common.{record.__name__}"}


def test_no_message_stands_for_two_records() -> None:
    assert len(set(MESSAGES.values())) == len(MESSAGES)


def test_records_are_frozen() -> None:
    with pytest.raises(AttributeError):
        messages.Position().x = 1.0  # type: ignore[misc]  # what the test is about
    assert all(issubclass(record, msgspec.Struct) for record in MESSAGES)
