"""What the end of an override orders: what tightens at once, what loosens only if nobody else was there."""

import math
from typing import NamedTuple

import msgspec

from handlers.items.config_items import CHECKS
from handlers.items.direction import at_or_tighter
from handlers.items.settling import same
from handlers.state.arm_state import ArmState
from schema.arms import Slot
from schema.errors import BrokerError
from schema.items import ITEMS, NUMBER_FIELDS, Order, Zero
from schema.messages import Message


class Writes(NamedTuple):
    """What is to be written of a return; None: nothing."""

    at_once: Message | None = None
    """What tightens: whatever its age, over a lock, before all else."""
    later: Message | None = None
    """What loosens in a component, or has no order: it waits as other changes do."""
    overwritten: bool = False
    """Whether nothing of the latter is written, because the arm no longer has what the override gave it."""


NOTHING = Writes()


def writes(state: ArmState, slot: Slot, aim: Message, given: Message) -> Writes:
    """What leads a slot from what is reported to `aim`, what is in force after the end of what was `given`.

    Raises:
        BrokerError: no legal value of it leads there.
    """
    reported, item = state.reported[slot], ITEMS[slot[0]]
    aim = legal(state, slot, aim)
    if same(slot[0], aim, reported, state.resolution_rad):
        return NOTHING
    untouched = is_untouched(state, slot, aim, given)
    if item.order is not Order.UNORDERED:
        if at_or_tighter(item, aim, reported):
            return Writes(at_once=aim)
        tighter = tighter_of(slot, aim, reported)
        if not same(slot[0], tighter, reported, state.resolution_rad):
            return Writes(tighter, aim if untouched else None, overwritten=not untouched)
    return Writes(later=aim) if untouched else Writes(overwritten=True)


def aim_of(state: ArmState, slot: Slot) -> Message | None:
    """What a slot is to be led back to; None where nothing is owed any more."""
    overrides = state.overrides
    return overrides.in_force(slot) if overrides is not None and overrides.owes(slot) else None


def is_untouched(state: ArmState, slot: Slot, aim: Message, given: Message) -> bool:
    """Whether an arm has what an override gave it, or that as far as its return has tightened it already."""
    reported = state.reported[slot]
    if same(slot[0], reported, given, state.resolution_rad):
        return True
    if ITEMS[slot[0]].order is Order.UNORDERED:
        return False
    return same(slot[0], reported, tighter_of(slot, aim, given), state.resolution_rad)


def tighter_of(slot: Slot, one: Message, other: Message) -> Message:
    """The tighter of two values of an ordered item of the arm, component by component."""
    item, name = ITEMS[slot[0]], NUMBER_FIELDS[slot[0]]
    left, right = getattr(one, name), getattr(other, name)
    if type(left) is tuple:
        return msgspec.structs.replace(one, **{name: tuple(map(min, left, right))})
    if item.zero is Zero.REFUSE:  # zero stands for no limit
        left, right = left or math.inf, right or math.inf
    return one if left <= right else other


def legal(state: ArmState, slot: Slot, aim: Message) -> Message:
    """The nearest legal value that is not looser than what is aimed at.

    Raises:
        BrokerError: there is none.
    """
    check = CHECKS[slot[0]]
    try:
        check(state, aim)
    except BrokerError as refused:
        suggest = next((one.suggest for one in refused.violations if one.suggest is not None), None)
        if ITEMS[slot[0]].order is Order.UNORDERED or suggest is None or _is_unset(slot, aim):
            raise
        nearest = tighter_of(slot, aim, msgspec.structs.replace(aim, **{NUMBER_FIELDS[slot[0]]: suggest}))
        check(state, nearest)
        return nearest
    return aim


def _is_unset(slot: Slot, value: Message) -> bool:
    """Whether a value is the zero that stands for no limit: nothing near it means the same."""
    return ITEMS[slot[0]].zero is Zero.REFUSE and not getattr(value, NUMBER_FIELDS[slot[0]])


def goes_first(state: ArmState, slot: Slot, given: Message) -> bool:
    """Whether something of a return tightens: that waits for no lock, whatever its age."""
    aim = aim_of(state, slot)
    if aim is None:
        return False
    try:
        return writes(state, slot, aim, given).at_once is not None
    except BrokerError:
        return False
