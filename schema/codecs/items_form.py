"""Values of several config items as one document, the form of `config.items`, and back; lists of their paths."""

from typing import Any, NoReturn

from schema.arms import Slot
from schema.codecs.faults import FaultError, quote, step, unknown_field, wrong_type
from schema.codecs.parts import PLAIN, Parts
from schema.codecs.plain import from_bare, from_plain
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.intrinsic import JointLimits
from schema.items import CONFIG_ITEMS, ConfigItem, slot_name, slot_path, slots, slots_of
from schema.joint_items import JointSafetyChange, JointSafetyGains, JointSafetyMap
from schema.messages import Message
from schema.nearest import did_you_mean

MODE_ITEM = "control_mode"
"""The item that no document of several items has."""
VALUE_ITEMS = tuple(item for item in CONFIG_ITEMS if item.key != MODE_ITEM)
"""The items that a document may have, in its order."""
VALUE_SLOTS = tuple(slot for slot in slots() if slot[0] != MODE_ITEM)
"""Their slots."""
PATHS_MOST = 256
"""The most paths of one list."""
_KEYS = tuple(item.key for item in VALUE_ITEMS)
_PLACES = tuple(
    (item.key, item.field, tuple((slot_name(slot), slot) for slot in slots_of(item.key) if slot[1]))
    for item in VALUE_ITEMS
)
"""Key and field of each item, and the names and slots of its modes."""
_FIELDS = {
    slot: field if modes else ""
    for key, field, modes in _PLACES
    for slot in ([slot for _, slot in modes] or [(key, 0)])
}
"""The field that a value of each slot is told by; empty: its message."""
_BY_PATH: dict[str, tuple[Slot, ...]] = {slot_path(slot): (slot,) for slot in VALUE_SLOTS} | {
    key: slots_of(key) for key in _KEYS
}


def items_document(values: dict[Slot, Message], parts: Parts = PLAIN) -> dict[str, Any]:
    """All items, their values as `parts` make them: a message, or `{<MODE>: bare value}` for an item with modes."""
    document: dict[str, Any] = {}
    for key, field, modes in _PLACES:
        if modes:
            there = [(name, values[slot]) for name, slot in modes if slot in values]
            document[key] = {name: parts[type(value)](value, field) for name, value in there}
        elif (value := values.get((key, 0))) is not None:
            document[key] = parts[type(value)](value, "")
    return document


class ToldItems:
    """As `items_document`, again and again: only the values that are other objects than the last time are made anew."""

    __slots__ = ("_document", "_parts", "_values")

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._values: dict[Slot, Message] = {}
        self._document: dict[str, Any] = {}

    def of(self, values: dict[Slot, Message]) -> dict[str, Any]:
        """The document of these values; it counts until the next one is asked for."""
        last, parts = self._values, self._parts
        if last.keys() != values.keys():
            self._values, self._document = dict(values), items_document(values, parts)
            return self._document
        for slot, value in values.items():
            if last[slot] is value:
                continue
            last[slot] = value
            if (field := _FIELDS.get(slot)) is not None:
                inner = self._document[slot[0]] if slot[1] else self._document
                inner[slot_name(slot) or slot[0]] = parts[type(value)](value, field)
        return self._document


def given_items(values: dict[Slot, Message], parts: Parts = PLAIN) -> dict[str, Any]:
    """As `items_document`, without the items that have no value."""
    document = items_document(values, parts)
    return {key: value for key, value in document.items() if value != {} or (key, 0) in values}


def read_items(document: object, path: str = "items") -> dict[Slot, Message]:
    """The values of a document, strictly, in the order of the items; absent keys take the record's defaults.

    What is said of joints is what is named: a list of limits that is empty is not there.

    Raises:
        BrokerError: `malformed`, `unknown_field`, `unknown_enum`, `mode_without_limit`, `not_finite`, and
            `unsupported_option` for the control mode; the message names the path, which begins with `path`.
    """
    if type(document) is not dict:
        _refuse_type(document, "an object of items", path)
    for key in document:
        if key == MODE_ITEM:
            raise BrokerError("unsupported_option", f"{path}.{key}: the control mode is set by SetControlMode alone")
        if key not in _KEYS:
            raise unknown_field(key, "a document of items", _KEYS).as_refusal(path)
    values: dict[Slot, Message] = {}
    for item in VALUE_ITEMS:
        if item.key in document:
            values |= _read_item(item, document[item.key], f"{path}.{item.key}")
    if not values:
        raise BrokerError("malformed", f"{path}: at least one value is needed")
    return values


def _read_item(item: ConfigItem, value: object, path: str) -> dict[Slot, Message]:
    if item.modes:
        return _read_modes(item, value, path)
    slot = (item.key, 0)
    if item.record is JointSafetyMap:
        return {slot: _whole_records(from_plain(value, JointSafetyChange, path), path)}
    message = from_plain(value, item.record, path)
    return {slot: _given_lists(message) if isinstance(message, JointLimits) else message}


def _read_modes(item: ConfigItem, value: object, path: str) -> dict[Slot, Message]:
    """The slots of an item with modes."""
    if type(value) is not dict:
        _refuse_type(value, "an object of control modes", path)
    found: dict[Slot, Message] = {}
    for name in value:
        if name not in ControlMode.__members__ or not ControlMode[name]:
            hint = did_you_mean(name, (mode.name for mode in item.modes))
            raise BrokerError("unknown_enum", f"{path}: {quote(name)} is no control mode{hint}")
        if ControlMode[name] not in item.modes:
            these = ", ".join(mode.name for mode in item.modes)
            raise BrokerError("mode_without_limit", f"{path}: {name} takes no {item.key}; these do: {these}")
    for mode in item.modes:
        name = mode.name
        if name in value:
            number = from_bare(value[name], item.record, item.field, f"{path}.{name}")
            found[item.key, int(mode)] = item.record(**{"control_mode": mode, item.field: number})
    return found


def _given_lists(limits: JointLimits) -> JointLimits:
    """Without the lists that are empty: they leave what is there."""
    lists = {name: getattr(limits, name) for name in limits.__struct_fields__}
    return JointLimits(**{name: given for name, given in lists.items() if given is not None and given.values})


def _whole_records(change: Message, path: str) -> JointSafetyMap:
    """The records of a change, each with all of its numbers: one that were left out would be a zero."""
    joints: dict[str, JointSafetyGains] = {}
    for name, record in sorted(change.joints.items()):  # type: ignore[attr-defined]  # from_plain yields its class
        numbers = {field: getattr(record, field) for field in record.__struct_fields__}
        for field, number in numbers.items():
            if number is None:
                text = f"{path}.joints.{step(name)}.{field}: a number is needed; a record is set whole"
                raise BrokerError("malformed", text)
        joints[name] = JointSafetyGains(**numbers)
    return JointSafetyMap(joints)


def read_paths(paths: object, path: str = "items") -> tuple[Slot, ...]:
    """The slots of a list of paths, `item` or `item/MODE`, in the order of the items; an item stands for all its slots.

    Raises:
        BrokerError: `malformed` for another type or an empty list, `out_of_limits` for one that is too long,
            `unknown_enum` for what is no path.
    """
    if type(paths) is not list or not paths:
        _refuse_type(paths, "a list of paths that is not empty", path)
    if len(paths) > PATHS_MOST:
        text = f"{path}: {len(paths)} paths > {PATHS_MOST}, the most that are taken"
        raise BrokerError("out_of_limits", text, name="VALUE_IS_ABOVE_MAXIMUM")
    named: set[Slot] = set()
    for index, one in enumerate(paths):
        named.update(read_path(one, f"{path}[{index}]"))
    return tuple(slot for slot in VALUE_SLOTS if slot in named)


def read_path(text: object, path: str) -> tuple[Slot, ...]:
    """The slots of one path.

    Raises:
        BrokerError: `malformed`, `unknown_enum`.
    """
    if type(text) is not str:
        _refuse_type(text, "a path, item or item/MODE,", path)
    found = _BY_PATH.get(text)
    if found is None:
        hint = did_you_mean(text, _BY_PATH)
        raise BrokerError("unknown_enum", f"{path}: {quote(text)} is no path of a value{hint}")
    return found


def _refuse_type(value: object, need: str, path: str) -> NoReturn:
    try:
        wrong_type(value, need)
    except FaultError as fault:
        raise fault.as_refusal(path) from None
