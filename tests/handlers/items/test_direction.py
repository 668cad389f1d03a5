import pytest

from handlers.items.direction import Direction, at_or_tighter, direction_of, is_loosening
from schema.items import CONFIG_ITEMS, ITEMS, ConfigItem, Order
from schema.messages import AngularTwist, GravityVector, JointSpeeds, LinearTwist, Message
from tests.handlers.builders import angular, linear, speeds, values

LINEAR, ANGULAR, JOINTS = ITEMS["desired_linear_twist"], ITEMS["desired_angular_twist"], ITEMS["desired_joint_speeds"]


def test_every_upper_item_is_compared_by_the_bounds_that_its_message_sets() -> None:
    assert at_or_tighter(LINEAR, LinearTwist(0.1), LinearTwist(0.2))
    assert not at_or_tighter(LINEAR, LinearTwist(0.2), LinearTwist(0.1))
    assert at_or_tighter(JOINTS, JointSpeeds((3.0, 4.0)), JointSpeeds((3.0, 4.0)))
    assert not at_or_tighter(JOINTS, JointSpeeds((3.0, 4.1)), JointSpeeds((3.0, 4.0)))


def test_an_unset_twist_is_no_bound() -> None:
    for item, message in ((ITEMS["twist_linear_soft_limit"], linear), (ITEMS["twist_angular_soft_limit"], angular)):
        assert at_or_tighter(item, message(100.0), message(0.0))
        assert not at_or_tighter(item, message(0.0), message(100.0))


def test_zero_is_a_bound_where_it_is_a_value() -> None:
    assert at_or_tighter(ITEMS["joint_speed_soft_limits"], speeds(0.0, 1.0), speeds(1.0, 1.0))
    assert not at_or_tighter(ITEMS["joint_speed_soft_limits"], speeds(1.0, 1.0), speeds(0.0, 1.0))
    assert at_or_tighter(ANGULAR, AngularTwist(0.0), AngularTwist(1.0))


@pytest.mark.parametrize("item", CONFIG_ITEMS, ids=lambda item: item.key)
def test_a_value_is_at_itself_where_the_item_has_an_order(item: ConfigItem) -> None:
    held = next(message for (key, _), message in values().items() if key == item.key)
    assert at_or_tighter(item, held, held) is (item.order is not Order.UNORDERED)
    assert is_loosening(item, held, held) is (item.order is Order.UNORDERED)


SPEEDS, TWIST = "joint_speed_soft_limits", "twist_linear_soft_limit"


@pytest.mark.parametrize(
    ("key", "value", "reported", "loosening"),
    [
        (SPEEDS, speeds(40.0), speeds(50.0), False),
        (SPEEDS, speeds(0.0), speeds(50.0), False),
        (SPEEDS, speeds(60.0), speeds(50.0), True),
        (SPEEDS, speeds(40.0, 40.0, 40.0, 40.0, 40.0, 40.0, 50.1), speeds(50.0), True),
        (SPEEDS, speeds(40.0, 40.0), speeds(50.0), True),
        (SPEEDS, speeds(40.0), speeds(), True),
        (TWIST, linear(0.3), linear(0.0), False),
        (TWIST, linear(0.0), linear(0.3), True),
        (TWIST, linear(0.0), linear(0.0), False),
        (TWIST, linear(0.3), None, True),
        (TWIST, None, linear(0.3), True),
        ("gravity_vector", GravityVector(0.0, 0.0, -9.7), GravityVector(0.0, 0.0, -9.8), True),
    ],
)
def test_one_looser_component_loosens_and_so_does_what_cannot_be_compared(
    key: str, value: Message | None, reported: Message | None, loosening: bool
) -> None:
    assert is_loosening(ITEMS[key], value, reported) is loosening


@pytest.mark.parametrize(
    ("key", "value", "before", "direction"),
    [
        (TWIST, linear(0.2), linear(0.3), Direction.TIGHTENING),
        (TWIST, linear(0.3), linear(0.2), Direction.LOOSENING),
        (TWIST, linear(0.3), linear(0.3), Direction.UNCHANGED),
        (TWIST, None, None, Direction.LOOSENING),
        (TWIST, None, linear(0.3), Direction.LOOSENING),
        ("gravity_vector", GravityVector(0.0, 0.0, -9.7), GravityVector(0.0, 0.0, -9.8), Direction.UNORDERED),
        ("gravity_vector", GravityVector(0.0, 0.0, -9.7), GravityVector(0.0, 0.0, -9.7), Direction.UNCHANGED),
        ("gravity_vector", None, None, Direction.UNORDERED),
    ],
)
def test_a_change_goes_one_of_four_ways(
    key: str, value: Message | None, before: Message | None, direction: Direction
) -> None:
    assert direction_of(ITEMS[key], value, before) is direction
