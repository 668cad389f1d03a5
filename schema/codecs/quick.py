"""Requests of JSON and MessagePack read in one typed step.

A quick reader makes of a payload what the strict one makes of it, or nothing at all: what is unusual is left to the
strict reader, which finds every fault and names it. Unusual is what is wrong in any way, and some of what is right: an
id that is a number, an escape in a text, white space before a colon.

A key that is given twice is found by counting: where no text holds an escape, `":` stands once for each key of a JSON
document; a map of MessagePack says how many keys it has.
"""

import re
from collections.abc import Callable
from functools import cache
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
_VALUES = 2 + len(_OPTIONS)


def _msgpack_keys(document: bytes) -> int:
    head = document[0]
    if head & ~_FIX_MOST == _FIX_MAP:
        return head & _FIX_MOST
    if head != _MAP_16:
        raise UnusualError
    return document[1] << 8 | document[2]


JSON = Form(lambda cls: msgspec.json.Decoder(cls).decode, methodcaller("count", b'":'), True, True)
MSGPACK = Form(lambda cls: msgspec.msgpack.Decoder(cls).decode, _msgpack_keys, False, False)


def is_countable_json(payload: bytes) -> bool:
    """Whether the keys of a JSON payload can be counted, and nothing follows its document."""
    if payload[-1:] != b"}" or b"\\" in payload:
        return False
    return payload.count(b":") == payload.count(b'":') or _SPACED(payload) is None


@cache
def whole_reader(cls: type[Message], form: Form) -> Whole:
    """Reads whole requests whose params are a message of this class."""
    read, built = reader_of(cls, form), builder_of(cls, form)
    if read is None or built is None:
        return _nothing
    deep, (params_shape, build) = form.deep, built
    shape = msgspec.defstruct(
        "Request",
        [
            ("id", Any, UNSET),
            ("params", (params_shape if deep else Raw) | UnsetType, UNSET),
            *[(name, Any, UNSET) for name, _, _ in _OPTIONS],
        ],
        forbid_unknown_fields=True,
    )
    decode, keys = form.decoder(shape), form.keys

    def whole(payload: bytes) -> tuple[RequestEnvelope, Message] | None:
        try:
            values = astuple(decode(payload))
            left, params = keys(payload) - _VALUES + values.count(UNSET), values[1]
            if deep and params is not UNSET:  # what is left are the keys of the params
                return _envelope(values), build(astuple(params), left)
            if left:
                return None
            if params is UNSET:
                return _envelope(values), cls()
            document = bytes(params)
            return _envelope(values), read(document, keys(document))
        except UNUSUAL:
            return None

    return whole


def _nothing(_payload: bytes) -> None:
    """Reads no request."""


def _envelope(values: tuple[Any, ...]) -> RequestEnvelope:
    """The envelope of an id, params that are looked at elsewhere, and options; an unusual one raises."""
    bare_id, options = values[0], values[2:]
    if bare_id is UNSET:
        bare_id = ""
    elif type(bare_id) is not str or not ID.fullmatch(bare_id):
        raise UnusualError
    if options == _NO_OPTIONS:
        return RequestEnvelope(bare_id)
    given = {
        field: read(value) for (_, field, read), value in zip(_OPTIONS, options, strict=True) if value is not UNSET
    }
    return RequestEnvelope(bare_id, **given)
