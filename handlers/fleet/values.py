"""Conditions on values: paths that go on into fields, and what has to hold there."""

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from handlers.items.parts import put
from handlers.rpc.fleet_queries import ValueCondition
from handlers.rpc.plain_params import known_only, listed, quoted
from handlers.state.arm_state import ArmState
from schema.arms import Slot
from schema.codecs.items_form import read_path
from schema.codecs.plain import bare
from schema.errors import BrokerError
from schema.fields import Field, Kind, fields_of
from schema.items import ITEMS
from schema.messages import Message

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
OF_TEXTS = ("==", "!=")
REPORTED, DESIRED, GROUND = VIEWS = ("reported", "desired", "ground")


def read_condition(given: object, path: str) -> ValueCondition:
    """One of `value`: `{path, op, than, view?}`.

    Raises:
        BrokerError: malformed, unknown_field, unknown_enum.
    """
    if not isinstance(given, dict):
        raise BrokerError("malformed", f"{path}: an object {{path, op, than}} is needed, got {quoted(given)}")
    known_only(given, ("path", "op", "than", "view"), path)
    op, than, view = given.get("op"), given.get("than"), given.get("view", REPORTED)
    if not isinstance(op, str) or op not in OPERATORS:
        raise BrokerError("unknown_enum", f"{path}.op: {quoted(op)} is none of {', '.join(OPERATORS)}")
    if view not in VIEWS:
        raise BrokerError("unknown_enum", f"{path}.view: {quoted(view)} is none of {listed(str(view), VIEWS)}")
    if not isinstance(than, int | float | str):
        raise BrokerError("malformed", f"{path}.than: a number, a text or a flag is needed, got {quoted(than)}")
    if isinstance(than, bool | str) and op not in OF_TEXTS:
        raise BrokerError("malformed", f"{path}.op: {op} is for numbers; texts and flags take == and != alone")
    slots, steps = _place(given.get("path"), f"{path}.path")
    return ValueCondition(slots, steps, op, than, view)


def _place(given: object, path: str) -> tuple[tuple[Slot, ...], tuple[str, ...]]:
    """The slots of a path, and the fields that it goes on into."""
    head, dot, rest = given.partition(".") if isinstance(given, str) else (given, "", "")
    slots, steps = read_path(head, path), tuple(rest.split(".")) if dot else ()
    item = ITEMS[slots[0][0]]
    if not item.field:
        return slots, _through_message(item.record, steps, path)
    return slots, _through_field(next(each for each in fields_of(item.record) if each.name == item.field), steps, path)


def _through_message(record: type[Message], steps: tuple[str, ...], path: str) -> tuple[str, ...]:
    """The steps into a record, which have to lead to numbers, texts or flags."""
    fields = {field.name: field for field in fields_of(record)}
    if not steps:
        raise BrokerError("malformed", f"{path}: it has to go on into a field: {', '.join(fields)}")
    if steps[0] not in fields:
        known = listed(steps[0], fields)
        raise BrokerError("unknown_field", f"{path}: {record.__name__} has no field {steps[0][:60]!r}; known: {known}")
    return (steps[0], *_through_field(fields[steps[0]], steps[1:], path))


def _through_field(field: Field, steps: tuple[str, ...], path: str) -> tuple[str, ...]:
    """The steps behind a field; of a map the first is a key, of one of plain values all of them are: keys have dots."""
    of_messages = field.kind is Kind.MESSAGE
    key = steps[: 1 if of_messages else None] if field.key is not None else ()
    rest = steps[len(key) :]
    if of_messages:
        return (*key, *_through_message(field.type, rest, path))
    if rest:
        raise BrokerError("unknown_field", f"{path}: {field.name} has no fields, so no {rest[0][:60]!r}")
    return (".".join(key),) if key else ()


def value_of(state: ArmState, slot: Slot, view: str) -> Message | None:
    """What is known of a slot; of what has no override the ground is what is desired."""
    if view == REPORTED:
        return state.reported.get(slot)
    desired = state.desired.get(slot)
    if view == DESIRED or state.overrides is None or desired is None:
        return desired
    return put(state, slot, desired, state.overrides.grounds)


def holds(condition: ValueCondition, state: ArmState) -> bool:
    """Whether a condition holds in one component; what was never read does not match."""
    compare, than = OPERATORS[condition.op], condition.than
    for slot in condition.slots:
        value = value_of(state, slot, condition.view)
        if value is None:
            continue
        for leaf in _leaves(bare(value, ITEMS[slot[0]].field), condition.steps):
            if comparable(leaf, than) and compare(_number(leaf, than), than):
                return True
    return False


def _leaves(value: Any, steps: tuple[str, ...]) -> Iterator[Any]:
    """The components of a plain value that fields lead to: of lists and maps every one."""
    if isinstance(value, list):
        for each in value:
            yield from _leaves(each, steps)
    elif isinstance(value, dict):
        below = value.values() if not steps else [value[steps[0]]] if steps[0] in value else ()
        for each in below:
            yield from _leaves(each, steps[1:])
    else:
        yield value


def comparable(leaf: object, than: object) -> bool:
    """Whether two values are of one kind; infinite numbers are texts among plain values."""
    if isinstance(than, bool) or isinstance(leaf, bool):
        return isinstance(than, bool) and isinstance(leaf, bool)
    if isinstance(leaf, str):
        return isinstance(than, str) or leaf in ("Infinity", "-Infinity")
    return not isinstance(than, str)


def _number(leaf: Any, than: object) -> Any:
    return float(leaf) if isinstance(leaf, str) and not isinstance(than, str) else leaf
