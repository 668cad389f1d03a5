"""Groups and plans as a screen shows them: a record for each retained document. Pure."""

from typing import Any

import msgspec

from armbroker.board.facts import by_text, listed, number, table, text
from armbroker.client.monitor import PLAN_DOCUMENT

GROUP_DOCUMENT = "fleet"
ENDED = "ended"
BAD_OUTCOMES = frozenset({"partial", "refused", "aborted", "expired", "quarantined"})
"""Outcomes of plans after which something was not done."""
OPEN_STATES = frozenset({"waiting", "stored"})
"""States of rows that have no end yet."""


class Attention(msgspec.Struct, frozen=True):
    """An arm of a group that wants looking at, and why."""

    arm: str
    why: str


class GroupRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """The line of a group: numbers of arms, but `pending`, `overrides` and `overdue`, which count changes."""

    name: str
    arms: int = 0
    online: int = 0
    ready: int = 0
    faults: int = 0
    locked: int = 0
    held: int = 0
    pending: int = 0
    differs: int = 0
    overrides: int = 0
    overdue: int = 0
    next_end: str = ""
    recipes: dict[str, int] = {}
    recipe_drift: int = 0
    plans: list[int] = []
    attention: list[Attention] = []


class PlanRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """The line of a plan; `counts` are rows by state, `ended` of `total` rows have their end."""

    plan: int
    kind: str = ""
    state: str = ""
    outcome: str = ""
    why: str = ""
    target: str = ""
    method: str = ""
    by: str = ""
    approved_by: str = ""
    reason: str = ""
    at: str = ""
    until: str = ""
    expires: str = ""
    wave: int = 0
    waves: int = 0
    total: int = 0
    ended: int = 0
    counts: dict[str, int] = {}
    failed: list[Attention] = []

    @property
    def bad(self) -> bool:
        """Whether it ended with something not done."""
        return self.outcome in BAD_OUTCOMES

    @property
    def live(self) -> bool:
        """Whether something may still come of it."""
        return self.state != ENDED


def group_row(name: str, document: dict[str, Any]) -> GroupRow:
    """The line of a group's summary."""
    numbers = {
        field: number(document.get(field))
        for field in (
            "arms", "online", "ready", "faults", "locked", "held", "pending", "differs", "overrides", "overdue",
            "recipe_drift",
        )
    }  # fmt: skip
    return GroupRow(
        name=name,
        next_end=text(document.get("next_end")),
        recipes=_numbers(document.get("recipes")),
        plans=[number(each) for each in listed(document.get("plans"))],
        attention=_attention(document.get("attention")),
        **numbers,
    )


def plan_row(plan: int, document: dict[str, Any]) -> PlanRow:
    """The line of a plan's document."""
    texts = {
        field: text(document.get(field))
        for field in (
            "kind", "state", "outcome", "why", "target", "method", "approved_by", "reason", "at", "until", "expires",
        )
    }  # fmt: skip
    counts = _numbers(document.get("counts"))
    total = counts.pop("total", sum(counts.values()))
    return PlanRow(
        plan=plan,
        by=by_text(document.get("by")),
        wave=number(document.get("wave")),
        waves=len(listed(document.get("waves"))),
        total=total,
        ended=total - sum(each for state, each in counts.items() if state in OPEN_STATES),
        counts=counts,
        failed=_attention(document.get("failed")),
        **texts,
    )


def plan_number(name: str) -> int:
    """The plan whose document has this name below `state/@all/`; 0 for another name."""
    digits = name.removeprefix(PLAN_DOCUMENT)
    return int(digits) if name != digits and digits.isascii() and digits.isdecimal() else 0


def _numbers(value: object) -> dict[str, int]:
    return {name: number(each) for name, each in table(value).items()}


def _attention(value: object) -> list[Attention]:
    """Arms that want looking at: of a group `{arm, why}`, of a plan its rows."""
    return [
        Attention(text(each.get("arm")), next((said for name in _WHY if (said := text(each.get(name)))), ""))
        for each in listed(value)
        if isinstance(each, dict)
    ]


_WHY = ("why", "message", "name", "kind", "state")
"""What says why, what says most first."""
