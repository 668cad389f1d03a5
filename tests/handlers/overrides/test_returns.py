"""What the end of an override orders: tightenings at once, the rest only where the arm is as the override left it."""

from typing import Any

import pytest

from handlers.overrides import stack
from handlers.overrides.returns import NOTHING, Writes, due, gave, goes_first, writes
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override, Overrides
from handlers.state.places import Given, Place
from schema.arms import Slot
from schema.envelope import Author
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.joint_items import JointParameterMap
from schema.messages import LinearTwist, Message, PayloadInformation
from tests.handlers.builders import arm, linear, speeds, values

LINEAR: Slot = ("twist_linear_soft_limit", 2)
SPEEDS: Slot = ("joint_speed_soft_limits", 1)
PAYLOAD: Slot = ("payload_information", 0)
LOAD = PayloadInformation(2.0)
SPEED: Slot = ("desired_linear_twist", 0)


def reporting(slot: Slot, value: Message, **changes: Any) -> ArmState:
    """An arm that reports a value."""
    return arm(reported=values() | {slot: value}, **changes)


def owing(slot: Slot, ground: Message, given: Message) -> Overrides | None:
    """An override that ended, and whose return is owed."""
    override = Override(rev=4, values={slot: given}, since_us=1, until_us=2, by=Author("alice", "hmi", proven=True))
    return stack.cut(stack.push(None, override, {slot: ground}), 4, (slot,)).left


@pytest.mark.parametrize(
    ("slot", "reported", "aim", "given", "expected"),
    [
        (LINEAR, linear(0.4), linear(0.25), linear(0.4), Writes(at_once=linear(0.25))),
        (LINEAR, linear(0.25), linear(0.25), linear(0.4), NOTHING),
        (LINEAR, linear(0.1), linear(0.25), linear(0.1), Writes(later=linear(0.25))),
        (LINEAR, linear(0.15), linear(0.25), linear(0.1), Writes(overwritten=True)),
        (LINEAR, linear(0.9), linear(0.25), linear(0.4), Writes(at_once=linear(0.25))),
        (PAYLOAD, LOAD, PayloadInformation(), LOAD, Writes(later=PayloadInformation())),
        (SPEED, LinearTwist(0.2), LinearTwist(0.1), LinearTwist(0.2), Writes(at_once=LinearTwist(0.1))),
        (SPEED, LinearTwist(0.1), LinearTwist(0.2), LinearTwist(0.1), Writes(later=LinearTwist(0.2))),
        (PAYLOAD, PayloadInformation(3.0), PayloadInformation(), LOAD, Writes(overwritten=True)),
        (
            SPEEDS, speeds(40, 10, 10, 10, 10, 10, 10), speeds(20, 20, 10, 10, 10, 10, 10),
            speeds(40, 10, 10, 10, 10, 10, 10),
            Writes(speeds(20, 10, 10, 10, 10, 10, 10), speeds(20, 20, 10, 10, 10, 10, 10)),
        ),
        (
            SPEEDS, speeds(30, 10, 10, 10, 10, 10, 10), speeds(20, 20, 10, 10, 10, 10, 10),
            speeds(40, 10, 10, 10, 10, 10, 10),
            Writes(speeds(20, 10, 10, 10, 10, 10, 10), overwritten=True),
        ),
        (
            SPEEDS, speeds(20, 10, 10, 10, 10, 10, 10), speeds(20, 20, 10, 10, 10, 10, 10),
            speeds(20, 10, 10, 10, 10, 10, 10), Writes(later=speeds(20, 20, 10, 10, 10, 10, 10)),
        ),
        (LINEAR, linear(0.0), linear(0.25), linear(0.0), Writes(at_once=linear(0.25))),
    ],
    ids=[
        "tightens", "there already", "loosens", "ruling 14: the pendant changed it", "the pendant loosened it",
        "no order", "a speed tightens", "a speed loosens", "no order and changed",
        "ruling 16: both directions", "both, and changed", "both, the first half done",
        "zero is no limit",
    ],
)  # fmt: skip
def test_what_is_written(slot: Slot, reported: Message, aim: Message, given: Message, expected: Writes) -> None:
    assert writes(reporting(slot, reported), slot, aim, given) == expected


def test_no_limit_has_no_nearest_value() -> None:
    with pytest.raises(BrokerError, match="use Reset"):
        writes(reporting(LINEAR, linear(0.25)), LINEAR, linear(0.0), linear(0.25))


def test_what_tightens_of_a_return_goes_first() -> None:
    state = reporting(LINEAR, linear(0.4))
    assert not goes_first(state, LINEAR)
    state.overrides = owing(LINEAR, linear(0.25), linear(0.4))
    assert goes_first(state, LINEAR)
    state.reported[LINEAR] = linear(0.1)
    assert not goes_first(state, LINEAR)
    state.overrides = owing(LINEAR, linear(1e-9), linear(0.4))
    assert not goes_first(state, LINEAR)


LIMITS: Slot = ("joint_limits", 0)
FIRST, SECOND = (*LIMITS, "max_velocity[0]"), (*LIMITS, "max_velocity[1]")
LOWER, UPPER = (*LIMITS, "min_position[1]"), (*LIMITS, "max_position[1]")


def limits(velocities: tuple[float, float], ranged: tuple[float, float] = (-2.0, 2.0)) -> JointLimits:
    """Application limits of joints 1 and 2, and the range of joint 2."""
    return JointLimits(
        max_velocity=RepeatedDouble((*velocities, *(0.1,) * 5)),
        min_position=RepeatedDouble((-2.0, ranged[0], *(-2.0,) * 5)),
        max_position=RepeatedDouble((2.0, ranged[1], *(2.0,) * 5)),
    )


def owed_parts(values: dict[Place, Given], grounds: dict[Place, Given]) -> Overrides | None:
    """An override of parts that ended, and whose return is owed."""
    override = Override(rev=4, values=values, since_us=1, until_us=2, by=Author("alice", "hmi", proven=True))
    return stack.cut(stack.push(None, override, grounds), 4, values).left


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (limits((0.4, 0.7)), Writes(at_once=limits((0.2, 0.7)))),
        (limits((0.2, 0.7)), NOTHING),
        (limits((0.1, 0.7)), Writes(overwritten=True)),
        (limits((0.9, 0.7)), Writes(at_once=limits((0.2, 0.7)))),
    ],
    ids=["tightens", "there already", "somebody tightened it", "somebody loosened it"],
)
def test_ruling_23_a_return_is_of_its_parts_and_the_others_stay_as_they_are(
    reported: JointLimits, expected: Writes
) -> None:
    state = reporting(LIMITS, reported)
    state.overrides = owed_parts({FIRST: 0.4}, {FIRST: 0.2})
    assert due(state, LIMITS) == expected


def test_ruling_16_of_parts_the_tighter_ones_go_first() -> None:
    state = reporting(LIMITS, limits((0.4, 0.1)))
    state.overrides = owed_parts({FIRST: 0.4, SECOND: 0.1}, {FIRST: 0.2, SECOND: 0.3})
    assert due(state, LIMITS) == Writes(limits((0.2, 0.1)), limits((0.2, 0.3)))
    assert goes_first(state, LIMITS)
    state.reported[LIMITS] = limits((0.2, 0.1))
    assert due(state, LIMITS) == Writes(overwritten=True), "nobody said that it was the return"
    assert state.overrides is not None
    state.overrides = stack.half_paid(state.overrides, LIMITS, limits((0.2, 0.1)))
    assert due(state, LIMITS) == Writes(later=limits((0.2, 0.3)))
    assert not goes_first(state, LIMITS)


def test_ranges_that_do_not_meet_are_led_back_as_a_whole() -> None:
    state = reporting(LIMITS, limits((0.1, 0.1), (0.5, 1.0)))
    state.overrides = owed_parts({LOWER: 0.5, UPPER: 1.0}, {LOWER: -1.0, UPPER: -0.5})
    assert due(state, LIMITS) == Writes(later=limits((0.1, 0.1), (-1.0, -0.5)))


def test_beside_ranges_that_do_not_meet_what_tightens_goes_first() -> None:
    state = reporting(LIMITS, limits((0.4, 0.4), (0.5, 1.0)))
    state.overrides = owed_parts(
        {FIRST: 0.4, SECOND: 0.4, LOWER: 0.5, UPPER: 1.0}, {FIRST: 0.2, SECOND: 0.3, LOWER: -1.0, UPPER: -0.5}
    )
    assert due(state, LIMITS) == Writes(limits((0.2, 0.3), (0.5, 1.0)), limits((0.2, 0.3), (-1.0, -0.5)))
    assert goes_first(state, LIMITS)


def test_a_part_that_was_not_there_goes_away_again() -> None:
    slot, name = ("joint_parameters", 0), "joint_limits.joint_1.max_velocity"
    other = JointParameterMap({"joint_limits.joint_2.max_jerk": 1.0})
    state = reporting(slot, JointParameterMap({**other.parameters, name: 0.5}))
    state.overrides = owed_parts({(*slot, name): 0.5}, {(*slot, name): None})
    assert due(state, slot) == Writes(at_once=JointParameterMap({"joint_limits.joint_2.max_jerk": 1.0}))


def test_of_what_is_not_owed_nothing_is_due() -> None:
    state = reporting(LIMITS, limits((0.1, 0.1)))
    assert due(state, LIMITS) is None
    assert gave(state, LIMITS) == limits((0.1, 0.1))
