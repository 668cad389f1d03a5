"""Codecs: payloads to records and back, strictly (protocol section 2)."""

from schema.codecs.codec import Codec
from schema.codecs.faults import quote
from schema.codecs.json_codec import JsonCodec
from schema.codecs.msgpack_codec import MsgpackCodec
from schema.codecs.protobuf_codec import ProtobufCodec
from schema.errors import BrokerError

__all__ = ["CODECS", "PRESUMED", "Codec", "codec_for", "known_codec", "sniff", "taken_back"]

CODECS: dict[str, Codec] = {codec.content_type: codec for codec in (JsonCodec(), MsgpackCodec(), ProtobufCodec())}
"""Codec by content type."""

_NO_REQUEST = frozenset({"malformed", "unknown_field"})
"""What bytes are refused as that are no protobuf of a request, unless an id could be read in them."""
_SPACE = b"\t\n\r "
_BRACE = ord("{")
_MAP_MARKERS = frozenset((*range(0x80, 0x90), 0xDE, 0xDF))


def known_codec(content_type: str) -> Codec | None:
    """The codec a Content Type names, its parameters and case ignored; None if there is none."""
    return CODECS.get(content_type) or CODECS.get(content_type.partition(";")[0].strip().lower())


class _Presumed(dict[str, Codec]):
    """The codec for a reply to what may not be decodable, by Content Type: the one that it names, else JSON."""

    def __missing__(self, content_type: str) -> Codec:
        """Look into a Content Type that is not as it should be."""
        return known_codec(content_type) or self[""]


PRESUMED = _Presumed(CODECS | {"": CODECS[JsonCodec.content_type]})


def codec_for(content_type: str, payload: bytes) -> Codec:
    """The codec a Content Type names, its parameters and case ignored; the payload tells where there is none.

    Raises:
        BrokerError: `unsupported_codec`.
    """
    if not content_type:
        return PRESUMED[""] if payload and payload[0] == _BRACE else sniff(payload)
    if content_type in CODECS:
        return CODECS[content_type]
    codec = known_codec(content_type)
    if codec is None:
        known = ", ".join(CODECS)
        raise BrokerError("unsupported_codec", f"content type: {quote(content_type)} is none of {known}")
    return codec


def taken_back(content_type: str, codec: Codec, payload: bytes, refusal: BrokerError) -> tuple[Codec, BrokerError]:
    """The codec and the refusal of a payload that cannot be decoded.

    What has no Content Type, looks like no other codec and turns out to be no protobuf either is refused as JSON.
    """
    guessed = not content_type and codec is CODECS[ProtobufCodec.content_type]
    is_request = refusal.kind not in _NO_REQUEST or refusal.bare_id
    if not guessed or (is_request and not _is_text(payload)):
        return codec, refusal
    json_codec = CODECS[JsonCodec.content_type]
    try:
        json_codec.decode_request(payload)
    except BrokerError as of_json:
        refusal = of_json
    return json_codec, refusal


def _is_text(payload: bytes) -> bool:
    """Whether a payload is a word that is a request of protobuf by chance; one with an id begins with a line feed."""
    return payload.isascii() and payload.decode().isprintable()


def sniff(payload: bytes) -> Codec:
    """The codec of a payload by its first byte after white space; an empty one counts as JSON."""
    start = payload if payload and payload[0] == _BRACE else payload.lstrip(_SPACE)
    if not start or start[0] == _BRACE:
        return CODECS[JsonCodec.content_type]
    if start[0] in _MAP_MARKERS:
        return CODECS[MsgpackCodec.content_type]
    return CODECS[ProtobufCodec.content_type]
