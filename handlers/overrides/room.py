"""How many overrides there may be."""

from collections.abc import Sequence

from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import Slot
from schema.errors import BrokerError
from schema.items import slot_path

MOST_OF_SLOT, MOST_OF_ARM, MOST = 8, 64, 10_000


def check_room(state: ArmState, slots: Sequence[Slot], waiting: Sequence[Sequence[Slot]], in_all: int) -> None:
    """Refuse one more override of some slots than there may be.

    Args:
        state: the arm.
        slots: those that it would change.
        waiting: the slots of each change of the arm with an end that has not taken effect.
        in_all: overrides of all arms, those that have not taken effect included.

    Raises:
        BrokerError: no_room.
    """
    overrides = state.overrides
    live = () if overrides is None else overrides.live
    if in_all >= MOST:
        raise BrokerError("no_room", f"{in_all} overrides are live, {MOST} at most. {NOTHING_CHANGED}")
    if len(live) + len(waiting) >= MOST_OF_ARM:
        text = f"{state.arm} has {len(live) + len(waiting)} overrides, {MOST_OF_ARM} at most"
        raise BrokerError("no_room", f"{text}. {NOTHING_CHANGED}")
    for slot in slots:
        there = sum(slot in one.values for one in live) + sum(slot in ones for ones in waiting)
        if there >= MOST_OF_SLOT:
            text = f"{slot_path(slot)} of {state.arm} has {there} overrides, {MOST_OF_SLOT} at most"
            raise BrokerError("no_room", f"{text}. {NOTHING_CHANGED}")
