import math

import pytest

from limits.formats.ros_scalars import resolve_scalar


@pytest.mark.parametrize("text", ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
def test_words_that_are_true(text: str) -> None:
    assert resolve_scalar(text) is True


@pytest.mark.parametrize("text", ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
def test_words_that_are_false(text: str) -> None:
    assert resolve_scalar(text) is False


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("42", 42),
        ("+5", 5),
        ("-17", -17),
        ("010", 8),
        ("0x10", 16),
        ("-0XfF", -255),
        ("9223372036854775807", (1 << 63) - 1),
        ("-9223372036854775808", -(1 << 63)),
    ],
)
def test_integers_as_strtol_reads_them(text: str, value: int) -> None:
    found = resolve_scalar(text)
    assert type(found) is int
    assert found == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.", 1.0),
        (".5", 0.5),
        ("1e1", 10.0),
        ("-2.5E-3", -0.0025),
        ("08", 8.0),
        ("019", 19.0),
        ("9223372036854775808", 2.0**63),
        ("0x8000000000000000", 2.0**63),
        ("0x1p3", 8.0),
        ("-0x.8", -0.5),
        ("0e-999", 0.0),
        ("0x0p-9999", 0.0),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
        (".inf", math.inf),
        ("+.Inf", math.inf),
        ("-.INF", -math.inf),
    ],
)
def test_doubles_as_strtod_reads_them(text: str, value: float) -> None:
    found = resolve_scalar(text)
    assert type(found) is float
    assert found == value


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", ".nan", ".NaN", "nan(0x1)"])
def test_spellings_of_nan(text: str) -> None:
    found = resolve_scalar(text)
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize(
    "text",
    [
        "1_000.0",
        "1:30.5",
        "1,5",
        "null",
        "~",
        "",
        "-",
        "e5",
        "0x",
        "tRue",
        "1e400",
        "1e-400",
        "1e-310",
        "0x1p99999",
        "0x1p-99999",
        "+.nan",
        "1.0 m",
        "0b1",
        "٣",
        "9" * 5000,
    ],
)
def test_everything_else_is_a_string(text: str) -> None:
    assert resolve_scalar(text) == text
    assert isinstance(resolve_scalar(text), str)


@pytest.mark.parametrize("text", ["true", "1", "1.0", ".nan"])
def test_what_is_quoted_is_a_string(text: str) -> None:
    assert resolve_scalar(text, quoted=True) == text
