"""Times as people read and write them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from armbroker.cli.times import UNKNOWN, ahead, clock, length_ms, moment

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


@pytest.fixture
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The zone of this computer, for a while."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "09:12:04.512Z"),
        ("CET-1", "10:12:04.512+01:00"),
        ("NST3:30", "05:42:04.512-03:30"),
    ],
    indirect=["zone"],
)
def test_a_time_is_shown_as_the_clock_on_the_wall_with_its_zone(zone: None, expected: str) -> None:
    del zone
    assert clock("2026-11-30T09:12:04.512345Z") == expected


@pytest.mark.parametrize("at", [None, "", "soon", 7])
def test_what_is_no_time_is_shown_as_such(at: object) -> None:
    assert clock(at) == UNKNOWN


@pytest.mark.parametrize("zone", ["CET-1"], indirect=True)
@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("30s", timedelta(seconds=30)),
        ("15min", timedelta(minutes=15)),
        ("2 h", timedelta(hours=2)),
        ("1d", timedelta(days=1)),
        ("09:30", timedelta(minutes=30)),
        ("09:59:59", timedelta(seconds=1)),
        ("10:30", timedelta(hours=23, minutes=30)),
        ("2026-11-30T09:30:00+01:00", timedelta(minutes=30)),
        ("2026-11-30T08:30:00Z", timedelta(minutes=30)),
        ("2026-11-30T09:30", timedelta(minutes=30)),
        ("2026-11-30", timedelta(hours=10)),
    ],
)
def test_a_moment_may_be_named_in_several_ways(zone: None, text: str, ago: timedelta) -> None:
    del zone
    assert NOW - moment(text, NOW) == ago


@pytest.mark.parametrize("text", ["", "soon", "-5min", "25:00", "09:60", "5 weeks", "2026-13-01", "999999999d"])
def test_what_names_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no time|longer ago"):
        moment(text, NOW)


def test_a_moment_to_come_is_refused() -> None:
    with pytest.raises(ValueError, match="still to come"):
        moment("2026-11-30T09:00:01Z", NOW)


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90_000), ("10min", 600_000), ("2h", 7_200_000), ("3 d", 259_200_000)]
)
def test_a_length_is_read_with_its_unit(text: str, expected: int) -> None:
    assert length_ms(text) == expected


@pytest.mark.parametrize("text", ["", "10", "-5min", "1.5h", "soon"])
def test_what_is_no_length_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="is no length; write for example 90s"):
        length_ms(text)


@pytest.mark.parametrize("zone", ["UTC"], indirect=True)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("22:00", "2026-11-30T22:00:00+00:00"),
        ("09:00", "2026-12-01T09:00:00+00:00"),
        ("08:59:30", "2026-12-01T08:59:30+00:00"),
        ("2026-12-24T18:00:00+01:00", "2026-12-24T17:00:00+00:00"),
    ],
)
@pytest.mark.usefixtures("zone")
def test_a_time_ahead_is_today_or_tomorrow(text: str, expected: str) -> None:
    assert ahead(text, NOW) == expected


@pytest.mark.parametrize(("text", "why"), [("2026-11-30T08:00:00Z", "is past"), ("at ten", "is no time; write for")])
def test_what_is_no_time_ahead_is_told(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        ahead(text, NOW)
