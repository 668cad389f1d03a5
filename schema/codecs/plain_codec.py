"""What the codecs of plain documents share."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from schema.codecs.documents import event_document, reply_document
from schema.codecs.faults import FaultError, quote
from schema.codecs.parts import Parts
from schema.codecs.plain import from_plain
from schema.codecs.tree import check_tree
from schema.envelope import Event, Reply
from schema.errors import BrokerError
from schema.messages import Message


class PlainCodec:
    """Everything but the bytes of a request; `encode` makes the bytes of a document, `parts` are made by it."""

    def __init__(self, encode: Callable[[Any], bytes], parts: Parts) -> None:
        self._encode = encode
        self._parts = parts

    def decode_params(self, raw: object, cls: type[Message]) -> Message:
        """The message of the params of an envelope; None is the empty message.

        Raises:
            BrokerError: `malformed`, `unknown_field`, `unknown_enum` or `not_finite`, naming the path.
        """
        return cls() if raw is None else from_plain(raw, cls, "params")

    def decode_plain_params(self, raw: object) -> dict[str, Any]:
        """The params of a method without a message.

        Raises:
            BrokerError: `malformed` or `not_finite`.
        """
        return plain_params(raw)

    def encode_reply(self, reply: Reply) -> bytes:
        """The payload of a reply."""
        return self._encode(reply_document(reply, self._parts))

    def encode_event(self, event: Event) -> bytes:
        """The payload of an event."""
        return self._encode(event_document(event, self._parts))

    def encode_document(self, document: dict[str, Any]) -> bytes:
        """The payload of a plain document."""
        return self._encode(document)


def plain_params(raw: object) -> dict[str, Any]:
    """Decoded params of a method without a message: an object of finite numbers; None is empty.

    Raises:
        BrokerError: `malformed` or `not_finite`.
    """
    if raw is None:
        return {}
    if type(raw) is not dict:
        raise BrokerError("malformed", "params: an object is needed")
    try:
        check_tree(raw, finite=True)
    except FaultError as fault:
        raise fault.as_refusal("params") from None
    return raw


def unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of key-value pairs.

    Raises:
        FaultError: `malformed`: a key is given twice.
    """
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise FaultError("malformed", f"key {quote(twice)} is given twice")
    return mapping


def readable_id(pairs: object) -> object:
    """What stands as the one id among the pairs of a request that breaks a rule somewhere; None if there is none."""
    if type(pairs) is not list:
        return None
    ids = [pair[1] for pair in pairs if type(pair) is tuple and pair[0] == "id"]
    return ids[0] if len(ids) == 1 else None
