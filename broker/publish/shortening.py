"""Documents and events that no packet can carry are told without their largest parts, which they name.

What is left out is null, and `left_out` has its path: `[{"path": "items.joint_parameters", "bytes": 81234}]`; the path
`*` is all of it.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from broker.publish.contents import EFFECTIVE

Document = dict[str, Any]
Shorten = Callable[[int], bytes]
"""Makes a payload of at most so many bytes; a larger one where that cannot be."""

_EVENT_PARTS = ("change.before", "change.after", "notification", "reason")
_PAST_PARTS = ("before", "after", "reason")
_WORTH = 64
"""Bytes of a part from which naming it takes less than it does."""
_KEPT = frozenset({"arm", "svc", "epoch", "rev", "seq", "at"})


def shortener(name: str, payload: bytes) -> Shorten:
    """What shortens a document of an arm, or of the service, given as JSON."""
    return partial(_effective if name == EFFECTIVE else _largest_first, payload)


def event_shortener(payload: bytes) -> Shorten:
    """What shortens an event or a notice, given as JSON."""
    return partial(shorten_event, payload)


def shorten_event(payload: bytes, room: int) -> bytes:
    """An event or a notice, given as JSON, in so many bytes, or in as few as can be."""
    return _encode(without(msgspec.json.decode(payload), _EVENT_PARTS, room))


def short_event(event: Document, room: int) -> Document:
    """An event without its values, as far as it needs to be to take so many bytes."""
    return without(event, _EVENT_PARTS, room)


def short_past(change: Document, room: int) -> Document:
    """An entry of GetHistory without its values, as far as it needs to be to take so many bytes."""
    return without(change, _PAST_PARTS, room)


def without(document: Document, paths: tuple[str, ...], room: int) -> Document:
    """A document without the first of these parts, as many as it takes for so many bytes."""
    left_out: list[Document] = []
    for path in paths:
        if len(_encode(document)) <= room:
            break
        document = _emptied(document, path, left_out)
    return document


def _largest_first(whole: bytes, room: int) -> bytes:
    """Leave out what is largest until the rest fits; everything, where only small parts are left."""
    left_out: list[Document] = []
    document: Document = msgspec.json.decode(whole)
    full, kept = len(_encode(document)), {key: value for key, value in document.items() if key in _KEPT}
    while len(payload := _encode(document)) > room:
        size, path = max(((len(_encode(value)), path) for path, value in _parts(document)), default=(0, ""))
        if size < _WORTH:
            return _encode({**kept, "left_out": [{"path": "*", "bytes": full}]})
        document = _emptied(document, path, left_out)
    return payload


def _effective(whole: bytes, room: int) -> bytes:
    """Leave out where the numbers come from; where that is not enough all of them, since a part would mislead."""
    left_out: list[Document] = []
    document: Document = msgspec.json.decode(whole)
    size = len(_encode(document))
    document = _emptied(document, "sources", left_out)
    if len(payload := _encode(document)) <= room:
        return payload
    kept = {key: value for key, value in document.items() if key in _KEPT}
    why = f"the numbers take {size} bytes, more than the MQTT server takes in a packet; Explain gives them"
    return _encode({**kept, "why": why})


def _parts(document: Document) -> Iterator[tuple[str, Any]]:
    """What may be left out: lists, and what stands in objects."""
    for key, value in document.items():
        if key in _KEPT or key == "left_out":
            continue
        if isinstance(value, dict):
            yield from ((f"{key}.{name}", one) for name, one in value.items())
        elif isinstance(value, list | str):
            yield key, value


def _emptied(document: Document, path: str, left_out: list[Document]) -> Document:
    """A copy with null in the place of a part, if there is one."""
    key, _, name = path.partition(".")
    value = document.get(key)
    part = (value.get(name) if isinstance(value, dict) else None) if name else value
    if part is None:
        return document
    left_out.append({"path": path, "bytes": len(_encode(part))})
    changed = {**value, name: None} if isinstance(value, dict) and name else None
    return {**document, key: changed, "left_out": left_out}


_encode = msgspec.json.Encoder().encode
