"""Events as a screen shows them: one record each. Pure."""

from typing import Any

import msgspec

from armbroker.board.facts import by_text, listed, number, table, text
from armbroker.board.fleet import BAD_OUTCOMES
from schema.items import ITEMS


class EventLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event; `before` and `after` are absent where an arm only says that something happened.

    `event` is empty for a word of the screen itself: events of `arm` (empty: of all) can be missing, `reason` says why.
    """

    arm: str
    at: str
    event: str = ""
    seq: int = 0
    cause: str = ""
    stage: str = ""
    by: str = ""
    item: str = ""
    slot: str = ""
    unit: str = ""
    """Of a value that is a number, or numbers of one kind; empty for none."""
    before: Any = None
    after: Any = None
    reason: str = ""
    kind: str = ""
    about: str = ""
    """What it tells of beside a change: an override, a plan, a recipe."""

    @property
    def bad(self) -> bool:
        """Whether something was not done."""
        failed = self.event == "PLAN_ENDED" and self.cause in BAD_OUTCOMES
        return failed or self.stage == "refused" or self.event in {"REQUEST_DENIED", "CHANGE_CONTROL_MODE_FAILED", ""}


def event_line(arm: str, event: dict[str, Any]) -> EventLine:
    """What a screen shows of an event."""
    change = event.get("change")
    change = change if isinstance(change, dict) else {}
    return EventLine(
        arm=arm,
        at=text(event.get("at")),
        event=text(event.get("event")),
        seq=number(event.get("seq")),
        cause=text(event.get("cause")),
        stage=text(event.get("stage")),
        by=by_text(event.get("by")),
        item=text(change.get("item")),
        slot=text(change.get("slot")),
        unit=_unit(text(change.get("item"))),
        before=change.get("before"),
        after=change.get("after"),
        reason=text(event.get("reason")),
        kind=text(event.get("kind")),
        about=_about(event),
    )


def _unit(item: str) -> str:
    """The unit of all numbers of an item."""
    row = ITEMS.get(item)
    return row.quantity.unit if row is not None and row.quantity is not None else ""


def _about(event: dict[str, Any]) -> str:
    """What the details of an event tell, on one line."""
    details, plan = table(event.get("details")), number(event.get("plan"))
    parts = [f"plan {plan}"] if plan else []
    parts += [text(details.get(name)) for name in ("method", "target", "state")]
    if text(details.get("name")):
        parts.append(f"{text(details.get('name'))}@{number(details.get('version'))}")
    parts.append(", ".join(text(path) for path in listed(details.get("paths"))))
    if text(event.get("until")):
        parts.append(f"until {text(event.get('until'))}")
    parts += [f"{number(each)} {state}" for state, each in table(details.get("counts")).items() if state != "total"]
    return " ".join(filter(None, parts))
