"""What can become of the slots of a batch, and what that says of the whole."""

from collections.abc import Iterable, Mapping

from handlers.items.settling import Ending
from schema.arms import Slot
from schema.items import slot_path

WHOLE_KEY = "control_configuration"
"""Stands for several items in the history and in `config.pending`."""
UNCHANGED, REVERSED, SUPERSEDED, NOT_BEGUN, EXPIRED = "unchanged", "reversed", "superseded", "not_begun", "expired"
HELD = "held"
OUTCOMES = (
    UNCHANGED, Ending.APPLIED.value, Ending.ROUNDED.value, Ending.CLAMPED.value, REVERSED, SUPERSEDED, NOT_BEGUN,
    Ending.OVERWRITTEN.value, Ending.REFUSED.value, "out_of_limits", "arm_not_ready", "arm_away", HELD, EXPIRED,
)  # fmt: skip
"""What can become of a slot, best first; an item is as its worst slot."""
CHANGED = frozenset(OUTCOMES[1:4])
"""Outcomes of slots that have another value now."""
IN_FORCE = frozenset(OUTCOMES[:4])
"""Outcomes of slots that have what was asked for, clamped at most."""
FAILURES = frozenset(OUTCOMES[7:])
"""Outcomes of slots beside which nothing looser is begun."""
_KINDS = {
    Ending.REFUSED.value: "arm_refused", SUPERSEDED: "overwritten", REVERSED: "arm_refused", NOT_BEGUN: "arm_refused",
}  # fmt: skip
"""The error kind of an outcome, where it is named otherwise."""


def outcome_of(kind: str) -> str:
    """The outcome of a slot that was refused with an error of this kind."""
    return kind if kind in OUTCOMES else Ending.REFUSED.value


def cause_of(outcome: str) -> str:
    """The cause of the event that tells of a failure."""
    if outcome in (Ending.OVERWRITTEN.value, SUPERSEDED, EXPIRED):
        return outcome
    return Ending.REFUSED.value


def kind_of(outcome: str) -> str:
    """The error kind of an outcome that is a failure."""
    return _KINDS.get(outcome, outcome)


def worst(outcomes: Iterable[str]) -> str:
    """The last of OUTCOMES among some."""
    return max(outcomes, key=OUTCOMES.index)


def failed(outcomes: Mapping[Slot, str]) -> dict[Slot, str]:
    """The slots that do not have what was asked for."""
    return {slot: outcome for slot, outcome in outcomes.items() if outcome not in IN_FORCE}


def by_path(outcomes: Mapping[Slot, str]) -> dict[str, str]:
    """The outcomes by the paths of their slots."""
    return {slot_path(slot): outcome for slot, outcome in outcomes.items()}


def by_item(outcomes: Mapping[Slot, str]) -> dict[str, str]:
    """The outcome of each item: that of its worst slot."""
    found: dict[str, str] = {}
    for (key, _), outcome in outcomes.items():
        found[key] = worst((found.get(key, outcome), outcome))
    return found
