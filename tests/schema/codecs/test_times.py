import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.codecs.times import format_time, parse_time

AT = 1_796_029_924_512_345


def test_format() -> None:
    assert format_time(AT) == "2026-11-30T09:12:04.512345Z"
    assert format_time(AT // 1_000_000 * 1_000_000) == "2026-11-30T09:12:04.000000Z"
    assert format_time(0) == "1970-01-01T00:00:00.000000Z"
    assert format_time(-1) == "1969-12-31T23:59:59.999999Z"


@pytest.mark.parametrize(
    ("text", "time_us"),
    [
        ("2026-11-30T09:12:04.512345Z", AT),
        ("2026-11-30t09:12:04.512345z", AT),
        ("2026-11-30 10:42:04.512345+01:30", AT),
        ("2026-11-30T00:12:04.512345678-09:00", AT),
        ("2026-11-30T09:12:04.5Z", AT - 12_345),
        ("2026-11-30T09:12:04-00:00", AT - 512_345),
        ("2016-12-31T23:59:60.25Z", 1_483_228_800_250_000),
        ("1969-12-31T23:59:59.999999Z", -1),
    ],
)
def test_parse(text: str, time_us: int) -> None:
    assert parse_time(text) == time_us


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-11-30T09:12:04",
        "2026-11-30",
        "20261130T091204Z",
        "2026-W49-1T09:12:04Z",
        "2026-11-30T09:12Z",
        "2026-11-30T09:12:04.Z",
        "2026-11-30T09:12:04,5Z",
        "2026-11-30T09:12:04+0100",
        "2026-11-30T09:12:04+24:00",
        "2026-11-30T09:12:04+01:60",
        "2026-13-30T09:12:04Z",
        "2026-02-29T09:12:04Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T09:60:00Z",
        "2026-11-30T09:12:61Z",
        "0000-01-01T00:00:00Z",
        "2026-11-30T09:12:04Z ",
        "2026-11-30T09:12:04Z\n",
        "٢٠٢٦-11-30T09:12:04Z",
        "now",
    ],
)
def test_refuses_what_is_no_time_with_a_zone(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_time(text)


@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_round_trip(time_us: int) -> None:
    assert parse_time(format_time(time_us)) == time_us
