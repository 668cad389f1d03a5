"""Which arms a screen lists, and in which order. Pure."""

from collections.abc import Callable, Iterable
from typing import Any

from armbroker.board.facts import PRESENCES, WAITING, ArmRow

SORTS: dict[str, Callable[[ArmRow], Any]] = {
    "arm": lambda row: row.id,
    "presence": lambda row: _place(row.presence, PRESENCES),
    "mode": lambda row: row.mode,
    "authority": lambda row: row.authority,
    "pending": lambda row: (-row.pending, _place(row.waits, WAITING)),
    "drift": lambda row: -row.drift,
    "override": lambda row: (-row.overdue, not row.ends, row.ends),
    "model": lambda row: row.model,
}
"""By column: what wants looking at first stands first."""


def matches(row: ArmRow, words: Iterable[str]) -> bool:
    """Whether every word stands somewhere in the line, whatever its case."""
    line = words_of(row)
    return all(word in line for word in words)


def words_of(row: ArmRow) -> str:
    """What a filter looks at, in small letters."""
    parts = [row.id, row.presence, row.mode, row.authority, row.model, row.serial, row.lock, row.why, row.recipe]
    parts.append("ready" if row.ready else "busy")
    parts += [word for word, there in _marks(row) if there]
    return " ".join(parts).lower()


def listed(rows: Iterable[ArmRow], text: str = "", sort: str = "arm", *, down: bool = False) -> list[ArmRow]:
    """The lines that a filter leaves, sorted by a column and then by id."""
    words = text.lower().split()
    found = sorted((row for row in rows if matches(row, words)), key=lambda row: row.id)
    return sorted(found, key=SORTS[sort], reverse=down)


def summary(rows: Iterable[ArmRow]) -> dict[str, int]:
    """How many arms there are, and how many of them are in each state that a screen counts."""
    counts = dict.fromkeys(
        ("arms", "online", "offline", "unknown", "held", "pending", "differs", "locked", "overrides", "overdue"), 0
    )
    for row in rows:
        counts["arms"] += 1
        if row.presence in counts:
            counts[row.presence] += 1
        for word, there in _marks(row)[:5]:
            counts[word] += there
    return counts


def _marks(row: ArmRow) -> tuple[tuple[str, bool], ...]:
    return (
        ("pending", row.pending > 0),
        ("differs", row.drift > 0),
        ("locked", bool(row.lock)),
        ("overrides", row.overrides > 0),
        ("overdue", row.overdue > 0),
        (row.waits, bool(row.waits)),
        ("attention", not row.calm),
    )


def _place(state: str, order: tuple[str, ...]) -> int:
    return order.index(state) if state in order else len(order)
