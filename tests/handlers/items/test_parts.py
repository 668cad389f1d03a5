"""Parts of values: laid over what is there, compared one by one."""

import math

import pytest

from handlers.items.parts import laid, place_at_or_tighter, put, tighter_part
from handlers.state.places import Given, Part, Place
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import Message
from tests.handlers.builders import arm, linear

ROOT = "joint_limits.joint_1"
SPEEDS = RepeatedDouble((0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7))
FREE = math.inf
GAINS, OTHERS = JointSafetyGains(1.0, -1.0, 4.0, 2.0), JointSafetyGains(2.0, -0.5, 3.0, 5.0)
NO_RANGE = JointSafetyGains(0.0, 0.0, 0.0, 1.0)


def limit(part: str) -> Place:
    """A number of the application limits."""
    return ("joint_limits", 0, part)


def parameter(key: str) -> Place:
    """A parameter of joint 1."""
    return ("joint_parameters", 0, f"{ROOT}.{key}")


@pytest.mark.parametrize(
    ("base", "parts", "expected"),
    [
        (JointLimits(max_velocity=SPEEDS), {}, JointLimits(max_velocity=SPEEDS)),
        (
            JointLimits(max_velocity=SPEEDS), {"max_velocity[2]": 9.0},
            JointLimits(max_velocity=RepeatedDouble((0.1, 0.2, 9.0, 0.4, 0.5, 0.6, 0.7))),
        ),
        (
            JointLimits(max_velocity=SPEEDS), {"max_velocity[2]": None},
            JointLimits(max_velocity=RepeatedDouble((0.1, 0.2, FREE, 0.4, 0.5, 0.6, 0.7))),
        ),
        (
            JointLimits(), {"min_position[1]": -1.0},
            JointLimits(min_position=RepeatedDouble((-FREE, -1.0, *(-FREE,) * 5))),
        ),
        (JointLimits(max_jerk=RepeatedDouble((1.0, FREE))), {"max_jerk[0]": None}, JointLimits()),
        (JointSafetyMap({"a": GAINS}), {"b": OTHERS}, JointSafetyMap({"a": GAINS, "b": OTHERS})),
        (JointSafetyMap({"a": GAINS}), {"a": None}, JointSafetyMap()),
        (JointParameterMap({"x": 1.0}), {"x": 2.0, "y": True}, JointParameterMap({"x": 2.0, "y": True})),
        (JointParameterMap({"x": 1.0, "y": False}), {"x": None}, JointParameterMap({"y": False})),
    ],
)  # fmt: skip
def test_parts_are_laid_over_what_is_there(base: Message, parts: dict[str, Part], expected: Message) -> None:
    assert laid(arm(), base, parts) == expected


def test_a_slot_gets_the_whole_or_parts_of_its_own() -> None:
    slot, base = ("joint_parameters", 0), JointParameterMap({"x": 1.0})
    given: dict[Place, Given] = {(*slot, "y"): 2.0, ("joint_safety", 0, "a"): GAINS, ("payload", 0): linear(0.3)}
    assert put(arm(), slot, base, given) == JointParameterMap({"x": 1.0, "y": 2.0})
    assert put(arm(), ("payload", 0), linear(0.2), given) == linear(0.3)
    assert put(arm(), ("payload", 1), linear(0.2), given) == linear(0.2)


@pytest.mark.parametrize(
    ("place", "tighter", "looser"),
    [
        (limit("max_velocity[0]"), 0.1, 0.2),
        (limit("max_velocity[0]"), 0.1, None),
        (limit("max_velocity[0]"), 0.1, FREE),
        (limit("min_position[0]"), -0.1, -0.2),
        (limit("min_position[0]"), -0.1, None),
        (parameter("max_velocity"), 0.1, 0.2),
        (parameter("min_position"), 0.1, -0.2),
        (parameter("soft_lower_limit"), 0.1, -0.2),
        (parameter("max_velocity"), 0.1, None),
        (parameter("has_velocity_limits"), True, False),
        (parameter("has_velocity_limits"), True, None),
        (("joint_safety", 0, "joint_1"), GAINS, JointSafetyGains(1.0, -1.5, 4.0, 2.0)),
        (("joint_safety", 0, "joint_1"), GAINS, None),
        (("twist_linear_soft_limit", 2), linear(0.1), linear(0.2)),
    ],
)
def test_one_part_is_tighter_than_another_one(place: Place, tighter: Given, looser: Given) -> None:
    assert place_at_or_tighter(place, tighter, looser)
    assert place_at_or_tighter(place, tighter, tighter)
    assert not place_at_or_tighter(place, looser, tighter)
    if not isinstance(tighter, Message) or isinstance(tighter, JointSafetyGains):
        assert not isinstance(looser, Message) or isinstance(looser, JointSafetyGains)
        assert tighter_part(place, tighter, looser) == tighter
        assert tighter_part(place, looser, tighter) == tighter


@pytest.mark.parametrize(
    ("place", "one", "other"),
    [
        (parameter("angle_wraparound"), True, False),
        (parameter("has_velocity_limits"), False, None),
        (limit("max_velocity[0]"), FREE, None),
    ],
    ids=["bounds nothing", "off and not there", "infinite and not there"],
)
def test_parts_that_bound_alike_are_as_tight_as_each_other(place: Place, one: Part, other: Part) -> None:
    assert place_at_or_tighter(place, one, other)
    assert place_at_or_tighter(place, other, one)


def test_the_tighter_of_two_records_is_found_number_by_number() -> None:
    place: Place = ("joint_safety", 0, "joint_1")
    assert tighter_part(place, GAINS, OTHERS) == JointSafetyGains(1.0, -0.5, 3.0, 2.0)
    assert tighter_part(place, GAINS, NO_RANGE) == JointSafetyGains(1.0, -1.0, 0.0, 1.0)
    assert tighter_part(place, NO_RANGE, NO_RANGE) == NO_RANGE
