"""Requests of protobuf read in one step; `schema.codecs.quick` says what that means."""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from google.protobuf.message import Message as Generated

from schema.codecs.envelope import ID
from schema.codecs.quick import JSON
from schema.codecs.quick_fields import UNUSUAL, UnusualError, finite, finite32, finite32_list, finite_list, reader_of
from schema.codecs.registry import MESSAGES
from schema.envelope import RequestEnvelope
from schema.fields import Field, Kind, fields_of
from schema.messages import Message
from schema.proto.armbroker.v1 import armbroker_pb2 as wire

Read = Callable[[Generated], Any]
_NUMBERS = {Kind.FLOAT32: (finite32, finite32_list), Kind.DOUBLE: (finite, finite_list)}
"""What is made of a number, and of a list of them."""


class _Plan(NamedTuple):
    """What is made of a value (None: it is right as it is); `presence`: it may be absent."""

    make: Any
    presence: bool = False


def decode_whole(payload: bytes, cls: type[Message]) -> tuple[RequestEnvelope, Message] | None:
    """Envelope and params of a request with nothing but an id and params; None for every other payload."""
    try:
        request = _known(payload, wire.Request)
        bare_id, params = request.id, request.params
        if not ID.fullmatch(bare_id) or len(request.ListFields()) != (2 if params else 1):
            return None
        return RequestEnvelope(bare_id), _message(params, cls) if params else cls()
    except (DecodeError, *UNUSUAL):
        return None


def _message(document: bytes, cls: type[Message]) -> Message:
    """The message of params, UTF-8 JSON where it has no proto."""
    if cls in MESSAGES:
        message: Message = _reader(cls)(_known(document, MESSAGES[cls]))
        return message
    read = reader_of(cls, JSON)
    if read is None:
        raise UnusualError
    found: Message = read(document, JSON.keys(document))
    return found


def _known(payload: bytes, cls: Any) -> Any:
    """The generated message of bytes that hold no unknown field at any depth."""
    message = cls.FromString(payload)
    size = message.ByteSize()
    message.DiscardUnknownFields()
    if message.ByteSize() != size:
        raise UnusualError
    return message


def _plan(field: Field) -> _Plan:
    if field.kind is Kind.MESSAGE:
        return _Plan(_reader(field.type), field.optional)
    if field.kind is Kind.ENUM:
        return _Plan({member.value: member for member in field.type}.__getitem__, field.optional)
    number, numbers = _NUMBERS.get(field.kind, (None, tuple))
    return _Plan(numbers if field.repeated else number, field.optional)


@cache
def _reader(cls: type[Message]) -> Read:
    """Reads the generated message of a record class without maps, and without lists of messages or enums."""
    fields = fields_of(cls)
    if any(field.key is not None or (field.repeated and field.kind in (Kind.MESSAGE, Kind.ENUM)) for field in fields):
        return _unusual
    plans = [_plan(field) for field in fields]
    if len(fields) > 1 and all(plan == (finite32, False) for plan in plans):
        values_of = attrgetter(*(field.name for field in fields))
        return lambda message: cls(*finite32_list(values_of(message)))
    rows = [(field.name, plan.make, plan.presence) for field, plan in zip(fields, plans, strict=True)]

    def read(message: Generated) -> Message:
        given = {}
        for name, make, presence in rows:
            if not presence or message.HasField(name):
                value = getattr(message, name)
                given[name] = value if make is None else make(value)
        return cls(**given)

    return read


def _unusual(message: Generated) -> Message:
    raise UnusualError(message.DESCRIPTOR.name)
