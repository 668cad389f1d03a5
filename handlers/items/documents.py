"""Values in the form of a `config` document, `{<item>: message | {<MODE>: value}}`: read, written, laid over others."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from handlers.items.paths import CONFIG_SLOTS, check_item, slot_at
from schema.arms import Slot
from schema.codecs.plain import bare, from_plain
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.fields import Field, Kind, fields_of
from schema.intrinsic import JointLimits
from schema.items import ITEMS, ConfigItem, slot_name
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import Message

Values = dict[Slot, Message]
Steps = tuple[str | int, ...]
"""The keys and indexes that lead to a place in a document."""
_FORM = ("not_finite", "unknown_enum")
"""Kinds that are told after faults of form, in this order."""
_WHOLE = tuple(field.name for field in fields_of(JointSafetyGains))


class Fault(NamedTuple):
    """What is wrong at one place of a document."""

    steps: Steps
    kind: str
    text: str

    @property
    def place(self) -> str:
        """The place as a path of keys, `a.b[2]`."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step[:60]}" for step in self.steps)[1:]

    def refusal(self, path: str = "") -> BrokerError:
        """The refusal, its place below a path."""
        where = f"{path}.{self.place}".strip(".")
        return BrokerError(self.kind, f"{where[:200]}: {self.text}")


class Read(NamedTuple):
    """What a document says, and all that is wrong in it."""

    values: Values
    faults: tuple[Fault, ...]


def read_items(document: object, path: str) -> Values:
    """The values of a document at a path; of a joint item, the parts that it names.

    Raises:
        BrokerError: malformed, unknown_field, unknown_enum, not_finite, mode_without_limit, unsupported_option.
    """
    values, faults = examine(document)
    if faults:
        raise min(faults, key=lambda fault: _FORM.index(fault.kind) + 1 if fault.kind in _FORM else 0).refusal(path)
    return values


def examine(document: object) -> Read:
    """Read a document to its end, whatever is wrong in it."""
    if not isinstance(document, dict) or not document:
        return Read({}, (Fault((), "malformed", "an object with at least one item is needed, {<item>: value}"),))
    values: Values = {}
    faults: list[Fault] = []
    for key, given in document.items():
        for slot, value, steps in _slots(str(key), given, faults):
            item = ITEMS[slot[0]]
            found = list(_faults(item, value, steps))
            faults += found
            if not found:
                values[slot] = _record(item, slot, value)
    if not values and not faults:
        faults.append(Fault((), "malformed", "no slot is named"))
    return Read(values, tuple(faults))


def _slots(key: str, given: object, faults: list[Fault]) -> Iterator[tuple[Slot, object, Steps]]:
    """The slots below an item of a document, each with its value and place; what is wrong with them is noted."""
    try:
        check_item(key, "")
    except BrokerError as refused:
        faults.append(_noted((key,), refused))
        return
    if not ITEMS[key].modes:
        yield (key, 0), given, (key,)
        return
    if not isinstance(given, dict):
        faults.append(Fault((key,), "malformed", "an object {<MODE>: value} is needed"))
        return
    for mode, value in given.items():
        try:
            yield slot_at(key, str(mode), ""), value, (key, str(mode))
        except BrokerError as refused:
            faults.append(_noted((key, str(mode)), refused))


def _noted(steps: Steps, refused: BrokerError) -> Fault:
    return Fault(steps, refused.kind, refused.message.removeprefix(": "))


def _record(item: ConfigItem, slot: Slot, value: object) -> Message:
    if not item.modes:
        return from_plain(value, item.record)
    return from_plain({"control_mode": ControlMode(slot[1]).name, item.field: value}, item.record)


def _faults(item: ConfigItem, value: object, steps: Steps) -> Iterator[Fault]:
    if not item.modes:
        yield from _faults_of(value, item.record, steps)
    else:
        field = next(one for one in fields_of(item.record) if one.name == item.field)
        yield from _faults_at(value, field, item.record, steps)


def _faults_of(value: object, record: type[Message], steps: Steps) -> Iterator[Fault]:
    """All that is wrong in the document of a record."""
    if not isinstance(value, dict):
        yield from _try(value, record, steps)
        return
    fields = {field.name: field for field in fields_of(record)}
    for name, given in value.items():
        field = fields.get(name)
        if field is None:
            yield from _try({str(name): given}, record, (*steps, str(name)))
        else:
            yield from _faults_at(given, field, record, (*steps, name))
    if record is JointSafetyGains and (missing := [name for name in _WHOLE if name not in value]):
        yield Fault((*steps, missing[0]), "malformed", "a number is needed; a record is set whole")


def _faults_at(value: object, field: Field, record: type[Message], steps: Steps) -> Iterator[Fault]:
    """All that is wrong in the value of one field of a record."""
    if field.key is not None and isinstance(value, dict):
        for key, given in value.items():
            if field.kind is Kind.MESSAGE:
                yield from _faults_of(given, field.type, (*steps, str(key)))
            else:
                yield from _try({field.name: {key: given}}, record, (*steps, str(key)))
    elif field.repeated and field.key is None and isinstance(value, list):
        for at, given in enumerate(value):
            yield from _try({field.name: [given]}, record, (*steps, at))
    elif field.kind is Kind.MESSAGE and field.key is None:
        yield from _faults_of(value, field.type, steps)
    else:
        yield from _try({field.name: value}, record, steps)


def _try(document: object, record: type[Message], steps: Steps) -> Iterator[Fault]:
    try:
        from_plain(document, record)
    except BrokerError as refused:
        yield Fault(steps, refused.kind, refused.message.split(": ", 1)[-1])


def write_items(values: Mapping[Slot, Message]) -> dict[str, Any]:
    """The document of values, in the order of the table."""
    document: dict[str, Any] = {}
    for slot in CONFIG_SLOTS:
        if slot in values:
            item = ITEMS[slot[0]]
            value = bare(values[slot], item.field)
            if item.modes:
                document.setdefault(item.key, {})[slot_name(slot)] = value
            else:
                document[item.key] = value
    return document


def overlay(kept: Message, named: Message) -> Message:
    """A value with what another one names of it: of joint items the parts that are there, of others the whole."""
    if isinstance(kept, JointLimits) and isinstance(named, JointLimits):
        lists = {name: getattr(named, name) for name in named.__struct_fields__}
        return msgspec.structs.replace(kept, **{name: one for name, one in lists.items() if one and one.values})
    if isinstance(kept, JointSafetyMap) and isinstance(named, JointSafetyMap):
        return JointSafetyMap(kept.joints | named.joints)
    if isinstance(kept, JointParameterMap) and isinstance(named, JointParameterMap):
        return JointParameterMap(kept.parameters | named.parameters)
    return named
