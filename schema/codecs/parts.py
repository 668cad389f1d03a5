"""Values as parts of documents, encoded once however often they are told: in replies, events, notices and states."""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from msgspec import Raw

from schema.codecs.plain import bare
from schema.fields import Kind, fields_of
from schema.messages import Message

_KEPT = 2_048
"""So many values of each record class are remembered."""
_INEXACT = frozenset({Kind.DOUBLE, Kind.PARAMETER})
Part = Callable[[Any, str], Any]


@cache
def is_exact(cls: type[Message]) -> bool:
    """Whether equal records of a class are written alike: 0.0 equals -0.0, and 1.0 true, where a field takes both."""
    return all(
        field.key is None and field.kind not in _INEXACT and (field.kind is not Kind.MESSAGE or is_exact(field.type))
        for field in fields_of(cls)
    )


class Parts(dict[type, Part]):
    """How a value of each class stands in a document: `parts[type(value)](value, value_field)`.

    That is the whole record without a `value_field`, else that field alone; what `make` makes of it is remembered.
    """

    def __init__(self, make: Part) -> None:
        super().__init__({type(None): _nothing})
        self._make = make

    def __missing__(self, cls: type[Message]) -> Part:
        """Look at a class for the first time."""
        part = self[cls] = lru_cache(maxsize=_KEPT)(self._make) if is_exact(cls) else self._make
        return part


def _nothing(_value: None, _value_field: str) -> None:
    """The part of a value that is not there."""


def encoded_parts(encode: Callable[[Any], bytes]) -> Parts:
    """Parts ready for documents that are encoded the same way."""
    return Parts(lambda value, value_field: Raw(encode(bare(value, value_field))))


PLAIN = Parts(bare)
"""Parts as plain documents have them."""
