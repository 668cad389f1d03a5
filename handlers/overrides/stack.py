"""The arithmetic of overrides: ground below, live overrides by revision on top; the newest is in force.

Every function gives the overrides of the arm as they are afterwards, None where none is left.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from handlers.items.direction import Direction
from handlers.items.parts import place_at_or_tighter
from handlers.state.overrides import Override, Overrides
from handlers.state.places import Given, Place, by_slot, given_at, slot_of
from schema.arms import Slot
from schema.items import ITEMS, Order
from schema.messages import Message

NONE = Overrides()


class Cut(NamedTuple):
    """What is left, the places whose value in force is another override's or the ground, and overrides that ended."""

    left: Overrides | None
    uncovered: tuple[Place, ...]
    ended: tuple[Override, ...]


def push(overrides: Overrides | None, override: Override, grounds: Mapping[Place, Given]) -> Overrides:
    """Put an override in its place by revision; `grounds` count for places that have none yet."""
    known = overrides or NONE
    first = {place: ground for place, ground in grounds.items() if place not in known.grounds}
    same = known.find(override.rev)
    if same is not None:
        override = msgspec.structs.replace(same, values={**same.values, **override.values})
    live = [one for one in known.live if one is not same] + [override]
    live.sort(key=lambda one: one.rev)
    pushed = Overrides({**known.grounds, **first}, tuple(live), known.returning)
    return _paid(pushed, override.values.keys())


def settle(overrides: Overrides, places: Iterable[Place]) -> Cut:
    """Something for good took effect in these places: it is the ground, and the overrides there end."""
    gone = frozenset(places)
    live, ended = [], []
    for one in overrides.live:
        left = {place: value for place, value in one.values.items() if place not in gone}
        if len(left) == len(one.values):
            live.append(one)
        elif left:
            live.append(msgspec.structs.replace(one, values=left))
        else:
            ended.append(one)
    left_over = _paid(Overrides(overrides.grounds, tuple(live), overrides.returning), gone)
    return Cut(_needed(left_over), (), tuple(ended))


def cut(overrides: Overrides, rev: int, owed: Iterable[Place] = ()) -> Cut:
    """An override ends; it is returning as long as places are `owed`."""
    override = _known(overrides, rev)
    uncovered = tuple(place for place in override.values if overrides.newest(place) is override)
    live = tuple(one for one in overrides.live if one is not override)
    returning = overrides.returning
    if owing := tuple(owed):
        before = next(
            (one for one in returning if one.rev == rev), None
        )  # its change took effect in part after its end
        if before is not None:
            returning = tuple(one for one in returning if one is not before)
            owing, override = (*before.owed, *owing), _joined(before, override)
        returning = (*returning, msgspec.structs.replace(override, owed=owing))
    return Cut(_needed(Overrides(overrides.grounds, live, returning)), uncovered, (override,))


def leave(overrides: Overrides, rev: int, slot: Slot) -> Overrides | None:
    """An override leaves one slot, and is gone with its last place."""
    live = []
    for one in overrides.live:
        if one.rev == rev:
            values = {place: value for place, value in one.values.items() if slot_of(place) != slot}
            if values:
                live.append(msgspec.structs.replace(one, values=values))
        else:
            live.append(one)
    return _needed(Overrides(overrides.grounds, tuple(live), overrides.returning))


def keep(overrides: Overrides, rev: int) -> Cut:
    """The values of an override become the ground of their places: it ends, and older ones end there."""
    override = _known(overrides, rev)
    live: list[Override] = []
    ended = [override]
    for one in overrides.live:
        if one is override:
            continue
        values = one.values
        if one.rev < rev:
            values = {place: value for place, value in values.items() if place not in override.values}
        if not values:
            ended.append(one)
        else:
            live.append(one if values is one.values else msgspec.structs.replace(one, values=values))
    kept = Overrides({**overrides.grounds, **override.values}, tuple(live), overrides.returning)
    return Cut(_needed(_paid(kept, override.values.keys())), (), tuple(ended))


def paid(overrides: Overrides, slot: Slot) -> Overrides | None:
    """What a slot owed was written, or is given up: nothing is owed any more."""
    return _needed(_paid(overrides, overrides.owed(slot)))


def failed(overrides: Overrides, slots: Iterable[Slot]) -> Overrides:
    """A return failed in these slots: they are owed on."""
    missed = frozenset(slots)
    returning = tuple(
        msgspec.structs.replace(one, tries=one.tries + 1) if missed & by_slot(one.owed).keys() else one
        for one in overrides.returning
    )
    return Overrides(overrides.grounds, overrides.live, returning)


def half_paid(overrides: Overrides, slot: Slot, value: Message) -> Overrides:
    """A return wrote what tightens of a slot, and more is owed: this is what the arm has of the overrides there now."""
    returning = tuple(
        msgspec.structs.replace(
            one, values={**one.values, **{place: given_at(place, value) for place in by_slot(one.owed).get(slot, ())}}
        )
        for one in overrides.returning
    )
    return Overrides(overrides.grounds, overrides.live, returning)


def changed(overrides: Overrides, override: Override) -> Overrides:
    """A live override has another end, or was announced."""
    live = tuple(override if one.rev == override.rev else one for one in overrides.live)
    return Overrides(overrides.grounds, live, overrides.returning)


def direction(overrides: Overrides, override: Override, places: Iterable[Place] | None = None) -> Direction:
    """Tightening if at or tighter than the ground and every live override below, in all places; unordered by item.

    `places` are those that are looked at; None: all.
    """
    found = Direction.TIGHTENING
    for place in override.values if places is None else places:
        value = override.values[place]
        if ITEMS[place[0]].order is Order.UNORDERED:
            found = Direction.UNORDERED
            continue
        if not all(place_at_or_tighter(place, value, other) for other in _under(overrides, override, place)):
            return Direction.LOOSENING
    return found


def gives_way(overrides: Overrides, override: Override) -> bool:
    """Whether its end can only tighten, now and later: ground and every live override below are at or tighter."""
    return all(
        place_at_or_tighter(place, other, value)
        for place, value in override.values.items()
        for other in _under(overrides, override, place)
    )


def below(overrides: Overrides, override: Override, place: Place) -> Given:
    """What is in force at a place without an override."""
    others = [one for one in overrides.of(place) if one.rev != override.rev]
    return others[-1].values[place] if others else overrides.grounds[place]


def _under(overrides: Overrides, override: Override, place: Place) -> Iterator[Given]:
    """The ground of a place, and what live overrides below one gave it."""
    yield overrides.grounds[place]
    yield from (one.values[place] for one in overrides.of(place) if one.rev < override.rev)


def _joined(before: Override, override: Override) -> Override:
    """One override over what two of the same revision gave."""
    return msgspec.structs.replace(before, values={**before.values, **override.values})


def _known(overrides: Overrides, rev: int) -> Override:
    override = overrides.find(rev)
    if override is None:
        raise KeyError(rev)
    return override


def _paid(overrides: Overrides, places: Iterable[Place]) -> Overrides:
    if not overrides.returning:
        return overrides
    gone = frozenset(places)
    owing = [(one, tuple(place for place in one.owed if place not in gone)) for one in overrides.returning]
    returning = tuple(msgspec.structs.replace(one, owed=owed) for one, owed in owing if owed)
    return Overrides(overrides.grounds, overrides.live, returning)


def _needed(overrides: Overrides) -> Overrides | None:
    """Without the grounds of places in which nothing is live or owed."""
    if not overrides.live and not overrides.returning:
        return None
    places = {place for one in overrides.live for place in one.values}
    places.update(place for one in overrides.returning for place in one.owed)
    grounds = {place: ground for place, ground in overrides.grounds.items() if place in places}
    return Overrides(grounds, overrides.live, overrides.returning)
