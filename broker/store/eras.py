"""Ways through the indexes of an arm's changes and events, which begin with an era (see `job`).

In one era there is little of many arms; each is asked for by itself, so a way is as long as there are eras.
"""

from collections.abc import Iterator

Eras = tuple[int, int]
"""The first and the last of some eras; none where the first is above the last."""
_MOST = 1024
"""Eras that one statement asks for, at most."""

# ruff: noqa: S608 - every statement is built from constants
BETWEEN = "WITH RECURSIVE era(e) AS (VALUES (?1) UNION ALL SELECT e + 1 FROM era WHERE e < ?2)"
"""Begins a statement about the eras from the first value to the second."""


def _bounds(given: str) -> str:
    least, highest = (f"(SELECT {end}({given}_era) FROM job WHERE {given} > 0)" for end in ("min", "max"))
    return f"SELECT coalesce({least}, 0), coalesce({highest}, -1)"


def _all(given: str, first: str, last: str, step: str) -> str:
    """Begins a statement about all eras, in an order."""
    ends = (f"(SELECT {end}({given}_era) FROM job WHERE {given} > 0)" for end in (first, last))
    begin, end = ends
    return f"WITH RECURSIVE era(e) AS (SELECT {begin} UNION ALL SELECT e {step} 1 FROM era WHERE e <> {end})"


def _in_one(given: str) -> str:
    """The entries of one era of the arm that is the first value."""
    return f"FROM job WHERE {given}_era = e AND arm = ?1 AND {given} > 0"


def _end(given: str, end: str, up: str) -> str:
    """The lowest or highest number that an arm was given."""
    one = f"SELECT (SELECT {end}({given}) {_in_one(given)}) AS number FROM era"
    return f"{up} SELECT number FROM ({one}) WHERE number IS NOT NULL LIMIT 1"


def _start(given: str) -> str:
    """The last era in which an arm (first value) was given a number up to the second value."""
    down = _all(given, "max", "min", "-")
    return f"{down} SELECT e FROM era WHERE EXISTS (SELECT 1 {_in_one(given)} AND {given} <= ?2) LIMIT 1"


OF_REVS, OF_SEQS = _all("rev", "min", "max", "+"), _all("seq", "min", "max", "+")
"""Begin a statement about all eras of revisions, and of events."""
OF_ARM_BY_SEQ = "seq_era = e AND arm = ?1 AND seq > 0"
"""Joins an era with the events of an arm (first value) in it."""
REV_BOUNDS, SEQ_BOUNDS = _bounds("rev"), _bounds("seq")
"""Find `Eras`: all there are of revisions, and of events."""
REV_START, SEQ_START = _start("rev"), _start("seq")
"""Find the last era in which an arm (first value) was given a revision, or seq, up to the second value."""
LEAST_REV, HIGHEST_REV = _end("rev", "min", OF_REVS), _end("rev", "max", _all("rev", "max", "min", "-"))
LEAST_SEQ, HIGHEST_SEQ = _end("seq", "min", OF_SEQS), _end("seq", "max", _all("seq", "max", "min", "-"))
"""Find the lowest and the highest that an arm was given; no row where it was given none."""


def ascending(eras: Eras) -> Iterator[Eras]:
    """The eras in pieces, each of twice as many as the one before: what is asked for is mostly near the beginning."""
    first, last = eras
    size = 1
    while first <= last:
        yield first, min(first + size - 1, last)
        first, size = first + size, min(2 * size, _MOST)


def descending(eras: Eras) -> Iterator[Eras]:
    """As `ascending`, from the last one down."""
    first, last = eras
    size = 1
    while first <= last:
        yield max(last - size + 1, first), last
        last, size = last - size, min(2 * size, _MOST)
