"""Changes with an end as a screen shows them. Pure."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from armbroker.board.facts import by_text, listed, number, table, text

OVERDUE = "overdue"
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400


class Override(msgspec.Struct, frozen=True):
    """A change with an end: what it changes, until when, and what counts again then."""

    rev: int
    paths: list[str]
    since: str
    until: str
    by: str
    direction: str
    state: str
    plan: int
    ground: dict[str, Any]


def overrides_of(config: dict[str, Any]) -> list[Override]:
    """The overrides of an arm, by its document `config`; what ends first stands first."""
    found = [
        Override(
            rev=number(each.get("rev")),
            paths=[text(path) for path in listed(each.get("paths"))],
            since=text(each.get("since")),
            until=text(each.get("until")),
            by=by_text(each.get("by")),
            direction=text(each.get("direction")),
            state=text(each.get("state")),
            plan=number(each.get("plan")),
            ground=table(each.get("ground")),
        )
        for each in listed(config.get("overrides"))
        if isinstance(each, dict)
    ]
    return sorted(found, key=lambda each: (each.until, each.rev))


def left_s(until: str, now_s: float) -> float | None:
    """Seconds until a time (`now_s` since 1970), 0 if it is over; None where it is none."""
    try:
        when = datetime.fromisoformat(until)
    except ValueError:
        return None
    return max(0.0, (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - now_s)


def countdown(until: str, now_s: float) -> str:
    """What is left until a time, in two units at most: `1 d 4 h`, `12 min`, `9 s`; `over` behind it."""
    left = left_s(until, now_s)
    if left is None:
        return "-"
    whole = int(left)
    if whole >= _DAY_S:
        return f"{whole // _DAY_S} d {whole % _DAY_S // _HOUR_S} h"
    if whole >= _HOUR_S:
        return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S} min"
    if whole >= _MINUTE_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S} s"
    return f"{whole} s" if left else "over"
