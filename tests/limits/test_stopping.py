import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.formats.urdf_records import JointType
from limits.stack.joints import ArmJoints, Bounds
from limits.stopping import check_stopping, stopping_distance

JOINT = ArmJoints(("a",), (JointType.REVOLUTE,))


def bounds(**numbers: float) -> Bounds:
    return JOINT.bounds(JOINT.ceilings({key: [value] for key, value in numbers.items()}))


HARD = bounds(position_lower=-2.0, position_upper=2.0)


def test_the_way_to_stop() -> None:
    np.testing.assert_array_equal(
        stopping_distance([2.0, 0.0, 1.0, 1.0, 0.0], [4.0, 0.0, 0.0, np.inf, np.inf]), [0.5, 0, np.inf, 0, 0]
    )


def test_a_margin_that_is_too_small_is_told_with_what_would_do() -> None:
    soft = bounds(position_lower=-1.75, position_upper=1.0, velocity=2.0, acceleration=4.0)
    stopping = check_stopping(HARD, soft)
    assert not stopping.consistent[0]
    assert (stopping.distance[0], stopping.lower_margin[0], stopping.upper_margin[0]) == (0.5, 0.25, 1.0)
    assert stopping.largest_speed[0] == pytest.approx(np.sqrt(2.0))
    assert (stopping.lower[0], stopping.upper[0]) == (-1.5, 1.5)


def test_without_hard_ends_everything_is_consistent() -> None:
    stopping = check_stopping(bounds(), bounds(velocity=2.0, acceleration=0.0))
    assert stopping.consistent[0]
    assert np.isinf(stopping.largest_speed[0])
    assert (stopping.lower[0], stopping.upper[0]) == (-np.inf, np.inf)


def test_without_a_soft_end_there_is_no_margin() -> None:
    stopping = check_stopping(HARD, bounds(velocity=1.0, acceleration=1.0))
    assert (stopping.lower_margin[0], stopping.upper_margin[0], stopping.largest_speed[0]) == (0.0, 0.0, 0.0)
    assert not stopping.consistent[0]


def test_a_joint_without_a_limit_of_deceleration_stops_at_once() -> None:
    stopping = check_stopping(HARD, bounds(velocity=1.0))
    assert stopping.consistent[0]
    assert np.isinf(stopping.largest_speed[0])


@given(st.floats(0.01, 10.0), st.floats(0.01, 10.0), st.floats(0.0, 3.0))
def test_what_is_called_consistent_is(speed: float, deceleration: float, margin: float) -> None:
    soft = bounds(
        position_lower=-2.0 + margin / 2, position_upper=2.0 - margin / 2, velocity=speed, acceleration=deceleration
    )
    stopping = check_stopping(HARD, soft)
    fastest = float(stopping.largest_speed[0])
    again = check_stopping(HARD, soft._replace(velocity=np.array([fastest * (1.0 - 1e-9)])))
    assert again.consistent[0]
    if stopping.lower[0] < stopping.upper[0]:
        slower = soft._replace(position_lower=stopping.lower + 1e-9, position_upper=stopping.upper - 1e-9)
        assert check_stopping(HARD, slower).consistent[0]
