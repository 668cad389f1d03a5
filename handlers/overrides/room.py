"""How many overrides there may be."""

from collections.abc import Collection, Sequence

from handlers.state.arm_state import ArmState
from handlers.state.places import Place, place_path
from handlers.state.refusals import NOTHING_CHANGED
from schema.errors import BrokerError

MOST_OF_PLACE, MOST_OF_ARM, MOST = 8, 64, 10_000


def check_room(state: ArmState, places: Collection[Place], waiting: Sequence[Collection[Place]], in_all: int) -> None:
    """Refuse one more override of some places than there may be.

    Args:
        state: the arm.
        places: those that it would change.
        waiting: the places of each change of the arm with an end that has not taken effect.
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
    for place in places:
        there = sum(place in one.values for one in live) + sum(place in ones for ones in waiting)
        if there >= MOST_OF_PLACE:
            text = f"{place_path(place)} of {state.arm} has {there} overrides, {MOST_OF_PLACE} at most"
            raise BrokerError("no_room", f"{text}. {NOTHING_CHANGED}")
