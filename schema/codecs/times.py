"""RFC 3339 times: µs since 1970 UTC to text and back."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000
_RFC_3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)
"""Narrower than ISO 8601, which `datetime.fromisoformat` reads; and wider, for a second may be the 60th."""


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    """The text of a whole second without its zone."""
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19]


@lru_cache(maxsize=64)
def format_time(time_us: int) -> str:
    """RFC 3339 UTC with microseconds: `2026-11-30T09:12:04.512345Z`."""
    seconds = time_us // _SECOND
    return f"{_second(seconds)}.{time_us - seconds * _SECOND:06d}Z"


def parse_time(text: str) -> int:
    """Microseconds since 1970 UTC of an RFC 3339 time with a zone; a leap second counts as the second after it.

    Raises:
        ValueError: `text` is no such time.
    """
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError("no RFC 3339 time with a zone")
    day, minute, second, fraction, zone = match.groups()
    leap = second == "60"
    moment = datetime.fromisoformat(f"{day}T{minute}:{'59' if leap else second}{zone.upper()}")
    whole = (moment - _EPOCH) // timedelta(seconds=1) + leap
    return whole * _SECOND + int((fraction or "0")[:6].ljust(6, "0"))
