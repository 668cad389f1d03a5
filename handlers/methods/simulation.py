"""SimFault: tell a simulated arm to misbehave."""

from collections.abc import Mapping

from handlers.rpc.outcome import FaultOrder
from handlers.rpc.plain_params import integer, known_only, listed, plain_params, text
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from schema.arms import Fault, Slot
from schema.codecs.plain import from_plain
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.items import ITEMS, ConfigItem
from schema.messages import Message

FAULTS = (
    "refuse",
    "delay",
    "hang",
    "lose_answer",
    "offline",
    "foreign_change",
    "garbage",
    "clamp",
    "reboot",
    "swap_serial",
    "moving",
    "local",
    "fault",
    "none",
)
LONGEST_MS = 24 * 3600 * 1000
"""Longest time of a fault, ms."""
_NAMES = ("fault", "for_ms", "delay_ms", "item", "slot", "value")


def _slot(params: Mapping[str, object]) -> tuple[ConfigItem, Slot] | None:
    """The item and slot that the params name, if any."""
    key, name = text(params, "item"), text(params, "slot")
    if not key:
        return None
    item = ITEMS.get(key)
    if item is None:
        raise BrokerError("unknown_enum", f"params.item: {key[:60]!r} is no item; items: {listed(key, ITEMS)}")
    if not item.modes:
        if name:
            raise BrokerError("malformed", f"params.slot: {key} has no slots")
        return item, (key, 0)
    mode = ControlMode.__members__.get(name)
    if mode is None or mode not in item.modes:
        known = listed(name, (ControlMode(mode).name for mode in item.modes))
        raise BrokerError("unknown_enum", f"params.slot: {name[:60]!r} is no slot of {key}; slots: {known}")
    return item, (key, int(mode))


def _value(params: Mapping[str, object], item: ConfigItem, slot: Slot) -> Message:
    """The message of the item from its bare value."""
    value = params["value"]
    if item.field:
        value = {"control_mode": ControlMode(slot[1]).name, item.field: value}
    if not isinstance(value, dict):
        raise BrokerError("malformed", f"params.value: the message of {item.key} is needed")
    return from_plain(value, item.record, "params.value")


def sim_fault(state: ArmState, request: Request) -> FaultOrder:
    """Check the params of SimFault and name the fault.

    Raises:
        BrokerError: unknown_method, unknown_field, unknown_enum, malformed, out_of_limits.
    """
    if not state.faults_allowed:
        raise BrokerError("unknown_method", f"SimFault: {state.arm} is not simulated, or faults are not allowed")
    params = plain_params(request)
    known_only(params, _NAMES)
    name = text(params, "fault")
    if name not in FAULTS:
        raise BrokerError("unknown_enum", f"params.fault: {name[:60]!r} is no fault; faults: {listed(name, FAULTS)}")
    for_ms = integer(params, "for_ms", 0, LONGEST_MS)
    delay_ms = integer(params, "delay_ms", 0, LONGEST_MS)
    place = _slot(params)
    if name != "foreign_change":
        return FaultOrder(Fault(name, for_ms, delay_ms, place[1] if place else None))
    if place is None or "value" not in params:
        raise BrokerError("malformed", "params: foreign_change needs item (with its slot, if it has any) and value")
    return FaultOrder(Fault(name, for_ms, delay_ms, place[1], _value(params, *place)))
