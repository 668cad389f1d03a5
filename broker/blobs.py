"""Records as the opaque bytes of the store, and back."""

from functools import lru_cache
from typing import Any

import msgspec

from schema.arms import Description, JointInfo
from schema.codecs.plain import from_plain, to_plain
from schema.messages import KinematicLimits, Message

_encode = msgspec.json.Encoder().encode


@lru_cache(maxsize=8192)
def pack(message: Message) -> bytes:
    """A message as JSON bytes."""
    return _encode(to_plain(message))


def unpack(blob: bytes, cls: type[Message]) -> Message:
    """The message in bytes of `pack`."""
    return from_plain(msgspec.json.decode(blob), cls)


def pack_description(description: Description) -> bytes:
    """A description as JSON bytes."""
    document: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(description, hard_limits=KinematicLimits()))
    document["hard_limits"] = to_plain(description.hard_limits)
    return _encode(document)


def unpack_description(blob: bytes) -> Description:
    """The description in bytes of `pack_description`."""
    document = msgspec.json.decode(blob)
    limits = from_plain(document["hard_limits"], KinematicLimits)
    if not isinstance(limits, KinematicLimits):  # from_plain yields the class it is given
        raise TypeError(type(limits).__name__)
    return Description(
        model=document["model"],
        serial=document["serial"],
        firmware=document["firmware"],
        joints=tuple(JointInfo(**joint) for joint in document["joints"]),
        hard_limits=limits,
        hard_source=document["hard_source"],
        payload_max=document["payload_max"],
        modes_settable=tuple(document["modes_settable"]),
        notes=tuple(document["notes"]),
    )
