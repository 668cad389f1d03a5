"""Requests beyond the ordinary size: long lists of numbers are taken out of the params and decoded by themselves.

What is left is an ordinary request with 0 in their place, and is decoded as one, with all its rules.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from schema.codecs.faults import FaultError

_LEAST = 64
"""A shorter document stays where it is; also how many bytes of a longer one are searched for."""
_QUOTED = 200
"""Most characters of what a decoder says."""
_BEYOND_DOUBLE = "Number out of range"
_ROWS = 2
_LISTS: dict[int, Any] = {1: tuple[float, ...], _ROWS: tuple[tuple[float, ...], ...]}
"""Types of lists of numbers by depth; tuples, as the garbage collector passes them by."""

_SPACES = b" \t\r\n"
_OF_NUMBERS = b"0123456789+-.eE" + _SPACES


class Grid(NamedTuple):
    """Lists of numbers of one length, one after the other."""

    numbers: list[float]
    width: int


Numbers = tuple[Any, ...] | Grid
"""Numbers, or tuples of numbers, or a grid of them."""


class Lifted(NamedTuple):
    """A document without long lists of numbers, and the document of each list by its name."""

    payload: bytes
    lists: dict[str, bytes]


Lift = Callable[[bytes, Mapping[str, int]], Lifted]


class _Request(msgspec.Struct):
    """The only field of a request that is looked into."""

    params: dict[str, msgspec.Raw]


def lift_json(document: bytes, names: Mapping[str, int]) -> Lifted:
    """Take the lists of these names out of a document: neither quotes nor braces stand in a list of numbers."""
    lists = {}
    for name in names:
        found = re.search(rb'"%b"[ \t\r\n]*+:[ \t\r\n]*+\[' % name.encode(), document)
        if found is None:
            continue
        start = found.end() - 1
        ends = [at for at in (document.find(b'"', start), document.find(b"}", start)) if at >= 0]
        part = document[start : document.rfind(b"]", start, min(ends, default=None)) + 1]
        if len(part) > _LEAST:
            document = document[:start] + b"0" + document[start + len(part) :]
            lists[name] = part
    return Lifted(document, lists)


def lift_msgpack(document: bytes, names: Mapping[str, int]) -> Lifted:
    """Take the lists of these names out of the params of a request; what cannot be read as one stays as it is."""
    lists = {}
    try:
        params = msgspec.msgpack.decode(document, type=_Request).params
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return Lifted(document, {})
    for name in names:
        part = bytes(params.get(name, b""))
        at = _place(document, part) if len(part) > _LEAST else -1
        if at >= 0:
            document = document[:at] + b"\0" + document[at + len(part) :]
            lists[name] = part
    return Lifted(document, lists)


def _place(document: bytes, part: bytes) -> int:
    """Where a part of a document begins; -1 where it is not."""
    start = part[:_LEAST]
    at = document.find(start)
    while at >= 0 and not document.startswith(part, at):
        at = document.find(start, at + 1)
    return at


def read_numbers(decode: Callable[..., Any], document: bytes, name: str, depth: int) -> Numbers:
    """The numbers of a lifted list, or of a list of lists (`depth` 2); those of MessagePack may be NaN or infinite.

    Raises:
        BrokerError: `malformed` or `not_finite`.
    """
    try:
        numbers: Numbers = decode(document, type=_LISTS[depth])
    except (msgspec.MsgspecError, RecursionError) as error:
        text = str(error)[:_QUOTED]
        kind = "not_finite" if text.startswith(_BEYOND_DOUBLE) else "malformed"
        raise FaultError(kind, text).as_refusal(f"params.{name}") from None
    return numbers


def read_json_numbers(document: bytes, name: str, depth: int) -> Numbers:
    """As `read_numbers` of JSON; lists of one length come as a grid.

    Raises:
        BrokerError: `malformed` or `not_finite`.
    """
    grid = read_grid(document) if depth == _ROWS else None
    return read_numbers(msgspec.json.decode, document, name, depth) if grid is None else grid


def read_grid(document: bytes) -> Grid | None:
    """The numbers of a JSON list of lists of one length, much faster than list by list; None for any other document."""
    rows, width = _shape(document)
    if not rows:
        return None
    try:
        numbers: list[float] = _decode_flat(b"[" + document.translate(None, b"[]") + b"]")
    except msgspec.MsgspecError:
        return None
    return Grid(numbers, width) if len(numbers) == rows * width else None


_decode_flat = msgspec.json.Decoder(list[float]).decode


def _shape(document: bytes) -> tuple[int, int]:
    """How many lists, and how long, a list of lists holds by its brackets and commas; zeros where they do not fit.

    A bracket stands nowhere but at the two ends and in `],[`, so that no number is cut or joined without them.
    """
    frame = document.translate(None, _OF_NUMBERS)
    rows, width = frame.count(b"[") - 1, frame.find(b"]") - 1
    if rows < 1 or frame != b"[" + b",".join([b"[" + b"," * (width - 1) + b"]"] * rows) + b"]":
        return 0, 0
    bare = document.translate(None, _SPACES)
    fits = bare.startswith(b"[[") and bare.endswith(b"]]") and bare.count(b"],[") == rows - 1
    return (rows, width) if fits else (0, 0)
