import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.floats import as_float32, as_float32_list


def bits(value: float) -> bytes:
    return struct.pack("<f", value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.2, 0.2),
        (0.1 + 1e-9, 0.1),
        (0.10000000149011612, 0.1),
        (-9.81, -9.81),
        (99.9983, 99.9983),
        (108651.015625, 108651.016),
        (16777217.0, 16777216.0),
        (1e-46, 0.0),
        (1e-45, 1e-45),
        (3.4028234663852886e38, 3.4028235e38),
        (80.0, 80.0),
    ],
)
def test_gives_the_shortest_decimal_of_the_same_float32(value: float, expected: float) -> None:
    assert as_float32(value) == expected


@pytest.mark.parametrize("value", [-0.0, -1e-46])
def test_negative_zero_becomes_zero(value: float) -> None:
    assert math.copysign(1.0, as_float32(value)) == 1.0


def test_keeps_what_is_not_finite() -> None:
    assert as_float32(math.inf) == math.inf
    assert as_float32(-math.inf) == -math.inf
    assert math.isnan(as_float32(math.nan))


@pytest.mark.parametrize("value", [3.5e38, -3.5e38, 1e300])
def test_overflow_is_an_error(value: float) -> None:
    with pytest.raises(OverflowError):
        as_float32(value)


@given(st.floats(-3.4028234663852886e38, 3.4028234663852886e38, width=32))
def test_agrees_with_the_shortest_decimal_of_numpy(value: float) -> None:
    short = as_float32(value)
    assert bits(short) == bits(value + 0.0)
    assert as_float32(short) == short
    assert short == float(str(np.float32(value)))


@given(st.integers(-999_999, 999_999), st.integers(-44, 32))
def test_agrees_with_numpy_on_decimals_of_six_digits(digits: int, exponent: int) -> None:
    value = float(f"{digits}e{exponent}")
    assert as_float32(value) == float(str(np.float32(value)))


_ANY = st.floats(-3.4028234663852886e38, 3.4028234663852886e38)
_SIX_DIGITS = st.builds(
    lambda digits, exponent: float(f"{digits}e{exponent}"), st.integers(1, 999_999), st.integers(-44, 32)
)


@given(st.lists(st.one_of(_ANY, _SIX_DIGITS, _SIX_DIGITS.map(lambda value: float(np.float32(value))))).map(tuple))
def test_a_list_is_what_its_numbers_are(values: tuple[float, ...]) -> None:
    found = as_float32_list(values)
    assert list(map(repr, found)) == [repr(as_float32(value)) for value in values]


@pytest.mark.parametrize(
    "values", [(), (0.0, 1.0), (-0.0, 2.5), (1e-46, 3.0), (16777217.0, 0.1), (57.29999923706055, 12.0)]
)
def test_a_list_is_exact_at_the_edges(values: tuple[float, ...]) -> None:
    assert list(map(repr, as_float32_list(values))) == [repr(as_float32(value)) for value in values]


def test_a_list_with_a_number_beyond_float32_is_an_error() -> None:
    with pytest.raises(OverflowError):
        as_float32_list((1.0, 3.5e38))
