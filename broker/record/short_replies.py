"""Replies for clients of little memory: no message texts, at most one violation, at most 512 bytes."""

from collections.abc import Callable

import msgspec

from broker.record.fitting import fit
from schema.codecs.codec import Codec
from schema.envelope import ErrorBody, Reply, Warned
from schema.errors import BrokerError

SHORT_MOST = 512
"""Bytes of a short reply at most."""


class _Curt:
    """Encodes replies of a codec without texts."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def encode_reply(self, reply: Reply) -> bytes:
        """The payload of a reply, curtly."""
        return self._codec.encode_reply(curt(reply))


def curt(reply: Reply) -> Reply:
    """A reply without its texts, and with one violation at most."""
    warnings = tuple(Warned(warning.name, "", warning.path) for warning in reply.warnings)
    error = reply.error
    if error is not None:
        error = msgspec.structs.replace(error, message="", violations=error.violations[:1])
    return msgspec.structs.replace(reply, warnings=warnings, error=error)


def short(reply: Reply, codec: Codec, error_of: Callable[[BrokerError], ErrorBody]) -> bytes:
    """The payload of a short reply; `error_of` makes the error of a reply."""
    return fit(curt(reply), _Curt(codec), error_of, SHORT_MOST)
