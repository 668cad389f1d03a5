"""Places: what one change names by itself, a slot, or of an item that is set part by part a part of one."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from handlers.state.provenance import PARTED, numbers_of
from schema.arms import Slot
from schema.codecs.plain import to_plain
from schema.codecs.scalars import write_limit
from schema.items import slot_path
from schema.joint_items import JointSafetyGains
from schema.messages import Message

Place = Slot | tuple[str, int, str]
"""Item and mode; with the name of a part (`numbers_of`) where the item has parts."""
OF_SLOT: Final = 2
OF_PART: Final = 3
"""How long the place of a slot is, and that of a part."""
Part = bool | float | JointSafetyGains | None
"""The value of a part; None: it is not there."""
Given = Message | Part
"""The value of a place."""


def slot_of(place: Place) -> Slot:
    """The slot that a place is, or is in."""
    return place[0], place[1]


def place_path(place: Place) -> str:
    """The path of a slot; of a part its name behind it."""
    return " ".join((slot_path(slot_of(place)), *place[2:]))


def is_of(place: Place, named: frozenset[str] | None) -> bool:
    """Whether a change of a slot that names these parts of it, or the whole, is of a place there."""
    return named is None or place[-1] in named


def is_at(place: Place, slot: Slot, part: str) -> bool:
    """Whether a place is a slot, or in it; where a part is named, that one."""
    return slot_of(place) == slot and part in ("", place[-1])


def differing_parts(one: Message, other: Message) -> frozenset[str]:
    """The parts that two values of an item do not have in common."""
    left, right = numbers_of(one), numbers_of(other)
    return frozenset(name for name in {**left, **right} if left.get(name) != right.get(name))


def places_in(slot: Slot, parts: Iterable[str]) -> tuple[Place, ...]:
    """The places of these parts of a slot."""
    return tuple((*slot, part) for part in parts)


def given_in(slot: Slot, value: Message, named: frozenset[str] | None, before: Message | None) -> dict[Place, Given]:
    """What a value gives to the places that a change names; None stands for all that are there now, or were before."""
    if type(value) not in PARTED:
        return {slot: value}
    parts = numbers_of(value)
    names = [*parts, *(() if before is None else numbers_of(before))] if named is None else sorted(named)
    return {(*slot, name): as_part(parts.get(name)) for name in dict.fromkeys(names)}


def given_at(place: Place, value: Message) -> Given:
    """What a value of its slot has at a place."""
    return value if len(place) == OF_SLOT else as_part(numbers_of(value).get(place[2]))


def as_part(value: object) -> Part:
    """What is known to be the value of a part.

    Raises:
        TypeError: it is not.
    """
    if value is None or isinstance(value, bool | float | JointSafetyGains):
        return value
    raise TypeError(type(value).__name__)


def told_part(part: object) -> Any:
    """The value of a part as documents tell it."""
    if isinstance(part, Message):
        return to_plain(part)
    return write_limit(part) if isinstance(part, float) else part


def by_slot(places: Iterable[Place]) -> dict[Slot, tuple[Place, ...]]:
    """Places by their slots, both in the order in which they come."""
    found: dict[Slot, list[Place]] = {}
    for place in places:
        found.setdefault(slot_of(place), []).append(place)
    return {slot: tuple(ones) for slot, ones in found.items()}


def parts_given(slot: Slot, given: Mapping[Place, Given]) -> dict[str, Part]:
    """The parts of a slot among what is given, by name."""
    return {
        place[2]: as_part(value) for place, value in given.items() if len(place) == OF_PART and slot_of(place) == slot
    }
