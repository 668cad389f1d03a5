import numpy as np
import pytest

from limits.errors import LimitsError
from limits.formats.urdf_records import JointType
from limits.stack.joints import QUANTITIES, ArmJoints
from tests.limits.stack.arms import TWO, places


def test_numbers_come_back_and_silence_is_infinite() -> None:
    bounds = TWO.bounds(TWO.ceilings({"position_lower": [-1.0, 0.0], "jerk": [3.0, 4.0], "twist_linear": 0.5}))
    np.testing.assert_array_equal(bounds.position_lower, [-1.0, 0.0])
    assert not np.signbit(bounds.position_lower[1])
    np.testing.assert_array_equal(bounds.jerk, [3.0, 4.0])
    assert (bounds.twist_linear, bounds.twist_angular) == (0.5, np.inf)
    assert np.isinf(bounds.velocity).all()


def test_an_acceleration_binds_both_ways_unless_a_deceleration_is_given() -> None:
    bounds = TWO.bounds(TWO.ceilings({"acceleration": [2.0, 3.0], "deceleration": [np.inf, 5.0]}))
    np.testing.assert_array_equal(bounds.deceleration, [2.0, 5.0])


def test_every_cell_has_a_name_and_a_unit() -> None:
    assert [TWO.named(cell) for cell in range(TWO.cells)] == places()
    assert [TWO.cell(*place) for place in places()] == list(range(TWO.cells))
    units = {place: TWO.unit(*place) for place in places()}
    assert units["velocity", "shoulder"] == "rad/s"
    assert units["jerk", "elbow"] == "m/s³"
    assert units["effort", "shoulder"] == "N·m"
    assert units["effort", "elbow"] == "N"
    assert units["twist_angular", None] == "rad/s"


def test_an_arm_without_joints_has_twists_only() -> None:
    none = ArmJoints((), ())
    assert [none.named(cell) for cell in range(none.cells)] == [("twist_linear", None), ("twist_angular", None)]


@pytest.mark.parametrize(
    ("numbers", "joint", "key"),
    [
        ({"speed": [1.0, 1.0]}, None, "speed"),
        ({"velocity": [1.0]}, None, "velocity"),
        ({"velocity": [1.0, np.nan]}, "elbow", "velocity"),
        ({"velocity": [-1.0, 1.0]}, "shoulder", "velocity"),
        ({"position_upper": [np.nan, 1.0]}, "shoulder", "position_upper"),
        ({"position_lower": [1.0, 2.0], "position_upper": [1.0, 1.0]}, "elbow", "position_lower"),
        ({"position_lower": [np.inf, 0.0]}, "shoulder", "position_lower"),
        ({"position_upper": [-np.inf, 0.0]}, "shoulder", "position_lower"),
        ({"twist_linear": -0.1}, None, "twist_linear"),
        ({"twist_linear": [0.1, 0.2]}, None, "twist_linear"),
    ],
)
def test_senseless_numbers_are_refused(numbers: dict[str, float], joint: str | None, key: str) -> None:
    with pytest.raises(LimitsError) as caught:
        TWO.ceilings(numbers)
    assert (caught.value.joint, caught.value.key) == (joint, key)


def test_unknown_names_are_refused() -> None:
    for quantity, joint in (("speed", "elbow"), ("velocity", "wrist"), ("velocity", None), ("twist_linear", "elbow")):
        with pytest.raises(LimitsError):
            TWO.cell(quantity, joint)
    with pytest.raises(LimitsError, match="stands twice"):
        ArmJoints(("a", "a"), (JointType.REVOLUTE,) * 2)
    with pytest.raises(LimitsError, match="differ in count"):
        ArmJoints(("a", "b"), (JointType.REVOLUTE,))


def test_quantities_are_those_of_the_bounds() -> None:
    assert TWO.bounds(TWO.ceilings({}))._fields == QUANTITIES
