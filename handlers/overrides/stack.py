"""The arithmetic of overrides: ground below, live overrides by revision on top; the newest is in force.

Every function gives the overrides of the arm as they are afterwards, None where none is left.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from handlers.items.direction import Direction, at_or_tighter
from handlers.state.overrides import Override, Overrides
from schema.arms import Slot
from schema.items import ITEMS, Order
from schema.messages import Message

NONE = Overrides()


class Cut(NamedTuple):
    """What is left, the slots whose value in force is another override's or the ground, and overrides that ended."""

    left: Overrides | None
    uncovered: tuple[Slot, ...]
    ended: tuple[Override, ...]


def push(overrides: Overrides | None, override: Override, grounds: Mapping[Slot, Message]) -> Overrides:
    """Put an override in its place by revision; `grounds` count for slots that have none yet."""
    known = overrides or NONE
    first = {slot: ground for slot, ground in grounds.items() if slot not in known.grounds}
    same = known.find(override.rev)
    if same is not None:
        override = msgspec.structs.replace(same, values={**same.values, **override.values})
    live = [one for one in known.live if one is not same] + [override]
    live.sort(key=lambda one: one.rev)
    pushed = Overrides({**known.grounds, **first}, tuple(live), known.returning)
    return _paid(pushed, override.values.keys())


def settle(overrides: Overrides, slots: Iterable[Slot]) -> Cut:
    """Something for good took effect in these slots: it is the ground, and the overrides there end."""
    gone = frozenset(slots)
    live, ended = [], []
    for one in overrides.live:
        left = {slot: value for slot, value in one.values.items() if slot not in gone}
        if len(left) == len(one.values):
            live.append(one)
        elif left:
            live.append(msgspec.structs.replace(one, values=left))
        else:
            ended.append(one)
    left_over = _paid(Overrides(overrides.grounds, tuple(live), overrides.returning), gone)
    return Cut(_needed(left_over), (), tuple(ended))


def cut(overrides: Overrides, rev: int, owed: Iterable[Slot] = ()) -> Cut:
    """An override ends; it is returning as long as slots are `owed`."""
    override = _known(overrides, rev)
    uncovered = tuple(slot for slot in override.values if overrides.newest(slot) is override)
    live = tuple(one for one in overrides.live if one is not override)
    returning = overrides.returning
    if owing := tuple(owed):
        returning = (*returning, msgspec.structs.replace(override, owed=owing))
    return Cut(_needed(Overrides(overrides.grounds, live, returning)), uncovered, (override,))


def leave(overrides: Overrides, rev: int, slot: Slot) -> Overrides | None:
    """An override leaves one slot, and is gone with its last one."""
    live = []
    for one in overrides.live:
        if one.rev == rev:
            values = {known: value for known, value in one.values.items() if known != slot}
            if values:
                live.append(msgspec.structs.replace(one, values=values))
        else:
            live.append(one)
    return _needed(Overrides(overrides.grounds, tuple(live), overrides.returning))


def keep(overrides: Overrides, rev: int) -> Cut:
    """The values of an override become the ground of their slots: it ends, and older ones end there."""
    override = _known(overrides, rev)
    live: list[Override] = []
    ended = [override]
    for one in overrides.live:
        if one is override:
            continue
        values = one.values
        if one.rev < rev:
            values = {slot: value for slot, value in values.items() if slot not in override.values}
        if not values:
            ended.append(one)
        else:
            live.append(one if values is one.values else msgspec.structs.replace(one, values=values))
    kept = Overrides({**overrides.grounds, **override.values}, tuple(live), overrides.returning)
    return Cut(_needed(_paid(kept, override.values.keys())), (), tuple(ended))


def paid(overrides: Overrides, slot: Slot) -> Overrides | None:
    """What a slot owed was written, or somebody set it: nothing is owed any more."""
    return _needed(_paid(overrides, (slot,)))


def failed(overrides: Overrides, slot: Slot) -> Overrides:
    """A return of a slot failed: it is owed on."""
    returning = tuple(
        msgspec.structs.replace(one, tries=one.tries + 1) if slot in one.owed else one for one in overrides.returning
    )
    return Overrides(overrides.grounds, overrides.live, returning)


def changed(overrides: Overrides, override: Override) -> Overrides:
    """A live override has another end, or was announced."""
    live = tuple(override if one.rev == override.rev else one for one in overrides.live)
    return Overrides(overrides.grounds, live, overrides.returning)


def direction(overrides: Overrides, override: Override, slots: Iterable[Slot] | None = None) -> Direction:
    """Tightening if at or tighter than the ground and every live override below, in all slots; unordered by item.

    `slots` are those that are looked at; None: all.
    """
    found = Direction.TIGHTENING
    for slot in override.values if slots is None else slots:
        value, item = override.values[slot], ITEMS[slot[0]]
        if item.order is Order.UNORDERED:
            found = Direction.UNORDERED
            continue
        below = [one.values[slot] for one in overrides.of(slot) if one.rev < override.rev]
        if not all(at_or_tighter(item, value, other) for other in (overrides.grounds[slot], *below)):
            return Direction.LOOSENING
    return found


def gives_way(overrides: Overrides, override: Override) -> bool:
    """Whether its end can only tighten, now and later: ground and every live override below are at or tighter."""
    return all(
        at_or_tighter(ITEMS[slot[0]], other, value)
        for slot, value in override.values.items()
        for other in (
            overrides.grounds[slot], *(one.values[slot] for one in overrides.of(slot) if one.rev < override.rev)
        )
    )  # fmt: skip


def _known(overrides: Overrides, rev: int) -> Override:
    override = overrides.find(rev)
    if override is None:
        raise KeyError(rev)
    return override


def _paid(overrides: Overrides, slots: Iterable[Slot]) -> Overrides:
    if not overrides.returning:
        return overrides
    gone = frozenset(slots)
    owing = [(one, tuple(slot for slot in one.owed if slot not in gone)) for one in overrides.returning]
    returning = tuple(msgspec.structs.replace(one, owed=owed) for one, owed in owing if owed)
    return Overrides(overrides.grounds, overrides.live, returning)


def _needed(overrides: Overrides) -> Overrides | None:
    """Without the grounds of slots in which nothing is live or owed."""
    if not overrides.live and not overrides.returning:
        return None
    slots = {slot for one in overrides.live for slot in one.values}
    slots.update(slot for one in overrides.returning for slot in one.owed)
    grounds = {slot: ground for slot, ground in overrides.grounds.items() if slot in slots}
    return Overrides(grounds, overrides.live, overrides.returning)
