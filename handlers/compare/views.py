"""What an arm has now, in the three truths."""

from collections.abc import Mapping

from handlers.items.parts import put
from handlers.items.verbs import grounded
from handlers.state.arm_state import ArmState
from handlers.state.refusals import not_read
from schema.arms import Slot
from schema.codecs.items_form import MODE_ITEM
from schema.envelope import View
from schema.messages import Message


def values_of(state: ArmState, view: View) -> dict[Slot, Message]:
    """The values of a configuration in one of the truths.

    Raises:
        BrokerError: arm_not_read.
    """
    if not state.adopted:
        raise not_read(state)
    found: Mapping[Slot, Message] = state.reported if view is View.REPORTED else state.desired
    values = {slot: value for slot, value in found.items() if slot[0] != MODE_ITEM}
    return grounded(state, values) if view is View.GROUND else values


def ground_of(state: ArmState, slot: Slot) -> Message | None:
    """What took effect last in a slot, overrides left out; None of a slot that was never read."""
    reported = state.reported.get(slot)
    if reported is None or state.overrides is None:
        return reported
    return put(state, slot, reported, state.overrides.grounds)
