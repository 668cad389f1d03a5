"""Slots and their values as they stand in the messages of arms that speak MQTT."""

from typing import Any

import msgspec

from devices.mqtt_agent.documents import UnreadableError
from devices.refusals import refused
from schema.arms import Slot
from schema.codecs.plain import bare, from_plain
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.fields import Kind, fields_of
from schema.items import ITEMS, KINOVA_ITEMS, slot_name, slots
from schema.messages import Message

SLOTS: tuple[Slot, ...] = tuple(slot for slot in slots() if slot[0] in KINOVA_ITEMS)
"""Every slot of an arm that holds all items."""


def slot_of(item: str, mode: str) -> Slot:
    """The slot of an item and the name of its mode (empty: an item without modes).

    Raises:
        UnreadableError: there is none.
    """
    number = ControlMode.__members__.get(mode, ControlMode(0)) if mode else ControlMode(0)
    slot = (item, int(number))
    if slot not in SLOTS or bool(mode) != bool(number):
        raise UnreadableError(f"there is no slot {mode!r} of item {item!r}")
    return slot


def to_value(slot: Slot, message: Message) -> Any:
    """The value of a slot as documents hold it: the bare list or number, or the whole message."""
    return bare(message, ITEMS[slot[0]].field)


def from_value(slot: Slot, value: object) -> Message:
    """The message of a slot's value; an enum is its name, or its number where it has none.

    Raises:
        UnreadableError: the value is none of this slot.
    """
    key, item = slot[0], ITEMS[slot[0]]
    record, field = item.record, item.field
    plain = {"control_mode": slot_name(slot), field: value} if field else value
    numbers: dict[str, Any] = {}
    if type(plain) is dict:
        _require_all(plain, record, key)
        enums = {each.name for each in fields_of(record) if each.kind is Kind.ENUM}
        numbers = {name: number for name, number in plain.items() if name in enums and type(number) is int}
        plain = {name: each for name, each in plain.items() if name not in numbers}
    try:
        message = from_plain(plain, record, "" if field else key)
    except BrokerError as error:
        raise UnreadableError(str(error)) from error
    return msgspec.structs.replace(message, **numbers) if numbers else message


def _require_all(plain: dict[str, Any], record: type[Message], path: str) -> None:
    """An arm tells every number of a value: one that is missing is no zero."""
    for field in fields_of(record):
        inner = plain.get(field.name)
        if inner is None and not field.optional:
            raise UnreadableError(f"{path}.{field.name} is missing")
        if field.kind is Kind.MESSAGE and type(inner) is dict:
            _require_all(inner, field.type, f"{path}.{field.name}")


def fits(slot: Slot, message: Message | None) -> bool:
    """Whether a message can be the value of a slot."""
    mode = slot[1]
    return type(message) is ITEMS[slot[0]].record and (not mode or getattr(message, "control_mode", 0) == mode)


def require_slot(slot: Slot) -> None:
    """Refuse what no arm of this protocol has.

    Raises:
        ArmRefusedError: no such item, or no such slot of it.
    """
    if slot[0] not in KINOVA_ITEMS:
        raise refused("UNSUPPORTED_METHOD", f"no config item {slot[0]}")
    if slot not in SLOTS:
        raise refused("METHOD_FAILED", f"mode {slot[1]} takes no {slot[0]}")
