"""Messages built from a table of their fields."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_TYPES = {"u32": 13, "str": 9}


def build(package, messages):
    """The message classes of a package, by name."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields.items(), 1):
            message.field.add(name=field, number=number, type=_TYPES[kind], label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}
