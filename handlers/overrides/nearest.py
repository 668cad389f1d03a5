"""The nearest legal value that is not looser than another one."""

import math
from dataclasses import replace

import msgspec

from handlers.items.config_items import CHECKS
from handlers.items.parts import laid, tighter_part
from handlers.state.arm_state import ArmState, as_message
from handlers.state.places import Part, as_part
from handlers.state.provenance import PARTED, numbers_of
from schema.arms import Slot
from schema.envelope import Violation
from schema.errors import BrokerError
from schema.items import ITEMS, NUMBER_FIELDS, Order, Zero
from schema.joint_items import JointSafetyGains
from schema.messages import Message


def tighter_of(state: ArmState, slot: Slot, one: Message, other: Message) -> Message:
    """The tighter of two values of an ordered item, component by component."""
    if type(one) in PARTED:
        left, right = numbers_of(one), numbers_of(other)
        return laid(
            state, other,
            {name: tighter_part((*slot, name), as_part(left[name]), as_part(right.get(name))) for name in left},
        )  # fmt: skip
    item, name = ITEMS[slot[0]], NUMBER_FIELDS[slot[0]]
    mine, others = getattr(one, name), getattr(other, name)
    if type(mine) is tuple:
        return msgspec.structs.replace(one, **{name: tuple(map(min, mine, others))})
    if item.zero is Zero.REFUSE:  # zero stands for no limit
        mine, others = mine or math.inf, others or math.inf
    return one if mine <= others else other


def legal(state: ArmState, slot: Slot, aim: Message) -> Message:
    """The nearest legal value that is not looser than what is aimed at.

    Raises:
        BrokerError: there is none.
    """
    check, state = CHECKS[slot[0]], _as_reported(state, slot)
    try:
        check(state, aim)
    except BrokerError as refused:
        if ITEMS[slot[0]].order is Order.UNORDERED or _is_unset(slot, aim):
            raise
        found = [one for one in refused.violations if one.suggest is not None]
        if not found:
            raise
        suggested = _suggested_parts(state, aim, found) if type(aim) in PARTED else _suggested(slot, aim, found[0])
        nearest = tighter_of(state, slot, aim, suggested)
        check(state, nearest)
        return nearest
    return aim


def is_legal(state: ArmState, slot: Slot, value: Message) -> bool:
    """Whether a value is legal."""
    try:
        CHECKS[slot[0]](_as_reported(state, slot), value)
    except BrokerError:
        return False
    return True


def legal_ranges(state: ArmState, slot: Slot, tighter: Message) -> Message:
    """What is reported with those parts tightened that may be: a range whose ends would cross stays as it is."""
    value = reported = state.reported[slot]
    known, wanted = numbers_of(reported), numbers_of(tighter)
    ranges: dict[str, dict[str, Part]] = {}
    for name, number in wanted.items():
        if number != known.get(name):
            ranges.setdefault(name.replace("min_", "").replace("max_", ""), {})[name] = as_part(number)
    for parts in ranges.values():
        found = laid(state, value, parts)
        value = found if is_legal(state, slot, found) else value
    return value


def _as_reported(state: ArmState, slot: Slot) -> ArmState:
    """An arm of which parts that are as they are reported are in nobody's way."""
    desired, reported = state.desired[slot], state.reported[slot]
    if type(reported) not in PARTED or desired == reported:
        return state
    return replace(state, desired={**state.desired, slot: reported})


def _is_unset(slot: Slot, value: Message) -> bool:
    """Whether a value is the zero that stands for no limit: nothing near it means the same."""
    return ITEMS[slot[0]].zero is Zero.REFUSE and not getattr(value, NUMBER_FIELDS[slot[0]])


def _suggested(slot: Slot, aim: Message, found: Violation) -> Message:
    return msgspec.structs.replace(aim, **{NUMBER_FIELDS[slot[0]]: found.suggest})


def _suggested_parts(state: ArmState, aim: Message, found: list[Violation]) -> Message:
    """A value with the parts that break a rule at the bounds that they break."""
    known, parts = numbers_of(aim), dict[str, Part]()
    for one in found:
        where, _, name = one.path.partition(".")
        if where == "parameters":
            parts[name] = one.bound
        elif where == "joints":
            joint, _, field = name.rpartition(".")
            gains = as_message(parts.get(joint) or known[joint], JointSafetyGains)
            parts[joint] = msgspec.structs.replace(gains, **{field: one.bound})
        else:
            parts[one.path.replace(".values", "")] = one.bound
    return laid(state, aim, parts)
