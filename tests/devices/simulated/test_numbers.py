import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devices.adapter import ArmRefusedError
from devices.simulated.numbers import angle, bounded_angle, bounded_angles, bounded_float32, degrees, float32, steps
from schema.floats import as_float32


@pytest.mark.parametrize(
    ("given_deg", "read_deg"),
    [(100.0, 99.9983), (297.94, 297.94), (572.95, 572.95), (80.0, 80.0021), (50.0, 50.0020), (0.0, 0.0)],
)
def test_values_read_as_an_arm_reads_them(given_deg: float, read_deg: float) -> None:
    assert angle(given_deg, "field") == pytest.approx(read_deg, rel=1e-5)


@given(st.floats(-720, 720))
def test_an_angle_keeps_four_decimals_of_a_radian_and_stays_when_set_again(value: float) -> None:
    kept = angle(value, "field")
    assert math.radians(kept) == pytest.approx(math.radians(value), abs=0.51e-4)
    assert angle(kept, "field") == kept
    assert as_float32(kept) == kept


@given(st.floats(-360, 360))
def test_steps_are_the_rounded_radians(value: float) -> None:
    assert steps(value, "field") == pytest.approx(round(math.radians(value), 4) * 1e4, abs=1e-6)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(value: float) -> None:
    for take in (steps, float32):
        with pytest.raises(ArmRefusedError, match=r"speed: .* is not finite"):
            take(value, "speed")
    with pytest.raises(ArmRefusedError, match="speed: a value is not finite"):
        bounded_angles((1.0, value), (100, 100), "speed")


def test_float32_refuses_what_does_not_fit() -> None:
    with pytest.raises(ArmRefusedError, match=r"mass: 1e\+300 is not finite in float32"):
        float32(1e300, "mass")


def test_bounds_of_angles_are_compared_in_steps() -> None:
    assert bounded_angle(100.0, 17_453, "twist") == degrees(17_453)
    assert bounded_angle(100.001, 17_453, "twist") == degrees(17_453)
    with pytest.raises(ArmRefusedError, match=r"twist: 100.01 is above the hard limit"):
        bounded_angle(100.01, 17_453, "twist")
    with pytest.raises(ArmRefusedError, match=r"twist: 0.001 is below the minimum"):
        bounded_angle(0.001, 17_453, "twist", lowest=1)


def test_a_list_names_the_value_that_is_out_of_bounds() -> None:
    with pytest.raises(ArmRefusedError, match=r"speed\[1\]: 3.0 is above"):
        bounded_angles((1.0, 3.0), (300, 300), "speed")
    with pytest.raises(ArmRefusedError, match=r"speed\[0\]: -1.0 is below"):
        bounded_angles((-1.0, 3.0), (300, 300), "speed")
    with pytest.raises(ArmRefusedError, match="speed: 1 values for 2 joints"):
        bounded_angles((1.0,), (300, 300), "speed")


def test_bounds_of_linear_quantities() -> None:
    assert bounded_float32(0.1, 0.5, "twist", zero=False) == 0.1
    assert bounded_float32(0.0, 0.5, "mass", zero=True) == 0.0
    for value, zero in ((0.0, False), (-0.1, True)):
        with pytest.raises(ArmRefusedError, match="below the minimum"):
            bounded_float32(value, 0.5, "twist", zero=zero)
    with pytest.raises(ArmRefusedError, match="above the hard limit"):
        bounded_float32(0.6, 0.5, "twist", zero=False)
