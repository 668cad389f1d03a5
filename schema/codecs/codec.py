"""What a codec does."""

from collections.abc import Mapping
from typing import Any, Protocol

from schema.codecs.large import Lifted, Numbers
from schema.envelope import Event, Reply, RequestEnvelope
from schema.messages import Message


class Codec(Protocol):
    """One wire format of requests, replies and events."""

    name: str
    content_type: str

    def decode_request(self, payload: bytes) -> RequestEnvelope:
        """The envelope of a payload of at most 64 KiB.

        Raises:
            BrokerError: `malformed`, `unknown_field` or `bad_request_field`, with `bare_id` where it was readable.
        """
        ...

    def decode_whole(self, payload: bytes, cls: type[Message]) -> tuple[RequestEnvelope, Message] | None:
        """What `decode_request` (without `params`) and `decode_params` give, in one step.

        None for a payload that has to be read by them: it is refused, or unusual.
        """
        ...

    def lift(self, payload: bytes, names: Mapping[str, int]) -> Lifted:
        """A request without the long lists of numbers of these names in its params, and those lists."""
        ...

    def decode_numbers(self, document: bytes, name: str, depth: int) -> Numbers:
        """A lifted list, of numbers (`depth` 1) or of lists of numbers (2); MessagePack may hold NaN and infinity.

        Raises:
            BrokerError: `malformed` or `not_finite`, naming the path.
        """
        ...

    def decode_params(self, raw: object, cls: type[Message]) -> Message:
        """The message of the params of an envelope; None is the empty message.

        Raises:
            BrokerError: `malformed`, `unknown_field`, `unknown_enum` or `not_finite`, naming the path.
        """
        ...

    def decode_plain_params(self, raw: object) -> dict[str, Any]:
        """The params of a method without a message; None is the empty object.

        Raises:
            BrokerError: `malformed` or `not_finite`.
        """
        ...

    def encode_reply(self, reply: Reply) -> bytes:
        """The payload of a reply."""
        ...

    def encode_event(self, event: Event) -> bytes:
        """The payload of an event."""
        ...

    def encode_document(self, document: dict[str, Any]) -> bytes:
        """The payload of a plain document."""
        ...
