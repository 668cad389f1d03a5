from handlers.batch.order import step_direction, turn_of
from handlers.items.direction import Direction
from schema.arms import Slot
from schema.items import ITEMS, slots
from tests.handlers.builders import arm

TWIST: Slot = ("twist_linear_soft_limit", 2)


def test_a_slot_goes_one_of_four_ways() -> None:
    twist, gravity = ITEMS["twist_linear_soft_limit"], ITEMS["gravity_vector"]
    assert step_direction(twist, loosening=False, unchanged=False) is Direction.TIGHTENING
    assert step_direction(twist, loosening=True, unchanged=False) is Direction.LOOSENING
    assert step_direction(gravity, loosening=True, unchanged=False) is Direction.UNORDERED
    assert step_direction(gravity, loosening=True, unchanged=True) is Direction.UNCHANGED


def test_what_tightens_comes_first_and_what_the_service_holds_before_the_arm() -> None:
    state = arm()
    given = {
        ("joint_limits", 0): Direction.LOOSENING,
        TWIST: Direction.LOOSENING,
        ("cartesian_reference_frame", 0): Direction.UNORDERED,
        ("gravity_vector", 0): Direction.UNORDERED,
        ("payload_information", 0): Direction.UNORDERED,
        ("tool_configuration", 0): Direction.UNORDERED,
        ("desired_linear_twist", 0): Direction.TIGHTENING,
        ("joint_speed_soft_limits", 2): Direction.TIGHTENING,
        ("joint_safety", 0): Direction.TIGHTENING,
        ("desired_joint_speeds", 0): Direction.UNCHANGED,
    }
    assert sorted(given, key=lambda slot: turn_of(state, slot, given[slot])) == [
        ("desired_joint_speeds", 0),
        ("joint_safety", 0),
        ("joint_speed_soft_limits", 2),
        ("desired_linear_twist", 0),
        ("tool_configuration", 0),
        ("payload_information", 0),
        ("gravity_vector", 0),
        ("cartesian_reference_frame", 0),
        ("joint_limits", 0),
        TWIST,
    ]


def test_every_slot_has_a_place_of_its_own() -> None:
    state = arm()
    for direction in Direction:
        turns = {turn_of(state, slot, direction) for slot in slots() if ITEMS[slot[0]].order != "unordered"}
        assert len(turns) == sum(ITEMS[slot[0]].order != "unordered" for slot in slots())
