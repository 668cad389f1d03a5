from typing import Any

import pytest

from armbroker.board.words import digits, in_unit, mode_words, shown


@pytest.mark.parametrize(
    ("number", "unit", "degrees", "wanted"),
    [
        (3.141592653589793, "rad/s", True, (180.0, "deg/s")),
        (180.0, "deg/s²", False, (3.141592653589793, "rad/s²")),
        (1.0, "rad", False, (1.0, "rad")),
        (0.5, "m/s", True, (0.5, "m/s")),
        (0.5, "", True, (0.5, "")),
    ],
)
def test_angles_as_the_reader_wants_them(number: float, unit: str, degrees: bool, wanted: tuple[float, str]) -> None:
    turned, shown_unit = in_unit(number, unit, degrees=degrees)
    assert turned == pytest.approx(wanted[0])
    assert shown_unit == wanted[1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ("", "-"),
        (True, "true"),
        (0.5, "0.5"),
        (100.0, "100"),
        (40, "40"),
        ([50.0, 50.0], "2 x 50"),
        ([1.0, 2.5], "1, 2.5"),
        ([], "none"),
        ({}, "none"),
        ({"x": 1.0, "y": 2.0}, "x 1 y 2"),
        ({"control_mode": "IDLE"}, "IDLE"),
        ("-Infinity", "-Infinity"),
    ],
)
def test_values_on_one_line(value: Any, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(("most", "places"), [(0.0, 2), (0.5, 3), (80.0, 2), (573.0, 1), (0.004, 6), (float("inf"), 2)])
def test_digits(most: float, places: int) -> None:
    assert digits(most) == places


def test_names() -> None:
    assert mode_words("CARTESIAN_JOYSTICK") == "Cartesian joystick"
    assert mode_words("GRAVITY_VECTOR_CHANGED") == "Gravity vector"
