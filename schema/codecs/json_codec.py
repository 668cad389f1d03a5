"""The JSON codec."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NoReturn

import msgspec

from schema.codecs.envelope import read_envelope, with_id
from schema.codecs.faults import FaultError
from schema.codecs.large import Lifted, Numbers, lift_json, read_json_numbers
from schema.codecs.parts import Parts, is_exact
from schema.codecs.plain import bare, from_plain, to_plain
from schema.codecs.plain_codec import PlainCodec, readable_id, unique_pairs
from schema.codecs.quick import JSON_READERS
from schema.codecs.tree import DEPTH_LIMIT, check_tree
from schema.envelope import RequestEnvelope
from schema.messages import Message

_encode = msgspec.json.Encoder().encode
_PADDING = b" \t\r\n\0"


def _no_constant(token: str) -> NoReturn:
    raise FaultError("malformed", f"{token} is no JSON number")


_STRICT = json.JSONDecoder(object_pairs_hook=unique_pairs, parse_constant=_no_constant)
_LONGEST_INTEGER = 20


def _short_integer(digits: str) -> float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


_LENIENT = json.JSONDecoder(object_pairs_hook=list, parse_int=_short_integer)


_ENCODINGS = (
    (b"\xef\xbb\xbf", "a byte-order mark (EF BB BF) stands before the document; send UTF-8 without one"),
    (b"\xff\xfe", "this is UTF-16 with a byte-order mark (FF FE); send UTF-8"),
    (b"\xfe\xff", "this is UTF-16 with a byte-order mark (FE FF); send UTF-8"),
    (b"{\0", "this looks like UTF-16; send UTF-8"),
    (b"\0{", "this looks like UTF-16, or a NUL stands before the document; send UTF-8"),
)
"""What wrong encodings begin with, and words for them."""


def _encoding(payload: bytes) -> str:
    """Words for the encoding that a payload is in by mistake; empty where that is not plain to see."""
    return next((f": {words}" for start, words in _ENCODINGS if payload.startswith(start)), "")


def decode_json(payload: bytes) -> Any:
    """The document of UTF-8 text, strictly: no duplicate key, NaN, Infinity, lone surrogate or depth over 16.

    Raises:
        FaultError: `malformed`.
    """
    try:
        text = payload.decode()
        document = _STRICT.decode(text)
    except UnicodeDecodeError as error:
        raise FaultError("malformed", f"no UTF-8 at byte {error.start}{_encoding(payload)}") from None
    except json.JSONDecodeError as error:
        raise FaultError("malformed", f"no JSON at character {error.pos}: {error.msg}{_encoding(payload)}") from None
    except RecursionError:
        raise FaultError("malformed", f"nested deeper than {DEPTH_LIMIT}") from None
    except ValueError:
        raise FaultError("malformed", "an integer has too many digits") from None
    if text.count("{") + text.count("[") > DEPTH_LIMIT or "\\u" in text:
        check_tree(document)
    return document


def _find_id(payload: bytes) -> object:
    """What stands as the id of a request that breaks a rule, if it can be read all the same; else None."""
    try:
        return readable_id(_LENIENT.decode(payload.decode()))
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=8192)
def pack(record: Message) -> bytes:
    """A record alone, as it is kept in the store."""
    return _encode(to_plain(record))


def _part(value: Message, value_field: str) -> msgspec.Raw:
    """A part of a document; a whole record as `pack` has it, where that tells all records apart."""
    whole = not value_field and is_exact(type(value))
    return msgspec.Raw(pack(value) if whole else _encode(bare(value, value_field)))


JSON_PARTS = Parts(_part)
"""Values as they stand in documents that are encoded as JSON."""


@lru_cache(maxsize=8192)
def unpack(document: bytes, cls: type[Message]) -> Message:
    """The record in bytes of `pack`; raises BrokerError as `from_plain`, or msgspec.DecodeError."""
    return from_plain(msgspec.json.decode(document), cls)


class JsonCodec(PlainCodec):
    """Requests, replies and events as JSON."""

    name = "json"
    content_type = "application/json"

    def __init__(self) -> None:
        super().__init__(_encode, JSON_PARTS)

    def decode_request(self, payload: bytes) -> RequestEnvelope:
        """The envelope of a payload; white space and NULs after the document are cut (`padded`).

        Raises:
            BrokerError: `malformed`, `unknown_field` or `bad_request_field`, with `bare_id` where it was readable.
        """
        document_bytes = payload.rstrip(_PADDING)
        try:
            document = decode_json(document_bytes)
        except FaultError as fault:
            raise with_id(fault.as_refusal(), _find_id(document_bytes)) from None
        return read_envelope(document, padded=len(document_bytes) != len(payload))

    def decode_whole(self, payload: bytes, cls: type[Message]) -> tuple[RequestEnvelope, Message] | None:
        """Envelope and params in one step; None for a payload that has to be read strictly."""
        return JSON_READERS[cls](payload)

    def lift(self, payload: bytes, names: Mapping[str, int]) -> Lifted:
        """A request without the long lists of numbers of these names in its params, and those lists."""
        return lift_json(payload, names)

    def decode_numbers(self, document: bytes, name: str, depth: int) -> Numbers:
        """A lifted list, of numbers (`depth` 1) or of lists of numbers (2).

        Raises:
            BrokerError: `malformed` or `not_finite`, naming the path.
        """
        return read_json_numbers(document, name, depth)
