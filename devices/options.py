"""The options of an adapter's arms, by its table of them: read, checked and shown."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from devices.adapter import AdapterSettingError, Setting
from devices.adapter_class import AdapterOptions

T = TypeVar("T", bound=AdapterOptions)
_TYPES: dict[type[inspect.Type], str] = {
    inspect.StrType: "text",
    inspect.LiteralType: "text",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
}
"""What an option may be, and the word for it."""
_BOUNDS = (
    ("ge", ">= {}"),
    ("gt", "> {}"),
    ("le", "<= {}"),
    ("lt", "< {}"),
    ("min_length", "at least {} characters"),
    ("max_length", "at most {} characters"),
    ("pattern", "as {}"),
)


class OptionFault(NamedTuple):
    """One thing that is wrong with the options of an arm."""

    option: str
    text: str


class OptionRow(msgspec.Struct, frozen=True):
    """One option as it is shown; `default` is None where one has to be given."""

    name: str
    type: str
    default: Setting | None
    bounds: str
    text: str


def option_faults(options: Mapping[str, Setting], table: type[AdapterOptions]) -> Iterator[OptionFault]:
    """All that is wrong with the options of an arm: unknown ones, wrong values, then missing ones."""
    fields = {field.name: field for field in msgspec.structs.fields(table)}
    for name, value in options.items():
        if (field := fields.get(name)) is None:
            known = ", ".join(fields) or "none"
            yield OptionFault(name, f"unknown; known: {known}")
        elif fault := _fault(value, field.type):
            yield OptionFault(name, f"{value!r}: {fault}")
    for name, field in fields.items():
        if field.required and name not in options:
            yield OptionFault(name, "missing")


def _fault(value: Setting, wanted: Any) -> str:
    """Why a value is not what is wanted; empty if it is."""
    try:
        msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        text = str(error)
        return text[:1].lower() + text[1:]
    return "not finite" if isinstance(value, float) and not math.isfinite(value) else ""


def read_options(arm: str, options: Mapping[str, Setting], table: type[T]) -> T:
    """The options of an arm, those not given as the table says.

    Raises:
        AdapterSettingError: naming the arm, the first option that is wrong, its value and what is allowed.
    """
    for fault in option_faults(options, table):
        raise AdapterSettingError(f"arm {arm}: option {fault.option}: {fault.text}", fault.option)
    return msgspec.convert(dict(options), table)


def option_rows(table: type[AdapterOptions]) -> list[OptionRow]:
    """The options of an adapter as they are shown, in the order of its table.

    Raises:
        TypeError: an option has a type that `Setting` has not.
    """
    shown = inspect.type_info(table)
    return [_row(field) for field in shown.fields] if isinstance(shown, inspect.StructType) else []


def _row(field: inspect.Field) -> OptionRow:
    kind, text = field.type, ""
    if isinstance(kind, inspect.Metadata):
        text = (kind.extra_json_schema or {}).get("description", "")
        kind = kind.type
    if type(kind) not in _TYPES:
        raise TypeError(f"option {field.name}: an option is a text, an integer, a number or a boolean")
    bounds = [words.format(bound) for name, words in _BOUNDS if (bound := getattr(kind, name, None)) is not None]
    if isinstance(kind, inspect.LiteralType):
        bounds.append(" | ".join(map(str, kind.values)))
    return OptionRow(field.name, _TYPES[type(kind)], None if field.required else field.default, ", ".join(bounds), text)
