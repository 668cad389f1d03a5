"""Events as a screen shows them: one record each. Pure."""

from typing import Any

import msgspec

from armbroker.board.facts import by_text, number, text


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
    before: Any = None
    after: Any = None
    reason: str = ""
    kind: str = ""

    @property
    def bad(self) -> bool:
        """Whether something was not done."""
        return self.stage == "refused" or self.event in {"REQUEST_DENIED", "CHANGE_CONTROL_MODE_FAILED", ""}


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
        before=change.get("before"),
        after=change.get("after"),
        reason=text(event.get("reason")),
        kind=text(event.get("kind")),
    )
