"""Who set which value that is in force, part by part where several did."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from handlers.state.arm_state import ArmState
from handlers.state.places import told_part
from handlers.state.provenance import NOBODY, Stamp, numbers_of
from schema.arms import Slot
from schema.codecs.plain import bare
from schema.codecs.times import format_time
from schema.items import ITEMS, slot_path

ADOPTED = "@adopted"
"""The author of a value that was there when its arm was adopted."""


class Claim(NamedTuple):
    """A value in force, or a part of one, and who set it."""

    slot: Slot
    part: str
    value: Any
    stamp: Stamp


def claims(state: ArmState, slot: Slot) -> list[Claim]:
    """Who set the value of a slot: the newest of its author's changes, or part by part where authors differ.

    So it is told where overrides hold some parts alone.
    """
    value, setter = state.reported[slot], state.reported_by.get(slot, NOBODY)
    stamps = {name: setter.of(name) for name in numbers_of(value)}
    over = frozenset() if state.overrides is None else frozenset(state.overrides.places(slot))
    if len({(stamp.by, (*slot, name) in over) for name, stamp in stamps.items()}) > 1:
        parts = numbers_of(value)
        return [Claim(slot, name, told_part(parts[name]), stamp) for name, stamp in stamps.items()]
    newest = max(stamps.values(), key=lambda stamp: stamp.at_us, default=setter.last)
    return [Claim(slot, "", bare(value, ITEMS[slot[0]].field), newest)]


def claim_document(claim: Claim, rev: int, at_us: int, by: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of Blame; `told` is what the history tells of the change."""
    document: dict[str, Any] = {"path": slot_path(claim.slot)}
    if claim.part:
        document["part"] = claim.part
    return document | {"value": claim.value, "rev": rev, "at": format_time(at_us), "by": by, "method": "", **told}
