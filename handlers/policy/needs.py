"""What a request needs of the policy: one need for each slot that it changes."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from handlers.items.direction import at_or_tighter
from handlers.methods.factory import step_of
from handlers.policy.quantities import Number, bounded, quantities_of
from handlers.policy.rights import PolicyRight
from handlers.rpc.outcome import Outcome, Proposal, Restoration
from handlers.stack.arm_limits import limits_of
from handlers.state.arm_state import ArmState
from schema.arms import Slot
from schema.items import ITEMS, ConfigItem, slot_path
from schema.messages import Message

References = Callable[[ArmState, Slot], tuple[Message, ...]]
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


def references_of(state: ArmState, slot: Slot) -> tuple[Message, ...]:
    """What is reported of a slot, desired, its ground, its live overrides; nothing where it was never read."""
    reported, desired = state.reported.get(slot), state.desired.get(slot)
    if reported is None:
        return ()
    found = [reported] if desired is None or desired is reported else [reported, desired]
    if state.overrides is not None:
        ground = state.overrides.grounds.get(slot)
        found += [] if ground is None else [ground]
        found += [one.values[slot] for one in state.overrides.of(slot)]
    return tuple(found)


def need_of(
    state: ArmState, slot: Slot, value: Message | None, *, unchanged: bool = False, references: tuple[Message, ...]
) -> Need:
    """What the change of a slot to a value (None: not known beforehand) needs."""
    item, path = ITEMS[slot[0]], slot_path(slot)
    if unchanged or (value is not None and _tightens(item, value, references)):
        return Need(PolicyRight.TIGHTEN, state.arm, item.key, path)
    if value is None:
        return Need(PolicyRight.LOOSEN, state.arm, item.key, path, unknown=quantities_of(item))
    return Need(PolicyRight.LOOSEN, state.arm, item.key, path, _numbers(state, item, value, references))


def _numbers(state: ArmState, item: ConfigItem, value: Message, references: tuple[Message, ...]) -> tuple[Number, ...]:
    return tuple(bounded(item, value, references, limits_of(state).joints))


def _tightens(item: ConfigItem, value: Message, references: tuple[Message, ...]) -> bool:
    return bool(references) and all(at_or_tighter(item, value, reference) for reference in references)


def needs_of(state: ArmState, outcome: Outcome, references: References = references_of) -> tuple[Need, ...]:
    """What a decision needs beside the right that the name of its method tells."""
    if isinstance(outcome, Proposal):
        if outcome.slot[0] == "control_mode":
            return ()
        held = references(state, outcome.slot)
        return (need_of(state, outcome.slot, outcome.value, unchanged=outcome.unchanged, references=held),)
    if isinstance(outcome, Restoration):
        return tuple(_restored(state, outcome.slots, references))
    return ()


def _restored(state: ArmState, slots: Iterable[Slot], references: References) -> Iterable[Need]:
    """A return to what the arm came with loosens, whatever it is."""
    for slot in slots:
        item = ITEMS[slot[0]]
        value = step_of(state, item, slot).value
        numbers = () if value is None else _numbers(state, item, value, references(state, slot))
        unknown = quantities_of(item) if value is None else frozenset()
        yield Need(PolicyRight.LOOSEN, state.arm, item.key, slot_path(slot), numbers, unknown)
