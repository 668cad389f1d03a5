"""Undoing a change: where its slots are as it left them they get back what was there before."""

from collections.abc import Mapping
from typing import NamedTuple

from handlers.items.settling import same
from handlers.state.arm_state import ArmState
from handlers.state.places import differing_parts
from handlers.state.provenance import PARTED
from schema.arms import Slot
from schema.items import slot_path
from schema.messages import Message

METHOD = "Reverse"
"""What the history calls it; the policy asks nothing of it."""
WHOLE_ARM = "*"
"""Stands for all slots where one reason keeps all of them."""


class Effect(NamedTuple):
    """What a change did to a slot: the value before it, None where that is not known, and the one that it left."""

    before: Message | None
    after: Message | None


class Undo(NamedTuple):
    """What each slot gets back, of items with parts which of them, and why others are kept as they are, by path."""

    values: dict[Slot, Message]
    named: dict[Slot, frozenset[str]]
    kept: dict[str, str]


def undo(state: ArmState, rev: int, effects: Mapping[Slot, Effect]) -> Undo:
    """What undoes the change of a revision."""
    values: dict[Slot, Message] = {}
    named: dict[Slot, frozenset[str]] = {}
    kept: dict[str, str] = {}
    for slot, (before, after) in effects.items():
        why = _why_kept(state, rev, slot, after)
        if before is None or why:
            kept[slot_path(slot)] = why or "nobody knows what was there before"
        else:
            values[slot] = before
            if type(before) in PARTED and after is not None:
                named[slot] = differing_parts(before, after)
    return Undo(values, named, kept)


def _why_kept(state: ArmState, rev: int, slot: Slot, after: Message | None) -> str:
    """Why a slot is not as a change left it; empty if it is."""
    reported = state.reported.get(slot)
    if state.desired_rev.get(slot) != rev or after is None or reported is None:
        return f"it was set in revision {state.desired_rev.get(slot, 0)}"
    if state.open.get(slot):
        return "a newer change of it is under way"
    if not same(slot[0], reported, after, state.resolution_rad):
        return "another writer changed it"
    return ""
