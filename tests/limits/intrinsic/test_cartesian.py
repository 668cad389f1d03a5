import math
from typing import Any

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.intrinsic.cartesian import CartesianLimits, cartesian_limits_valid, check_cartesian_limits


def test_unlimited_by_default() -> None:
    assert cartesian_limits_valid(CartesianLimits())
    assert cartesian_limits_valid(CartesianLimits(max_rotational_velocity=0.0, max_translational_jerk=np.zeros(3)))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"min_translational_position": [0, 3, 0], "max_translational_position": [1, 2, 3]},
            r"position\.y: bounds out",
        ),
        ({"min_translational_velocity": [0.5, 0, 0]}, r"max_translational_velocity\.x: bounds out of order"),
        ({"max_translational_jerk": [1, 1, -0.5]}, r"max_translational_jerk\.z: bounds out of order"),
        ({"max_translational_acceleration": [1, math.nan, 1]}, r"acceleration\.y: bounds out of order \(got nan"),
        ({"max_translational_velocity": [1, 1]}, r"max_translational_velocity: not three values"),
    ],
)
def test_translation(fields: dict[str, list[float]], text: str) -> None:
    arrays: dict[str, Any] = {name: np.array(values, dtype=float) for name, values in fields.items()}
    with pytest.raises(LimitsError, match=text):
        check_cartesian_limits(CartesianLimits(**arrays))


@pytest.mark.parametrize("value", [-0.5, math.nan])
def test_rotation(value: float) -> None:
    assert not cartesian_limits_valid(CartesianLimits(max_rotational_jerk=value))


def test_position_bounds_need_not_hold_zero() -> None:
    assert cartesian_limits_valid(CartesianLimits(min_translational_position=np.ones(3)))
