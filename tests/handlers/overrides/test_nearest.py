"""The nearest legal value that is not looser than another one."""

import pytest

from handlers.overrides.nearest import legal, tighter_of
from handlers.state.arm_state import ArmState
from schema.arms import Slot
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import GravityVector, Message
from tests.handlers.builders import arm, linear, speeds
from tests.handlers.limit_files import sources, urdf

LINEAR: Slot = ("twist_linear_soft_limit", 2)
SPEEDS: Slot = ("joint_speed_soft_limits", 1)
LIMITS: Slot = ("joint_limits", 0)
SAFETY: Slot = ("joint_safety", 0)
PARAMETERS: Slot = ("joint_parameters", 0)
NAME = "joint_limits.joint_1.max_velocity"
FLAG = "joint_limits.joint_1.has_velocity_limits"


def velocities(*numbers: float) -> JointLimits:
    """Limits of the velocities, rad/s; all others 0.1."""
    return JointLimits(max_velocity=RepeatedDouble((*numbers, *(0.1,) * (7 - len(numbers)))))


def test_what_is_legal_is_written_as_it_is() -> None:
    assert legal(arm(), LINEAR, linear(0.25)) == linear(0.25)


def test_ruling_21_the_nearest_legal_value_is_never_looser_than_the_ground() -> None:
    assert legal(arm(), LINEAR, linear(99.0)) == linear(0.5)
    assert legal(arm(), SPEEDS, speeds(20, 999, 10, 10, 10, 10, 10)).joint_speed_soft_limits[0] == pytest.approx(20.0)  # type: ignore[attr-defined]


def test_what_could_only_be_looser_is_refused() -> None:
    with pytest.raises(BrokerError, match="the least limit"):
        legal(arm(), LINEAR, linear(1e-9))


def test_what_has_no_nearest_value_is_refused() -> None:
    with pytest.raises(BrokerError, match="2 values for 7 joints"):
        legal(arm(), SPEEDS, speeds(1, 2))


def test_an_item_without_an_order_has_no_nearest_value() -> None:
    with pytest.raises(BrokerError, match="gravity"):
        legal(arm(), ("gravity_vector", 0), GravityVector(0.0, 0.0, -3.0))


@pytest.mark.parametrize(
    ("slot", "aim", "expected"),
    [
        (LIMITS, velocities(0.2, 99.0), velocities(0.2, 1.2)),
        (
            SAFETY, JointSafetyMap({"joint_2": JointSafetyGains(9.0, -9.0, 4.0, 1.0)}),
            JointSafetyMap({"joint_2": JointSafetyGains(2.5, -2.5, 4.0, 1.0)}),
        ),
        (PARAMETERS, JointParameterMap({FLAG: True, NAME: 99.0}), JointParameterMap({FLAG: True, NAME: 1.2})),
    ],
)  # fmt: skip
def test_ruling_21_of_parts_those_beyond_a_limit_come_nearer(slot: Slot, aim: Message, expected: Message) -> None:
    found = legal(arm(sources=sources(robot=urdf())), slot, aim)
    assert numbers(found) == pytest.approx(numbers(expected), abs=1e-3)


def numbers(value: Message) -> list[float]:
    """Every number of a value, in order."""
    if isinstance(value, JointLimits):
        assert value.max_velocity is not None
        return list(value.max_velocity.values)
    if isinstance(value, JointSafetyMap):
        return [getattr(gains, name) for gains in value.joints.values() for name in gains.__struct_fields__]
    assert isinstance(value, JointParameterMap)
    return [float(number) for number in value.parameters.values()]


@pytest.mark.parametrize(
    ("slot", "aim"),
    [
        (LIMITS, velocities(-1.0)),
        (SAFETY, JointSafetyMap({"joint_9": JointSafetyGains(1.0, -1.0, 4.0, 1.0)})),
        (SAFETY, JointSafetyMap({"joint_2": JointSafetyGains(1.0, -1.0, -4.0, 1.0)})),
    ],
    ids=["only a looser one", "no such joint", "only a looser gain"],
)
def test_parts_without_a_legal_value_that_is_as_tight_are_refused(slot: Slot, aim: Message) -> None:
    with pytest.raises(BrokerError):
        legal(arm(), slot, aim)


def test_the_tighter_of_two_values_with_parts_is_found_part_by_part() -> None:
    state: ArmState = arm()
    assert tighter_of(state, LIMITS, velocities(0.2, 0.4), velocities(0.3, 0.3)) == velocities(0.2, 0.3)
    assert tighter_of(state, LIMITS, velocities(0.2), JointLimits()) == velocities(0.2)
