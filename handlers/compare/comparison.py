"""The differences between the values of two sources."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from handlers.items.direction import direction_of
from handlers.items.overlay import overlay
from handlers.items.settling import equal
from schema.arms import Slot
from schema.codecs.items_form import VALUE_SLOTS
from schema.codecs.plain import bare
from schema.intrinsic import JointLimits
from schema.items import ITEMS, slot_path
from schema.messages import Message

PATHS_SHOWN = 8
"""Paths of a row of a comparison with many arms."""


class Side(NamedTuple):
    """The values of one source; those of a `partial` one (a recipe, literal values) are all that it speaks of."""

    values: Mapping[Slot, Message]
    partial: bool = False


class Difference(NamedTuple):
    """A slot that both sides have, with different values."""

    slot: Slot
    before: Message
    after: Message


class Compared(NamedTuple):
    """What two sides say differently, slots in the order of the items.

    Beside a partial side only slots and parts count that this one names; of two partial sides all.
    """

    differences: tuple[Difference, ...]
    only_from: tuple[Slot, ...]
    only_to: tuple[Slot, ...]

    @property
    def paths(self) -> list[str]:
        """Every path that differs, in the order of the items."""
        slots = {*(one.slot for one in self.differences), *self.only_from, *self.only_to}
        return [slot_path(slot) for slot in VALUE_SLOTS if slot in slots]


def compare(base: Side, target: Side, slots: Collection[Slot] | None, resolution_rad: float) -> Compared:
    """Compare two sides, as far as `slots` go; values count as the same within an arm's resolution."""
    one_is_partial = base.partial is not target.partial
    differences, only_from, only_to = [], [], []
    for slot in VALUE_SLOTS if slots is None else [slot for slot in VALUE_SLOTS if slot in slots]:
        before, after = base.values.get(slot), target.values.get(slot)
        if before is None or after is None:
            if after is not None and not (one_is_partial and base.partial):
                only_to.append(slot)
            elif before is not None and not (one_is_partial and target.partial):
                only_from.append(slot)
            continue
        if one_is_partial:
            before, after = (before, overlay(before, after)) if target.partial else (overlay(after, before), after)
        if not _same(slot, before, after, resolution_rad):
            differences.append(Difference(slot, before, after))
    return Compared(tuple(differences), tuple(only_from), tuple(only_to))


def _same(slot: Slot, before: Message, after: Message, resolution_rad: float) -> bool:
    if isinstance(before, JointLimits) and isinstance(after, JointLimits):
        before, after = _limiting(before), _limiting(after)
    return equal(slot[0], before, after, resolution_rad)


def _limiting(limits: JointLimits) -> JointLimits:
    """Limits without the lists that limit no joint."""
    lists = {name: getattr(limits, name) for name in limits.__struct_fields__}
    unlimited = {name: float("-inf" if name == "min_position" else "inf") for name in lists}
    return JointLimits(
        **{name: one for name, one in lists.items() if one and any(value != unlimited[name] for value in one.values)}
    )


def comparison_document(found: Compared) -> dict[str, Any]:
    """The result of Diff of one arm."""
    paths = found.paths
    return {
        "same": not paths,
        "count": len(paths),
        "differences": [_difference(one) for one in found.differences],
        "only_from": [slot_path(slot) for slot in found.only_from],
        "only_to": [slot_path(slot) for slot in found.only_to],
    }


def comparison_row(arm: str, found: Compared) -> dict[str, Any]:
    """The row of an arm in the result of Diff of a group."""
    paths = found.paths
    return {"arm": arm, "same": not paths, "count": len(paths), "paths": paths[:PATHS_SHOWN]}


def _difference(one: Difference) -> dict[str, Any]:
    item = ITEMS[one.slot[0]]
    return {
        "path": slot_path(one.slot),
        "from": bare(one.before, item.field),
        "to": bare(one.after, item.field),
        "direction": direction_of(item, one.after, one.before).value,
    }
