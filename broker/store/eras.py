"""Ways through the indexes of an arm's changes and events, which begin with an era (see `job`).

In one era there is little of many arms; each is asked for by itself, so a way is as long as there are eras of anybody.
From one era the index leads to the next: numbers may lie far apart, or a damaged one far away.
"""

from broker.store import job

Eras = tuple[int, int]
"""Where a way through the eras begins, and where it ends."""
FIRST_ERAS, MOST_ERAS = 1, 16
"""Eras that hold something of an arm, in the first statement of a way, and in later ones at most: all that an era holds
of the arm is looked at, up to 1,024 entries."""

# ruff: noqa: S608 - every statement is built from constants


def _eras(given: str, end: str, beyond: str, start: str = "", on: str = "e IS NOT NULL") -> str:
    """Begins a statement about all eras in an order; UNION ends it where a damaged index leads in a circle."""
    one = f"SELECT {end}({given}_era) FROM job WHERE {given} > 0"
    return (
        f"WITH RECURSIVE era(e) AS (SELECT ({one}{start}) "
        f"UNION SELECT ({one} AND {given}_era {beyond} e) FROM era WHERE {on})"
    )


def _up(given: str) -> str:
    return _eras(given, "min", ">")


def _down(given: str) -> str:
    return _eras(given, "max", "<")


def _in_one(given: str, arm: str) -> str:
    """The entries of one era of an arm."""
    return f"FROM job WHERE {given}_era = e AND arm = {arm} AND {given} > 0"


def _end(given: str, end: str, eras: str) -> str:
    """The lowest or highest number that an arm (first value) was given."""
    one = f"SELECT (SELECT {end}({given}) {_in_one(given, '?1')}) AS number FROM era"
    return f"{eras} SELECT number FROM ({one}) WHERE number IS NOT NULL LIMIT 1"


def _start(given: str) -> str:
    """The last era in which an arm (first value) was given a number up to the second value."""
    return f"{_down(given)} SELECT e FROM era WHERE EXISTS (SELECT 1 {_in_one(given, '?1')} AND {given} <= ?2) LIMIT 1"


def _walk(given: str, eras: str, where: str) -> tuple[str, str]:
    some = f"SELECT e FROM era WHERE EXISTS (SELECT 1 {_in_one(given, '?4')} AND {where}) LIMIT ?3"
    entries = f"FROM some CROSS JOIN job ON {given}_era = e AND arm = ?4 AND {given} > 0 AND {where}"
    return f"{eras}, some(e) AS ({some})", entries


def _going_up(given: str, where: str) -> tuple[str, str]:
    """Begins a statement about the next eras that hold entries of an arm; and those entries, each with its era `e`.

    Values: the era to begin with, the one to end with, how many, the arm, and what the condition has.
    """
    return _walk(given, _eras(given, "min", ">", f" AND {given}_era >= ?1", "e < ?2"), where)


def _going_down(given: str, where: str) -> tuple[str, str]:
    """As `_going_up`, from a later era to an earlier one."""
    return _walk(given, _eras(given, "max", "<", f" AND {given}_era <= ?1", "e > ?2"), where)


_ROWS = f"SELECT {', '.join(f'job.{name}' for name in job.COLUMNS)}, found.e, found.at FROM"
_WITH, _ENTRIES = _going_down("rev", "rev > ?5 AND rev < ?6 AND (?7 IS NULL OR item = ?7)")
HISTORY = f"""{_WITH} {_ROWS} (
        SELECT n AS number, rev AS at, e {_ENTRIES} ORDER BY rev DESC, n DESC LIMIT ?8
    ) AS found LEFT JOIN job ON job.n = found.number ORDER BY found.at DESC, found.number DESC"""
_WITH, _ENTRIES = _going_up("rev", "rev > ?5 AND item = ?6")
LATER = f"""{_WITH} {_ROWS} (
        SELECT n AS number, rev AS at, e {_ENTRIES} ORDER BY rev, n LIMIT ?7
    ) AS found LEFT JOIN job ON job.n = found.number ORDER BY found.at, found.number"""
_WITH, _ENTRIES = _going_down("rev", "rev < ?5 AND item = ?6")
FIRSTS = f"""{_WITH} {_ROWS} (
        SELECT min(n) AS number, rev AS at, min(e) AS e {_ENTRIES} GROUP BY rev ORDER BY rev DESC LIMIT ?7
    ) AS found LEFT JOIN job ON job.n = found.number ORDER BY found.at DESC"""
_WITH, _ENTRIES = _going_up("seq", "seq > ?5")
EVENTS = f"""{_WITH} {_ROWS} (
        SELECT n AS number, seq AS at, e {_ENTRIES} ORDER BY seq LIMIT ?6
    ) AS found LEFT JOIN job ON job.n = found.number ORDER BY found.at"""
"""Entries of the history with ?5 < rev < ?6, of one item or all, newest first, at most ?8; of an item with rev > ?5,
oldest first; the first entry of an item at each revision below ?5; events above ?5.

Each row has its era and its revision, or seq, behind it; all else is NULL where an entry names a row that is not there.
For the other values see `_going_up`.
"""

OF_SEQS = _up("seq")
"""Begins a statement about all eras of events."""
OF_ARM_BY_SEQ = "seq_era = e AND arm = ?1 AND seq > 0"
"""Joins an era with the events of an arm (first value) in it."""
REV_START, SEQ_START = _start("rev"), _start("seq")
"""Find the last era in which an arm (first value) was given a revision, or seq, up to the second value; no row where
there is none."""
LEAST_REV, HIGHEST_REV = _end("rev", "min", _up("rev")), _end("rev", "max", _down("rev"))
LEAST_SEQ, HIGHEST_SEQ = _end("seq", "min", _up("seq")), _end("seq", "max", _down("seq"))
"""Find the lowest and the highest that an arm was given; no row where it was given none."""
