import math

import pytest

from handlers.compare.comparison import Side, compare, comparison_document, comparison_row
from handlers.items.overlay import overlay
from schema.arms import Slot
from schema.codecs.items_form import VALUE_SLOTS
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.items import slot_path
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import GravityVector, Message, PayloadInformation
from tests.handlers.builders import RESOLUTION_RAD, linear, speeds, values

GRAVITY, PAYLOAD = ("gravity_vector", 0), ("payload_information", 0)
TWIST, SPEEDS = ("twist_linear_soft_limit", 2), ("joint_speed_soft_limits", 1)
LIMITS, SAFETY = ("joint_limits", 0), ("joint_safety", 0)
PARAMETERS = ("joint_parameters", 0)
HELD = {slot: value for slot, value in values().items() if slot in VALUE_SLOTS}
ONE, TWO, NONE = RepeatedDouble((1.0, 1.0)), RepeatedDouble((2.0, 2.0)), RepeatedDouble((math.inf, math.inf))


def arm(changes: dict[Slot, Message] | None = None) -> Side:
    return Side(HELD | (changes or {}))


def recipe(named: dict[Slot, Message]) -> Side:
    return Side(named, partial=True)


def test_an_arm_is_as_itself() -> None:
    found = compare(arm(), arm(), None, RESOLUTION_RAD)
    assert comparison_document(found) == {
        "same": True, "count": 0, "differences": [], "only_from": [], "only_to": [],
    }  # fmt: skip


def test_differences_are_told_in_the_order_of_the_items_with_the_way_to_the_second() -> None:
    other = arm({TWIST: linear(0.1), GRAVITY: GravityVector(x=9.81), SPEEDS: speeds(60.0)})
    found = compare(arm({SPEEDS: speeds(50.0), TWIST: linear(0.2)}), other, None, RESOLUTION_RAD)
    document = comparison_document(found)
    assert (document["same"], document["count"]) == (False, 3)
    assert document["differences"] == [
        {
            "path": "gravity_vector", "direction": "unordered", "from": {"x": 0.0, "y": 0.0, "z": -9.81},
            "to": {"x": 9.81, "y": 0.0, "z": 0.0},
        },
        {
            "path": "joint_speed_soft_limits/ANGULAR_JOYSTICK", "direction": "loosening", "from": [50.0] * 7,
            "to": [60.0] * 7,
        },
        {
            "path": "twist_linear_soft_limit/CARTESIAN_JOYSTICK", "direction": "tightening", "from": 0.2, "to": 0.1,
        },
    ]  # fmt: skip
    assert list(document["differences"][0]) == ["path", "from", "to", "direction"]


def test_only_the_slots_that_are_asked_for_are_compared() -> None:
    other = arm({TWIST: linear(0.1), GRAVITY: GravityVector(x=9.81)})
    assert compare(arm(), other, {TWIST}, RESOLUTION_RAD).paths == ["twist_linear_soft_limit/CARTESIAN_JOYSTICK"]
    assert compare(arm(), other, {PAYLOAD}, RESOLUTION_RAD).paths == []


def test_within_the_resolution_of_the_arm_values_are_the_same() -> None:
    step = math.degrees(RESOLUTION_RAD)
    for change, paths in ((0.9 * step, []), (3 * step, [slot_path(SPEEDS)])):
        one, two = arm({SPEEDS: speeds(50.0)}), arm({SPEEDS: speeds(50.0 + change)})
        assert compare(one, two, None, RESOLUTION_RAD).paths == paths


def test_what_one_arm_alone_has_is_a_difference() -> None:
    small = Side({slot: value for slot, value in HELD.items() if slot not in (GRAVITY, TWIST)})
    found = compare(arm(), small, None, RESOLUTION_RAD)
    assert (found.only_from, found.only_to) == ((GRAVITY, TWIST), ())
    found = compare(small, arm(), None, RESOLUTION_RAD)
    document = comparison_document(found)
    assert document["only_to"] == ["gravity_vector", "twist_linear_soft_limit/CARTESIAN_JOYSTICK"]
    assert (document["same"], document["count"], document["only_from"]) == (False, 2, [])


def test_beside_a_recipe_only_what_it_names_counts() -> None:
    weld = recipe({PAYLOAD: HELD[PAYLOAD]})
    assert compare(arm(), weld, None, RESOLUTION_RAD).paths == []
    assert compare(weld, arm(), None, RESOLUTION_RAD).paths == []
    weld = recipe({PAYLOAD: PayloadInformation(2.0), GRAVITY: HELD[GRAVITY]})
    assert compare(arm(), weld, None, RESOLUTION_RAD).paths == ["payload_information"]
    lacking = Side({PAYLOAD: PayloadInformation(2.0)})
    assert compare(lacking, weld, None, RESOLUTION_RAD).only_to == (GRAVITY,)
    assert compare(weld, lacking, None, RESOLUTION_RAD).only_from == (GRAVITY,)


def test_of_two_recipes_all_counts() -> None:
    one, two = (
        recipe({PAYLOAD: HELD[PAYLOAD], TWIST: linear(0.1)}),
        recipe({PAYLOAD: HELD[PAYLOAD], GRAVITY: HELD[GRAVITY]}),
    )
    found = compare(one, two, None, RESOLUTION_RAD)
    assert (found.differences, found.only_from, found.only_to) == ((), (TWIST,), (GRAVITY,))
    assert compare(recipe({LIMITS: JointLimits(max_velocity=ONE)}), recipe({LIMITS: JointLimits()}), None, 0.0).paths


GAINS, OTHERS = JointSafetyGains(k_velocity=1.0), JointSafetyGains(k_velocity=2.0)


@pytest.mark.parametrize(
    ("slot", "held", "named", "merged"),
    [
        (LIMITS, JointLimits(max_velocity=ONE, max_jerk=ONE), JointLimits(max_velocity=ONE), None),
        (LIMITS, JointLimits(max_velocity=ONE), JointLimits(max_velocity=ONE, max_effort=NONE), None),
        (LIMITS, JointLimits(max_velocity=ONE), JointLimits(max_velocity=ONE, max_effort=RepeatedDouble()), None),
        (LIMITS, JointLimits(max_velocity=ONE, max_jerk=ONE), JointLimits(max_velocity=TWO),
         JointLimits(max_velocity=TWO, max_jerk=ONE)),
        (SAFETY, JointSafetyMap({"a": GAINS, "b": GAINS}), JointSafetyMap({"a": GAINS}), None),
        (SAFETY, JointSafetyMap({"a": GAINS, "b": GAINS}), JointSafetyMap({"a": OTHERS}),
         JointSafetyMap({"a": OTHERS, "b": GAINS})),
        (PARAMETERS, JointParameterMap({"a": 1.0, "b": 1.0}), JointParameterMap({"a": 1.0}), None),
        (PARAMETERS, JointParameterMap({"a": 1.0, "b": 1.0}), JointParameterMap({"b": 2.0}),
         JointParameterMap({"a": 1.0, "b": 2.0})),
    ],
)  # fmt: skip
def test_of_joint_items_a_recipe_speaks_of_the_parts_that_it_names(
    slot: Slot, held: Message, named: Message, merged: Message | None
) -> None:
    found = compare(Side({slot: held}), recipe({slot: named}), None, RESOLUTION_RAD)
    back = compare(recipe({slot: named}), Side({slot: held}), None, RESOLUTION_RAD)
    assert [one.after for one in found.differences] == [one.before for one in back.differences]
    assert [one.after for one in found.differences] == ([] if merged is None else [merged])
    assert overlay(held, named) == (merged or overlay(held, named))


def test_lists_that_limit_nothing_are_as_absent() -> None:
    low = JointLimits(min_position=RepeatedDouble((-math.inf, -math.inf)), max_velocity=ONE)
    assert compare(Side({LIMITS: low}), Side({LIMITS: JointLimits(max_velocity=ONE)}), None, 0.0).paths == []
    wrong = JointLimits(min_position=NONE, max_velocity=ONE)
    assert compare(Side({LIMITS: wrong}), Side({LIMITS: JointLimits(max_velocity=ONE)}), None, 0.0).paths


def test_a_row_of_many_arms_names_the_first_paths() -> None:
    other = Side({})
    row = comparison_row("r13", compare(arm(), other, None, RESOLUTION_RAD))
    assert row == {
        "arm": "r13", "same": False, "count": len(HELD), "paths": [slot_path(slot) for slot in VALUE_SLOTS][:8],
    }  # fmt: skip
    assert comparison_row("r13", compare(arm(), arm(), None, 0.0)) == {
        "arm": "r13", "same": True, "count": 0, "paths": [],
    }  # fmt: skip
