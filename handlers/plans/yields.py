"""A plan yields: what was accepted after it wins, whatever the order of work."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from schema.arms import Slot
from schema.errors import BrokerError
from schema.items import slot_path


class Later(NamedTuple):
    """The newest accepted change of a slot: its place in the order of acceptance, its revision, who asked for it.

    The place of a change of a plan is that of the plan.
    """

    place: int
    rev: int
    by: str


def left_of(slots: Iterable[Slot], place: int, newest: Mapping[Slot, Later]) -> tuple[tuple[Slot, ...], Later | None]:
    """The slots of which nothing was accepted after `place`, and the first change that took one of the others."""
    left: list[Slot] = []
    taken: Later | None = None
    for slot in slots:
        found = newest.get(slot)
        if found is None or found.place <= place:
            left.append(slot)
        elif taken is None:
            taken = found
    return tuple(left), taken


def overwritten(slots: Iterable[Slot], arm: str, later: Later) -> BrokerError:
    """The end of a row none of whose slots is left to it."""
    paths = ", ".join(map(slot_path, slots))
    text = f"revision {later.rev} of {arm}, by {later.by}, was accepted after the plan and stands: {paths}"
    return BrokerError("overwritten", f"{text}. Nothing was changed.")
