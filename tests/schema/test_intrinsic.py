import enum
from typing import Any

import msgspec
import pytest
from google.protobuf import descriptor_pb2

from schema import intrinsic
from schema.fields import Field, Kind, fields_of
from schema.proto.intrinsic import kinematics_pb2, limits_pb2, math_pb2

NESTED = {
    "Joint.Parameters": intrinsic.JointParameters,
    "Joint.Parameters.Dynamics": intrinsic.JointDynamics,
    "Joint.LinearDependency": intrinsic.LinearDependency,
    "Link.Parameters": intrinsic.LinkParameters,
    "Joint.Type": intrinsic.JointType,
}
FILES = (math_pb2.DESCRIPTOR, kinematics_pb2.DESCRIPTOR, limits_pb2.DESCRIPTOR)


def full_name(descriptor: Any) -> str:
    return str(descriptor.full_name).removeprefix("intrinsic_proto.")


def nested(descriptor: Any) -> list[Any]:
    inner = [sub for sub in descriptor.nested_types if not sub.GetOptions().map_entry]
    return [descriptor, *(found for sub in inner for found in nested(sub))]


MESSAGES = {
    full_name(found): found for file in FILES for top in file.message_types_by_name.values() for found in nested(top)
}
ENUMS = {
    full_name(found): found
    for found in (*limits_pb2.DESCRIPTOR.enum_types_by_name.values(), *MESSAGES["Joint"].enum_types)
}


def record_of(name: str) -> Any:
    return NESTED.get(name) or getattr(intrinsic, name)


def kind_of(proto: Any) -> Kind:
    names = {proto.TYPE_DOUBLE: "double", proto.TYPE_INT32: "int32", proto.TYPE_UINT32: "uint32"}
    names |= {proto.TYPE_STRING: "string", proto.TYPE_ENUM: "enum", proto.TYPE_MESSAGE: "message"}
    return Kind(names[proto.type])


def field_of(proto: Any) -> Field:
    key = None
    value = proto
    if proto.message_type is not None and proto.message_type.GetOptions().map_entry:
        key = kind_of(proto.message_type.fields_by_name["key"])
        value = proto.message_type.fields_by_name["value"]
    target = value.message_type or value.enum_type
    return Field(
        name=proto.name,
        kind=kind_of(value),
        type=None if target is None else record_of(full_name(target)),
        repeated=proto.is_repeated,
        optional=proto.has_presence,
        key=key,
    )


def test_all_messages_are_there() -> None:
    records = {
        found
        for found in vars(intrinsic).values()
        if isinstance(found, type) and issubclass(found, msgspec.Struct) and found.__module__ == intrinsic.__name__
    }
    assert {record_of(name) for name in MESSAGES} == records
    assert len(MESSAGES) == 22


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_record_and_message_have_the_same_fields(name: str) -> None:
    ordered = sorted(MESSAGES[name].fields, key=lambda field: int(field.number))
    assert fields_of(record_of(name)) == tuple(field_of(field) for field in ordered)


@pytest.mark.parametrize("name", sorted(ENUMS))
def test_enum_has_the_same_names_and_numbers(name: str) -> None:
    record: type[enum.IntEnum] = record_of(name)
    assert {member.name: member.value for member in record} == {
        value.name: value.number for value in ENUMS[name].values
    }


NUMBERS = {
    "Joint": {"element": 1, "parameters": 2, "linear_dependency": 5},
    "Limits": {"position": 1, "velocity": 2, "acceleration": 3, "jerk": 4, "effort": 5},
    "Quaternion": {"x": 1, "y": 2, "z": 3, "w": 4},
    "Skeleton": {
        "name": 1,
        "anchor_offset": 2,
        "links": 3,
        "joints": 4,
        "coordinate_frames": 5,
        "element_id_to_dof_index": 6,
    },
}


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_field_numbers(name: str) -> None:
    assert {field.name: field.number for field in MESSAGES[name].fields} == NUMBERS[name]


def test_joint_keeps_the_retired_numbers_and_names_reserved() -> None:
    proto = descriptor_pb2.DescriptorProto()
    MESSAGES["Joint"].CopyToProto(proto)
    assert [(span.start, span.end) for span in proto.reserved_range] == [(3, 4), (4, 5)]
    assert list(proto.reserved_name) == ["value_function", "value_function_to_joint"]
