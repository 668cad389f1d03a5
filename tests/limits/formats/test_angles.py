import math

import pytest

from limits.formats.angles import LONGEST, angle


@pytest.mark.parametrize(
    ("text", "tag", "radians"),
    [
        ("175", "!degrees", math.radians(175.0)),
        ("-42.5", "!degrees", math.radians(-42.5)),
        (" 2 * 90 ", "!degrees", math.pi),
        ("1.25", "!radians", 1.25),
        ("-pi/2", "!radians", -math.pi / 2),
        ("+(3 - 1) * pi + 0.5", "!radians", 2 * math.pi + 0.5),
    ],
)
def test_numbers_and_sums_of_them(text: str, tag: str, radians: float) -> None:
    assert angle(text, tag) == radians


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "1 2",
        "True",
        "'1'",
        "1j",
        "2 ** 3",
        "~1",
        "pi()",
        "__import__('os')",
        "1/0",
        "1e400",
        "nan",
        "1 if 1 else 2",
        "\u0661",
        "(" * 150,
        "1" + "+1" * LONGEST,
        "1" + "0" * 5000,
    ],
)
def test_what_is_none(text: str) -> None:
    assert angle(text, "!radians") is None
