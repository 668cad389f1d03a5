"""Records as the opaque bytes of the store, and back."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from handlers.state.provenance import NOBODY, Setter
from schema.arms import Description, JointInfo
from schema.codecs.plain import from_plain, to_plain
from schema.messages import KinematicLimits, Message

_decode_setters = msgspec.json.Decoder(tuple[Setter, Setter]).decode
_encode = msgspec.json.Encoder().encode


@lru_cache(maxsize=8192)
def shared(message: Message) -> Message:
    """A message that says the same, one for many arms: 10,000 arms of one model hold the same numbers."""
    return message


pack_setters: Callable[[tuple[Setter, Setter]], bytes] = _encode
"""Who set the desired and the reported value of a slot, as JSON bytes."""


@lru_cache(maxsize=256)
def unpack_setters(blob: bytes) -> tuple[Setter, Setter]:
    """The setters in bytes of `pack_setters`; no bytes, as of an older store: nobody knows who."""
    return _decode_setters(blob) if blob else (NOBODY, NOBODY)


@lru_cache(maxsize=1024)
def _shared_joints(joints: tuple[JointInfo, ...]) -> tuple[JointInfo, ...]:
    """Joints that are the same, once for many arms."""
    return joints


def pack_description(description: Description, told_at_us: int) -> bytes:
    """A description as JSON bytes, with when the arm told of its hard limits as they are."""
    document: dict[str, Any] = msgspec.to_builtins(
        msgspec.structs.replace(description, hard_limits=KinematicLimits(), fence=(0, 0))
    )
    document["hard_limits"] = to_plain(description.hard_limits)
    document["told_at_us"] = told_at_us
    return _encode(document)


def unpack_description(blob: bytes) -> tuple[Description, int]:
    """The description in bytes of `pack_description`, and when it was told; 0 in an older store."""
    document = msgspec.json.decode(blob)
    limits = from_plain(document["hard_limits"], KinematicLimits)
    limits = shared(limits)
    if not isinstance(limits, KinematicLimits):  # from_plain yields the class it is given
        raise TypeError(type(limits).__name__)
    description = Description(
        model=document["model"],
        serial=document["serial"],
        firmware=document["firmware"],
        joints=_shared_joints(tuple(JointInfo(**joint) for joint in document["joints"])),
        hard_limits=limits,
        hard_source=document["hard_source"],
        payload_max=document["payload_max"],
        modes_settable=tuple(document["modes_settable"]),
        notes=tuple(document["notes"]),
    )
    return description, document.get("told_at_us", 0)
