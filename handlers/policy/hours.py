"""Hours of the week in which a rule counts: `Mon-Fri 06:00-22:00`."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from typing import NamedTuple

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY = f"(?:{'|'.join(DAYS)})"
_SPAN = re.compile(
    rf"(?P<days>{_DAY}(?:-{_DAY})?(?:\s*,\s*{_DAY}(?:-{_DAY})?)*)"
    r"\s+(?P<h0>\d\d):(?P<m0>[0-5]\d)\s*-\s*(?P<h1>\d\d):(?P<m1>[0-5]\d)"
)
_MINUTES = 24 * 60


class Span(NamedTuple):
    """The same minutes of some days (0 = Monday), the end excluded; one over midnight counts by its first day."""

    text: str
    days: frozenset[int]
    begin: int
    end: int

    def holds(self, day: int, minute: int) -> bool:
        """Whether a minute of a day is in it."""
        if self.begin < self.end:
            return day in self.days and self.begin <= minute < self.end
        return (day in self.days and minute >= self.begin) or ((day - 1) % 7 in self.days and minute < self.end)


def parse_span(text: str) -> Span:
    """A span of hours.

    Raises:
        ValueError: it is none.
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            f"{text[:80]!r} is no span of hours; write for example Mon-Fri 06:00-22:00, or Sat,Sun 22:00-06:00"
        )
    begin, end = (int(found[f"h{n}"]) * 60 + int(found[f"m{n}"]) for n in (0, 1))
    if begin >= _MINUTES or end > _MINUTES:
        raise ValueError(f"{text[:80]!r}: a day has the times 00:00 to 24:00")
    if begin == end:
        raise ValueError(f"{text[:80]!r}: begins and ends at the same time; a whole day is 00:00-24:00")
    return Span(text.strip(), frozenset(_days(found["days"])), begin, end)


def _days(text: str) -> Iterable[int]:
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        begin = DAYS.index(first)
        yield from ((begin + n) % 7 for n in range((DAYS.index(last or first) - begin) % 7 + 1))


def moment_of(at_us: int, zone: tzinfo) -> tuple[int, int]:
    """The day of the week and the minute of the day of a time (µs since 1970), by the clocks of a time zone."""
    local = datetime.fromtimestamp(at_us // 1_000_000, UTC).astimezone(zone)
    return local.weekday(), local.hour * 60 + local.minute
