"""What a request needs of the policy: one need for each slot that it changes."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from handlers.items.direction import at_or_tighter
from handlers.items.parts import put
from handlers.methods.factory import step_of
from handlers.policy.quantities import Number, bounded, quantities_of
from handlers.policy.rights import PolicyRight
from handlers.rpc.outcome import BatchProposal, Outcome, Proposal, Restoration
from handlers.stack.arm_limits import limits_of
from handlers.state.arm_state import ArmState
from handlers.state.places import is_of
from limits.stack.joints import ArmJoints
from schema.arms import Slot, Verb
from schema.items import ITEMS, ConfigItem, slot_path
from schema.messages import Message

Named = frozenset[str] | None
"""The parts that a change is of; None: the whole."""
References = Callable[[ArmState, Slot, Message | None, Named], tuple[Message, ...]]
"""What a change must be at or tighter than, to need no more than to tighten: reported, ground, live overrides."""


class Need(NamedTuple):
    """One right on one arm (empty: of no arm), and what is to be in force then.

    `item` is empty where all of an arm is meant, or none. `numbers` are those that ceilings may bound; `unknown` are
    quantities whose numbers are not known beforehand.
    """

    right: PolicyRight
    arm: str = ""
    item: str = ""
    path: str = ""
    numbers: tuple[Number, ...] = ()
    unknown: frozenset[str] = frozenset()
    lasts_us: int | None = None
    """How long it lasts in all, 0 = for good; None: as long as the request says."""


def references_of(
    state: ArmState, slot: Slot, value: Message | None = None, named: Named = None
) -> tuple[Message, ...]:
    """What is reported of a slot, desired, its ground, its live overrides; nothing where it was never read.

    Of an item with parts ground and overrides count as far as they are of the parts that a change to `value` is of.
    """
    reported, desired = state.reported.get(slot), state.desired.get(slot)
    if reported is None:
        return ()
    found = [reported] if desired is None or desired is reported else [reported, desired]
    overrides = state.overrides
    if overrides is not None:
        places = [place for place in overrides.places(slot) if is_of(place, named)]
        for known in (overrides.grounds, *(one.values for one in overrides.live)):
            given = {place: known[place] for place in places if place in known}
            if given:
                found.append(put(state, slot, reported if value is None else value, given))
    return tuple(found)


def need_of(
    arm: str,
    slot: Slot,
    value: Message | None,
    references: Iterable[Message],
    *,
    joints: ArmJoints | None = None,
    resets: bool = False,
    unchanged: bool = False,
) -> Need:
    """What the change of a slot needs.

    Args:
        arm: its arm.
        slot: the slot.
        value: what is to be in force; None: not known beforehand.
        references: what is at or looser than what tightens; none: nothing is known of the slot.
        joints: those of the arm, where they are known.
        resets: whether it goes back to what the arm came with: that loosens, whatever it is.
        unchanged: whether the slot has the value.
    """
    item, path, references = ITEMS[slot[0]], slot_path(slot), tuple(references)
    if unchanged or (value is not None and not resets and _tightens(item, value, references)):
        return Need(PolicyRight.TIGHTEN, arm, item.key, path)
    if value is None:
        return Need(PolicyRight.LOOSEN, arm, item.key, path, unknown=quantities_of(item))
    return Need(PolicyRight.LOOSEN, arm, item.key, path, tuple(bounded(item, value, references, joints)))


def _tightens(item: ConfigItem, value: Message, references: tuple[Message, ...]) -> bool:
    return bool(references) and all(at_or_tighter(item, value, reference) for reference in references)


def needs_of(state: ArmState, outcome: Outcome, references: References = references_of) -> tuple[Need, ...]:
    """What a decision needs beside the right that the name of its method tells."""
    if isinstance(outcome, Proposal):
        if outcome.slot[0] == "control_mode":
            return ()
        return (_need_of(state, outcome, references, resets=outcome.verb is Verb.RESET),)
    if isinstance(outcome, BatchProposal):
        return tuple(_need_of(state, step, references) for step in outcome.steps)
    if isinstance(outcome, Restoration):
        resets = [Proposal(slot, *step_of(state, ITEMS[slot[0]], slot), loosening=True) for slot in outcome.slots]
        return tuple(_need_of(state, one, references, resets=True) for one in resets)
    return ()


def _need_of(state: ArmState, change: Proposal, references: References, *, resets: bool = False) -> Need:
    known = references(state, change.slot, change.value, change.named)
    return need_of(
        state.arm, change.slot, change.value, known, joints=limits_of(state).joints, resets=resets,
        unchanged=change.unchanged,
    )  # fmt: skip
