"""Hours of the week."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest

from handlers.policy.hours import Span, moment_of, parse_span

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> int:
    """µs since 1970 of a time in UTC; 2026-11-30 is a Monday."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000_000)


def is_open(spans: list[Span], at_us: int, zone: tzinfo) -> bool:
    """Whether a time is in any of the spans."""
    day, minute = moment_of(at_us, zone)
    return any(span.holds(day, minute) for span in spans)


@pytest.mark.parametrize(
    ("span", "time", "expected"),
    [
        ("Mon-Fri 06:00-22:00", "2026-11-30T06:00", True),
        ("Mon-Fri 06:00-22:00", "2026-11-30T05:59:59.999999", False),
        ("Mon-Fri 06:00-22:00", "2026-11-30T21:59:59.999999", True),
        ("Mon-Fri 06:00-22:00", "2026-11-30T22:00", False),
        ("Mon-Fri 06:00-22:00", "2026-12-05T12:00", False),
        ("Sat,Sun 06:00-22:00", "2026-12-05T12:00", True),
        ("Mon, Wed-Thu 00:00-24:00", "2026-12-03T23:59:59", True),
        ("Mon, Wed-Thu 00:00-24:00", "2026-12-04T00:00", False),
        ("Fri-Mon 08:00-09:00", "2026-11-30T08:30", True),
        ("Fri-Mon 08:00-09:00", "2026-12-01T08:30", False),
        ("Fri 22:00-06:00", "2026-12-04T23:00", True),
        ("Fri 22:00-06:00", "2026-12-05T05:59", True),
        ("Fri 22:00-06:00", "2026-12-05T06:00", False),
        ("Fri 22:00-06:00", "2026-12-04T05:00", False),
        ("Sun 22:00-06:00", "2026-11-30T05:00", True),
        ("Fri 22:00-00:00", "2026-12-04T23:59", True),
        ("Fri 22:00-00:00", "2026-12-05T00:00", False),
    ],
)
def test_an_end_is_excluded_and_midnight_belongs_to_the_day_of_the_begin(span: str, time: str, expected: bool) -> None:
    assert is_open([parse_span(span)], at(time), UTC) is expected


def test_hours_are_those_of_the_zone_in_winter_and_summer() -> None:
    spans = [parse_span("Mon 06:00-07:00")]
    assert is_open(spans, at("2026-11-30T05:30"), BERLIN)
    assert not is_open(spans, at("2026-11-30T06:30"), BERLIN)
    assert is_open(spans, at("2026-06-29T04:30"), BERLIN)
    assert not is_open(spans, at("2026-06-29T05:30"), BERLIN)


def test_one_of_several_spans_is_enough() -> None:
    spans = [parse_span("Mon 06:00-07:00"), parse_span("Mon 12:00-13:00")]
    assert is_open(spans, at("2026-11-30T12:30"), UTC)
    assert not is_open(spans, at("2026-11-30T08:30"), UTC)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no span of hours"),
        ("Mon-Fri", "no span of hours"),
        ("mon 06:00-22:00", "no span of hours"),
        ("Monday 06:00-22:00", "no span of hours"),
        ("Mon 6:00-22:00", "no span of hours"),
        ("Mon 06:60-22:00", "no span of hours"),
        ("Mon-Wed-Fri 06:00-22:00", "no span of hours"),
        ("Mon 06:00-22:00 and more", "no span of hours"),
        ("Mon 24:00-06:00", "a day has the times"),
        ("Mon 06:00-24:01", "a day has the times"),
        ("Mon 06:00-06:00", "begins and ends at the same time"),
    ],
)
def test_what_is_no_span_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_span(text)
