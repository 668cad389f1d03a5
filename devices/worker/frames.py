"""Frames between the service and a worker process: a length (u32, big-endian), then one JSON object in UTF-8."""

import json
import struct
from collections.abc import Mapping
from typing import Any

from devices.adapter import ArmUnreadableError

MOST_BYTES = 1 << 20
"""The longest JSON object."""
_LENGTH = struct.Struct(">I")

Document = dict[str, Any]
"""What one frame holds."""


class FrameError(ArmUnreadableError):
    """What came is no frame, or what should be sent makes none; the stream is out of step from there on."""


def encode(document: Mapping[str, Any]) -> bytes:
    """The frame of an object.

    Raises:
        FrameError: it is longer than MOST_BYTES, or no JSON object.
    """
    try:
        body = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise FrameError(f"no JSON object: {error}") from None
    if len(body) > MOST_BYTES:
        raise FrameError(f"{len(body)} bytes exceed the {MOST_BYTES} of a frame")
    return _LENGTH.pack(len(body)) + body


class Decoder:
    """Puts the objects of frames together from bytes as they come."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Document]:
        """The objects that are complete now, in order.

        Raises:
            FrameError: a length beyond MOST_BYTES, or a body that is no JSON object.
        """
        self._buffer += data
        found = []
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > MOST_BYTES:
                raise FrameError(f"a frame of {length} bytes exceeds {MOST_BYTES}")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                break
            found.append(_object(bytes(self._buffer[_LENGTH.size : end])))
            del self._buffer[:end]
        return found


def _object(body: bytes) -> Document:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise FrameError("a frame is no JSON object")
    return document
