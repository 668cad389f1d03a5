"""What the end of an override orders: what tightens at once, what loosens only if nobody else was there."""

from typing import NamedTuple

from handlers.items.direction import at_or_tighter
from handlers.items.parts import put
from handlers.items.settling import same
from handlers.overrides.nearest import is_legal, legal, legal_ranges, tighter_of
from handlers.state.arm_state import ArmState
from handlers.state.provenance import PARTED
from schema.arms import Slot
from schema.errors import BrokerError
from schema.items import ITEMS, Order
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

    Of an item with parts both are what is reported, but for the parts that are led back.

    Raises:
        BrokerError: no legal value of it leads there.
    """
    reported, item = state.reported[slot], ITEMS[slot[0]]
    aim = legal(state, slot, aim)
    if same(slot[0], aim, reported, state.resolution_rad):
        return NOTHING
    untouched = same(slot[0], reported, given, state.resolution_rad)
    if item.order is not Order.UNORDERED:
        if at_or_tighter(item, aim, reported):
            return Writes(at_once=aim)
        tighter = tighter_of(state, slot, aim, reported)
        if type(aim) in PARTED and not is_legal(state, slot, tighter):  # a range from above to below
            tighter = legal_ranges(state, slot, tighter)
        if not same(slot[0], tighter, reported, state.resolution_rad):
            return Writes(tighter, aim if untouched else None, overwritten=not untouched)
    return Writes(later=aim) if untouched else Writes(overwritten=True)


def aim_of(state: ArmState, slot: Slot) -> Message | None:
    """What a slot is to be led back to; None where nothing is owed any more."""
    overrides = state.overrides
    owed = () if overrides is None else overrides.owed(slot)
    if overrides is None or not owed:
        return None
    return put(state, slot, state.reported[slot], {place: overrides.in_force(place) for place in owed})


def gave(state: ArmState, slot: Slot) -> Message:
    """What a slot has if it is as the overrides that ended there left it."""
    given = {} if state.overrides is None else state.overrides.gave(slot)
    return put(state, slot, state.reported[slot], given)


def due(state: ArmState, slot: Slot) -> Writes | None:
    """What is still to be written of a slot; None where nothing is owed any more.

    Raises:
        BrokerError: no legal value of it leads there.
    """
    aim = aim_of(state, slot)
    return None if aim is None else writes(state, slot, aim, gave(state, slot))


def goes_first(state: ArmState, slot: Slot) -> bool:
    """Whether something of the return of a slot tightens: that waits for no lock, whatever its age."""
    try:
        found = due(state, slot)
    except BrokerError:
        return False
    return found is not None and found.at_once is not None
