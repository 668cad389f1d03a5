"""The JSON documents of arms that speak MQTT: strict reading, bounded, into typed records."""

from typing import Annotated, Any, TypeVar

import msgspec

from schema.arms import Activity
from schema.codecs.faults import FaultError
from schema.codecs.json_codec import decode_json

PAYLOAD_MOST = 65_536
"""Most bytes of what an arm says."""
COMMAND_MOST = 16_384
"""Most bytes of what an arm is told."""
TEXT_MOST = 200
"""Most characters of a text for people; what is longer is cut."""
NUMBER_MOST = 2**53 - 1
"""Most of any counter: what every JSON library keeps exactly."""

Number = Annotated[int, msgspec.Meta(ge=1, le=NUMBER_MOST)]
Number0 = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MOST)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=r"^[ -~]*\Z")]
"""A short text of printable ASCII characters."""
Words = Annotated[str, msgspec.Meta(max_length=1_000)]
"""A text for people, before it is cut."""

T = TypeVar("T")
_ACTIVITIES = {activity.value: activity for activity in Activity}


class UnreadableError(Exception):
    """A message that breaks the protocol of arms that speak MQTT; the text names field and value."""


def read_plain(payload: bytes, most: int = PAYLOAD_MOST) -> Any:
    """The JSON document of a message.

    Raises:
        UnreadableError: too large, or no JSON.
    """
    if len(payload) > most:
        raise UnreadableError(f"{len(payload)} bytes > {most}")
    try:
        return decode_json(payload)
    except FaultError as fault:
        raise UnreadableError(fault.text) from None


def as_record(document: object, record: type[T]) -> T:
    """The record of a document.

    Raises:
        UnreadableError: a field is missing or wrong.
    """
    try:
        return msgspec.convert(document, record)
    except msgspec.ValidationError as error:
        raise UnreadableError(cut(str(error))) from None


def read_document(payload: bytes, record: type[T]) -> T:
    """The record of a message of an arm.

    Raises:
        UnreadableError: too large, no JSON object, or a field is missing or wrong.
    """
    return as_record(read_plain(payload), record)


def activity_of(word: str) -> Activity:
    """What an arm says that it does; words of a newer protocol say nothing to this version."""
    return _ACTIVITIES.get(word, Activity.UNKNOWN)


_ENCODE = msgspec.json.Encoder().encode


def write_document(document: dict[str, Any]) -> bytes:
    """The payload of a document; keys whose value is None are left out."""
    return _ENCODE({key: value for key, value in document.items() if value is not None})


def cut(text: str) -> str:
    """A text for people in one line of bounded length."""
    return "".join(each if each.isprintable() else "?" for each in text[:TEXT_MOST])
