"""Who set which value that is in force, part by part where several did."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from handlers.state.arm_state import ArmState
from handlers.state.provenance import NOBODY, Stamp, numbers_of
from schema.arms import Slot
from schema.codecs.plain import bare, to_plain
from schema.codecs.scalars import write_limit
from schema.codecs.times import format_time
from schema.items import ITEMS, slot_path
from schema.messages import Message

ADOPTED = "@adopted"
"""The author of a value that was there when its arm was adopted."""


class Claim(NamedTuple):
    """A value in force, or a part of one, and who set it."""

    slot: Slot
    part: str
    value: Any
    stamp: Stamp


def claims(state: ArmState, slot: Slot) -> list[Claim]:
    """Who set the value of a slot: the newest of its author's changes, or part by part where authors differ."""
    value, setter = state.reported[slot], state.reported_by.get(slot, NOBODY)
    stamps = {name: setter.of(name) for name in numbers_of(value)}
    if len({stamp.by for stamp in stamps.values()}) > 1:
        parts = numbers_of(value)
        return [Claim(slot, name, _plain(parts[name]), stamp) for name, stamp in stamps.items()]
    newest = max(stamps.values(), key=lambda stamp: stamp.at_us, default=setter.last)
    return [Claim(slot, "", bare(value, ITEMS[slot[0]].field), newest)]


def _plain(part: object) -> Any:
    if isinstance(part, Message):
        return to_plain(part)
    return write_limit(part) if isinstance(part, float) else part


def claim_document(claim: Claim, rev: int, at_us: int, by: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of Blame; `told` is what the history tells of the change."""
    document: dict[str, Any] = {"path": slot_path(claim.slot)}
    if claim.part:
        document["part"] = claim.part
    return document | {"value": claim.value, "rev": rev, "at": format_time(at_us), "by": by, "method": "", **told}
