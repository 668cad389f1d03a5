"""The MessagePack codec: the same documents as JSON."""

from collections.abc import Mapping
from typing import Any, NoReturn

import msgpack
import msgspec

from schema.codecs.envelope import read_envelope, with_id
from schema.codecs.faults import QUOTED, FaultError
from schema.codecs.large import Lifted, Numbers, lift_msgpack, read_numbers
from schema.codecs.parts import encoded_parts
from schema.codecs.plain_codec import PlainCodec, readable_id, unique_pairs
from schema.codecs.quick import MSGPACK_READERS
from schema.codecs.tree import check_tree
from schema.envelope import PAYLOAD_LIMIT, RequestEnvelope
from schema.messages import Message

_MOST_ITEMS = 8_192
"""A header that claims more is refused before memory is taken for it."""

_BOUNDS: dict[str, int] = {
    "max_str_len": PAYLOAD_LIMIT,
    "max_bin_len": PAYLOAD_LIMIT,
    "max_ext_len": PAYLOAD_LIMIT,
    "max_array_len": _MOST_ITEMS,
    "max_map_len": _MOST_ITEMS,
}


def _text_keys(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    for key, _ in pairs:
        if type(key) is not str:
            raise FaultError("malformed", "a key is no string")
    return unique_pairs(pairs)


def _no_extension(code: int, data: bytes) -> NoReturn:
    raise FaultError("malformed", f"extension type {code} ({len(data)} bytes) is not taken")


def _any_extension(_code: int, _data: bytes) -> None:
    """Something that is no id."""


def _decode(payload: bytes) -> Any:
    """The document of a payload, strictly.

    Raises:
        FaultError: `malformed`.
    """
    try:
        document = msgpack.unpackb(
            payload, raw=False, object_pairs_hook=_text_keys, ext_hook=_no_extension, strict_map_key=False, **_BOUNDS
        )
    except msgpack.ExtraData as error:
        raise FaultError("malformed", f"{len(error.extra)} bytes follow the document") from None
    except ValueError as error:
        raise FaultError("malformed", f"no MessagePack: {str(error)[:QUOTED] or type(error).__name__}") from None
    check_tree(document)
    return document


def _find_id(payload: bytes) -> object:
    """What stands as the id of a request that breaks a rule, if it can be read all the same; else None."""
    try:
        return readable_id(
            msgpack.unpackb(
                payload, raw=False, object_pairs_hook=list, ext_hook=_any_extension, strict_map_key=False, **_BOUNDS
            )
        )
    except ValueError:
        return None


class MsgpackCodec(PlainCodec):
    """Requests, replies and events as MessagePack."""

    name = "msgpack"
    content_type = "application/msgpack"

    def __init__(self) -> None:
        encode = msgspec.msgpack.Encoder().encode
        super().__init__(encode, encoded_parts(encode))

    def decode_request(self, payload: bytes) -> RequestEnvelope:
        """The envelope of a payload.

        Raises:
            BrokerError: `malformed`, `unknown_field` or `bad_request_field`, with `bare_id` where it was readable.
        """
        try:
            document = _decode(payload)
        except FaultError as fault:
            raise with_id(fault.as_refusal(), _find_id(payload)) from None
        return read_envelope(document)

    def decode_whole(self, payload: bytes, cls: type[Message]) -> tuple[RequestEnvelope, Message] | None:
        """Envelope and params in one step; None for a payload that has to be read strictly."""
        return MSGPACK_READERS[cls](payload)

    def lift(self, payload: bytes, names: Mapping[str, int]) -> Lifted:
        """A request without the long lists of numbers of these names in its params, and those lists."""
        return lift_msgpack(payload, names)

    def decode_numbers(self, document: bytes, name: str, depth: int) -> Numbers:
        """A lifted list, of numbers (`depth` 1) or of lists of numbers (2); they may be NaN or infinite.

        Raises:
            BrokerError: `malformed` or `not_finite`, naming the path.
        """
        return read_numbers(msgspec.msgpack.decode, document, name, depth)
