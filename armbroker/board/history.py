"""The history of one value: what GetHistory tells, as points of a plot. Pure."""

from collections.abc import Iterable
from typing import Any

import msgspec

from armbroker.board.facts import by_text, text
from armbroker.board.values import flat

IN_FORCE = frozenset({"applied", "rounded", "clamped", "unchanged", "reset", "foreign"})
"""Outcomes and causes after which the value is as told; others left it as it was."""


class Point(msgspec.Struct, frozen=True):
    """A value from a time on: a number, a list of numbers, or another value; `before` is what it was."""

    at: str
    before: Any
    after: Any
    by: str
    reason: str
    outcome: str
    done: bool


def points_of(changes: Iterable[dict[str, Any]], item: str, slot: str, path: str) -> list[Point]:
    """The changes of one value among those of an arm or its events, oldest first."""
    found = [
        _point(change, change.get("outcome") or change.get("cause"), item, path)
        for change in changes
        if change.get("item") == item and text(change.get("slot")) == slot
    ]
    return sorted(found, key=lambda point: point.at)


def _point(change: dict[str, Any], outcome: object, item: str, path: str) -> Point:
    return Point(
        at=text(change.get("at")),
        before=_part(change.get("before"), item, path),
        after=_part(change.get("after"), item, path),
        by=by_text(change.get("by")),
        reason=text(change.get("reason")),
        outcome=text(outcome),
        done=text(outcome) in IN_FORCE,
    )


def _part(value: Any, item: str, path: str) -> Any:
    """What stands below a path of a value; of a slot the bare number or list stands there itself."""
    if not isinstance(value, dict):
        return value
    parts = flat({item: value})
    return parts.get((item, "", path))
