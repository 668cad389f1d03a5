"""Changes with an end: what each gave, what was there before all of them, and what is in force."""

from collections.abc import Mapping

import msgspec

from schema.arms import Slot
from schema.envelope import Author
from schema.messages import Message


class Override(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A change with an end, named by its revision; times in µs since 1970.

    `values` are what the arm took of it, by slot. After its end it is `returning` as long as there are slots in `owed`:
    those that are still to be tightened; `tries` counts the writes that failed.
    """

    rev: int
    values: Mapping[Slot, Message]
    since_us: int
    until_us: int
    by: Author
    request_id: str = ""
    reason: str = ""
    plan: int = 0
    told: bool = False
    """Whether its end was announced."""
    owed: tuple[Slot, ...] = ()
    tries: int = 0


class Overrides(msgspec.Struct, frozen=True, gc=False):
    """The overrides of an arm: live ones and those whose return is owed, both by revision; ground of their slots."""

    grounds: Mapping[Slot, Message] = {}
    live: tuple[Override, ...] = ()
    returning: tuple[Override, ...] = ()

    def of(self, slot: Slot) -> list[Override]:
        """The live overrides of a slot, oldest first."""
        return [one for one in self.live if slot in one.values]

    def newest(self, slot: Slot) -> Override | None:
        """The live override whose value is in force."""
        return next((one for one in reversed(self.live) if slot in one.values), None)

    def in_force(self, slot: Slot) -> Message | None:
        """The value of the newest live override, else the ground; None where there is neither."""
        newest = self.newest(slot)
        return self.grounds.get(slot) if newest is None else newest.values[slot]

    def owes(self, slot: Slot) -> bool:
        """Whether a slot is still to be tightened after the end of an override."""
        return any(slot in one.owed for one in self.returning)

    @property
    def is_whole(self) -> bool:
        """Whether the ground of every slot is there in which something is live or owed."""
        of_live = all(slot in self.grounds for one in self.live for slot in one.values)
        return of_live and all(slot in self.grounds for one in self.returning for slot in one.owed)

    def find(self, rev: int) -> Override | None:
        """The live override of a revision."""
        return next((one for one in self.live if one.rev == rev), None)
