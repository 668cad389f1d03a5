"""Changes with an end: what each gave, what was there before all of them, and what is in force."""

from collections.abc import Mapping

import msgspec

from handlers.state.places import Given, Place, by_slot, slot_of
from schema.arms import Slot
from schema.envelope import Author


class Override(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A change with an end, named by its revision; times in µs since 1970.

    `values` are what the arm took of it, by place. After its end it is `returning` as long as places are `owed`:
    those that are still to be tightened; `tries` counts the writes that failed.
    """

    rev: int
    values: Mapping[Place, Given]
    since_us: int
    until_us: int
    by: Author
    request_id: str = ""
    reason: str = ""
    plan: int = 0
    told: bool = False
    """Whether its end was announced."""
    owed: tuple[Place, ...] = ()
    tries: int = 0


class Overrides(msgspec.Struct, frozen=True, gc=False):
    """The overrides of an arm: live ones and those whose return is owed, both by revision; ground of their places."""

    grounds: Mapping[Place, Given] = {}
    live: tuple[Override, ...] = ()
    returning: tuple[Override, ...] = ()

    def of(self, place: Place) -> list[Override]:
        """The live overrides of a place, oldest first."""
        return [one for one in self.live if place in one.values]

    def newest(self, place: Place) -> Override | None:
        """The live override whose value is in force."""
        return next((one for one in reversed(self.live) if place in one.values), None)

    def in_force(self, place: Place) -> Given:
        """The value of the newest live override, else the ground; None where there is neither."""
        newest = self.newest(place)
        return self.grounds.get(place) if newest is None else newest.values[place]

    def places(self, slot: Slot) -> tuple[Place, ...]:
        """Where something of a slot is live or owed."""
        return tuple(place for place in self.grounds if slot_of(place) == slot)

    def owed(self, slot: Slot) -> tuple[Place, ...]:
        """What of a slot is still to be tightened after the end of an override."""
        owed = (place for one in self.returning for place in one.owed if slot_of(place) == slot)
        return tuple(dict.fromkeys(owed))

    def gave(self, slot: Slot) -> dict[Place, Given]:
        """What of a slot ended overrides gave to the places that they owe, those that lay above all others."""
        returning = sorted(self.returning, key=lambda one: one.rev)
        return {place: one.values[place] for one in returning for place in one.owed if slot_of(place) == slot}

    def owes(self, slot: Slot) -> bool:
        """Whether something of a slot is still to be tightened after the end of an override."""
        return bool(self.owed(slot))

    def owing(self, slot: Slot) -> Override | None:
        """The override that ended and gave an arm what it has of a slot that is owed: it lay above all others."""
        owing = (one for one in self.returning if slot in by_slot(one.owed))
        return max(owing, key=lambda one: one.rev, default=None)

    @property
    def is_whole(self) -> bool:
        """Whether the ground of every place is there in which something is live or owed."""
        of_live = all(place in self.grounds for one in self.live for place in one.values)
        return of_live and all(place in self.grounds for one in self.returning for place in one.owed)

    def find(self, rev: int) -> Override | None:
        """The live override of a revision."""
        return next((one for one in self.live if one.rev == rev), None)
