"""Places: slots, and parts of those that are set part by part."""

import pytest

from handlers.state.places import as_part, by_slot, given_at, given_in, is_at, is_of, place_path, places_in, told_part
from schema.arms import Slot
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.joint_items import JointParameterMap, JointSafetyGains
from tests.handlers.builders import linear

LINEAR: Slot = ("twist_linear_soft_limit", 2)
LIMITS: Slot = ("joint_limits", 0)
PARAMETERS: Slot = ("joint_parameters", 0)
TWO = JointLimits(max_velocity=RepeatedDouble((0.1, 0.2)))


def test_a_slot_without_parts_is_a_place_itself() -> None:
    assert given_in(LINEAR, linear(0.2), None, linear(0.1)) == {LINEAR: linear(0.2)}
    assert given_at(LINEAR, linear(0.2)) == linear(0.2)


def test_what_a_change_names_is_given_and_what_it_takes_away_is_none() -> None:
    assert given_in(LIMITS, TWO, frozenset({"max_velocity[1]", "max_jerk[0]"}), None) == {
        (*LIMITS, "max_jerk[0]"): None,
        (*LIMITS, "max_velocity[1]"): 0.2,
    }


def test_a_whole_value_gives_all_that_there_is_and_takes_away_what_there_was() -> None:
    before, after = JointParameterMap({"x": 1.0, "y": True}), JointParameterMap({"x": 2.0})
    assert given_in(PARAMETERS, after, None, before) == {(*PARAMETERS, "x"): 2.0, (*PARAMETERS, "y"): None}
    assert given_in(PARAMETERS, after, None, None) == {(*PARAMETERS, "x"): 2.0}


def test_places_are_told_by_slot_and_by_path() -> None:
    places = (*places_in(LIMITS, ("a", "b")), LINEAR)
    assert by_slot(places) == {LIMITS: places[:2], LINEAR: (LINEAR,)}
    assert [place_path(place) for place in places] == [
        "joint_limits a", "joint_limits b", "twist_linear_soft_limit/CARTESIAN_JOYSTICK",
    ]  # fmt: skip


def test_parts_are_told_as_in_documents() -> None:
    assert told_part(float("inf")) == "Infinity"
    assert told_part(True) is True
    assert told_part(None) is None
    assert told_part(JointSafetyGains(1.0)) == {
        "soft_upper_limit": 1.0, "soft_lower_limit": 0.0, "k_position": 0.0, "k_velocity": 0.0,
    }  # fmt: skip


def test_a_change_is_of_the_places_that_it_names() -> None:
    place = (*LIMITS, "a")
    assert is_of(place, None)
    assert is_of(place, frozenset({"a"}))
    assert not is_of(place, frozenset({"b"}))
    assert [is_at(place, *at) for at in ((LIMITS, ""), (LIMITS, "a"), (LIMITS, "b"), (LINEAR, "a"))] == [
        True, True, False, False,
    ]  # fmt: skip


def test_what_is_no_part_is_refused() -> None:
    with pytest.raises(TypeError, match="str"):
        as_part("x")
