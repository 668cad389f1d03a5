"""Slots and their values as they stand in the messages of arms that speak MQTT."""

from typing import Any, NamedTuple

import msgspec

from devices.mqtt_agent.documents import UnreadableError
from devices.records import RECORDS
from devices.refusals import refused
from limits.kinova_models import SOFT_LIMIT_MODES
from schema.arms import Slot
from schema.codecs.plain import bare, from_plain
from schema.enums import ControlConfigurationEvent as Event
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.events import CONTROL_MODE_CHANGED
from schema.fields import Kind, fields_of
from schema.messages import Message


class AgentItem(NamedTuple):
    """One config item on the wire: its event, and the field whose bare value a slot holds (empty: the message)."""

    event: str
    field: str = ""


AGENT_ITEMS: dict[str, AgentItem] = {
    "gravity_vector": AgentItem(Event.GRAVITY_VECTOR_CHANGED.name),
    "payload_information": AgentItem(Event.PAYLOAD_CONFIGURATION_CHANGED.name),
    "tool_configuration": AgentItem(Event.TOOL_CONFIGURATION_CHANGED.name),
    "cartesian_reference_frame": AgentItem(Event.CARTESIAN_REFERENCE_CHANGED.name),
    "joint_speed_soft_limits": AgentItem(Event.JOINT_SPEED_SOFT_LIMITS_CHANGED.name, "joint_speed_soft_limits"),
    "joint_acceleration_soft_limits": AgentItem(
        Event.JOINT_ACCELERATION_SOFT_LIMITS_CHANGED.name, "joint_acceleration_soft_limits"
    ),
    "twist_linear_soft_limit": AgentItem(Event.TWIST_LINEAR_SOFT_LIMIT_CHANGED.name, "twist_linear_soft_limit"),
    "twist_angular_soft_limit": AgentItem(Event.TWIST_ANGULAR_SOFT_LIMIT_CHANGED.name, "twist_angular_soft_limit"),
    "desired_linear_twist": AgentItem(Event.DESIRED_TWIST_LINEAR_SPEED_CHANGED.name),
    "desired_angular_twist": AgentItem(Event.DESIRED_TWIST_ANGULAR_SPEED_CHANGED.name),
    "desired_joint_speeds": AgentItem(Event.DESIRED_JOINT_SPEED_CHANGED.name),
    "control_mode": AgentItem(CONTROL_MODE_CHANGED),
}
"""The items that an arm may hold, by key."""

SLOTS: tuple[Slot, ...] = tuple(
    (key, int(mode)) for key in AGENT_ITEMS for mode in SOFT_LIMIT_MODES.get(key, (ControlMode(0),))
)
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


def mode_name(slot: Slot) -> str:
    """The name of a slot's mode; empty for an item without modes."""
    return ControlMode(slot[1]).name if slot[1] else ""


def to_value(slot: Slot, message: Message) -> Any:
    """The value of a slot as documents hold it: the bare list or number, or the whole message."""
    return bare(message, AGENT_ITEMS[slot[0]].field)


def from_value(slot: Slot, value: object) -> Message:
    """The message of a slot's value; an enum is its name, or its number where it has none.

    Raises:
        UnreadableError: the value is none of this slot.
    """
    key, record = slot[0], RECORDS[slot[0]]
    field = AGENT_ITEMS[key].field
    plain = {"control_mode": mode_name(slot), field: value} if field else value
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
    return type(message) is RECORDS[slot[0]] and (not mode or getattr(message, "control_mode", 0) == mode)


def require_slot(slot: Slot) -> None:
    """Refuse what no arm of this protocol has.

    Raises:
        ArmRefusedError: no such item, or no such slot of it.
    """
    if slot[0] not in AGENT_ITEMS:
        raise refused("UNSUPPORTED_METHOD", f"no config item {slot[0]}")
    if slot not in SLOTS:
        raise refused("METHOD_FAILED", f"mode {slot[1]} takes no {slot[0]}")
