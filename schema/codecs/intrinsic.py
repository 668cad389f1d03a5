"""Protobuf bytes of `intrinsic_proto` records: numbers as they are, since NaN and infinity mean something there."""

from typing import TypeVar, cast

from schema.codecs.faults import FaultError
from schema.codecs.protobuf import decode_message, parse, refuse_unknown
from schema.codecs.registry import MESSAGES
from schema.messages import Message

RecordT = TypeVar("RecordT", bound=Message)


def decode_intrinsic(payload: bytes, cls: type[RecordT], *, drop_unknown: bool = False) -> RecordT:
    """The record of the bytes of its proto message; unknown enum numbers are kept.

    With `drop_unknown` fields that the message has not are left out, the retired 3 and 4 of Joint among them.

    Raises:
        BrokerError: `malformed` or `unknown_field`.
    """
    if not drop_unknown:
        try:
            refuse_unknown(parse(payload, MESSAGES[cls]), payload)
        except FaultError as fault:
            raise fault.as_refusal("") from None
    return cast("RecordT", decode_message(payload, cls, strict=False))
