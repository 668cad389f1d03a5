"""Requests of JSON and MessagePack read in one typed step.

A quick reader makes of a payload what the strict one makes of it, or nothing at all: what is unusual is left to the
strict reader, which finds every fault and names it. Unusual is what is wrong in any way, and some of what is right: an
id that is a number, an escape in a text, white space before a colon.

A key that is given twice is found by counting: where no text holds an escape, `":` stands once for each key of a JSON
document; a map of MessagePack says how many keys it has.
"""

import re
from collections.abc import Callable
from operator import methodcaller
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import astuple

from schema.codecs.envelope import FIELDS, ID
from schema.codecs.quick_fields import UNUSUAL, Form, UnusualError, builder_of, reader_of
from schema.envelope import RequestEnvelope
from schema.messages import Message

Whole = Callable[[bytes], tuple[RequestEnvelope, Message] | None]
"""The envelope, without its params, and the message of the params; None for an unusual payload."""

_SPACED = re.compile(rb'"[ \t\r\n]+:').search
_FIX_MAP, _FIX_MOST, _MAP_16 = 0x80, 0x0F, 0xDE
_OPTIONS = [(name, *FIELDS[name]) for name in FIELDS if name not in ("id", "params")]
_NO_OPTIONS = (UNSET,) * len(_OPTIONS)
_is_id = ID.fullmatch


def _msgpack_keys(document: bytes) -> int:
    head = document[0]
    if head & ~_FIX_MOST == _FIX_MAP:
        return head & _FIX_MOST
    if head != _MAP_16:
        raise UnusualError
    return document[1] << 8 | document[2]


def json_keys(payload: bytes) -> int:
    """The keys of a JSON payload.

    Raises:
        UnusualError: they cannot be counted, or something follows its document.
    """
    keys = payload.count(b'":')
    if payload[-1:] != b"}" or b"\\" in payload or (payload.count(b":") != keys and _SPACED(payload) is not None):
        raise UnusualError
    return keys


class Readers(dict[type[Message], Whole]):
    """Reads whole requests, by the class of their params."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self._form = form

    def __missing__(self, cls: type[Message]) -> Whole:
        """Look at a class for the first time."""
        read = self[cls] = _whole_reader(cls, self._form)
        return read


JSON = Form(lambda cls: msgspec.json.Decoder(cls).decode, json_keys, methodcaller("count", b'":'), True, True)
MSGPACK = Form(lambda cls: msgspec.msgpack.Decoder(cls).decode, _msgpack_keys, _msgpack_keys, False, False)
JSON_READERS, MSGPACK_READERS = Readers(JSON), Readers(MSGPACK)


def _whole_reader(cls: type[Message], form: Form) -> Whole:
    """Reads whole requests whose params are a message of this class."""
    read, built = reader_of(cls, form), builder_of(cls, form)
    if read is None or built is None:
        return _nothing
    deep, (params_shape, build) = form.deep, built
    decode, keys_of, within = form.decoder(_shape(params_shape if deep else Raw)), form.keys, form.keys_within

    def whole(payload: bytes) -> tuple[RequestEnvelope, Message] | None:
        try:
            values = astuple(decode(payload))
            keys, bare_id, params, options = keys_of(payload), values[0], values[1], values[2:]
            if bare_id is UNSET:
                bare_id = ""
            elif type(bare_id) is str and _is_id(bare_id):
                keys -= 1
            else:
                return None
            if options == _NO_OPTIONS:
                envelope = RequestEnvelope(bare_id)
            else:
                envelope = _with_options(bare_id, options)
                keys -= len(options) - options.count(UNSET)
            if params is UNSET:
                return None if keys else (envelope, cls())
            if deep:  # what is left are the keys of the params
                return envelope, build(astuple(params), keys - 1)
            if keys != 1:
                return None
            document = bytes(params)
            return envelope, read(document, within(document))
        except UNUSUAL:
            return None

    return whole


def _shape(params: Any) -> type[msgspec.Struct]:
    """What a request is decoded as; UNSET where something is not there."""
    options = [(name, Any, UNSET) for name, _, _ in _OPTIONS]
    fields = [("id", Any, UNSET), ("params", params | UnsetType, UNSET), *options]
    return msgspec.defstruct("Request", fields, forbid_unknown_fields=True)


def _nothing(_payload: bytes) -> None:
    """Reads no request."""


def _with_options(bare_id: str, options: tuple[Any, ...]) -> RequestEnvelope:
    """The envelope of an id and options, without its params; an unusual one raises."""
    given = {
        field: read(value) for (_, field, read), value in zip(_OPTIONS, options, strict=True) if value is not UNSET
    }
    return RequestEnvelope(bare_id, **given)
