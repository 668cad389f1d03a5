"""From a decoded document to records: everything that has no place or another type is found, not the first alone."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

import msgspec

from broker.settings.places import Fault, KeyPath, dotted

_WITHIN = re.compile(r"(?P<text>.*?)(?: - at `\$(?P<path>.*)`)?\Z", re.DOTALL)
_STEP = re.compile(r"\[(\d+)\]|\.(\w+)")


def conversion_faults(value: Any, kind: Any, path: KeyPath = ()) -> Iterator[Fault]:
    """What keeps `value` from being converted to `kind`, a record, a table or list of records, or a plain type."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from _of_record(value, kind, path)
    elif get_origin(kind) is dict and isinstance(value, Mapping):
        for key, each in value.items():
            yield from conversion_faults(each, get_args(kind)[1], (*path, key))
    elif get_origin(kind) is tuple and isinstance(value, list):
        for index, each in enumerate(value):
            yield from conversion_faults(each, get_args(kind)[0], (*path, index))
    else:
        yield from _of_plain(value, kind, path)


def _of_record(value: Any, kind: type[msgspec.Struct], path: KeyPath) -> Iterator[Fault]:
    if not isinstance(value, Mapping):
        yield Fault(path, f"{dotted(path)}: expected a table, got {value!r}")
        return
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    for key, each in value.items():
        if (field := fields.get(key)) is None:
            within = (*path, key)
            yield Fault(within, f"{dotted(within)}: no such setting; known here are {', '.join(fields)}")
        else:
            yield from conversion_faults(each, field.type, (*path, key))
    for name, field in fields.items():
        if field.required and name not in value:
            yield Fault(path, f"{dotted((*path, name))}: missing")


def _of_plain(value: Any, kind: Any, path: KeyPath) -> Iterator[Fault]:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        found = _WITHIN.match(str(error))
        text, below = (found["text"], found["path"]) if found is not None else (str(error), None)
        steps = _STEP.findall(below or "")
        within: KeyPath = (*path, *(int(index) if index else name for index, name in steps))
        yield Fault(within, f"{dotted(within)}: {text[:1].lower()}{text[1:]}")
