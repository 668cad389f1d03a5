from handlers.batch.reversal import Effect, undo
from handlers.items.parts import laid
from schema.arms import Slot
from schema.messages import PayloadInformation
from tests.handlers.builders import arm, linear

PAYLOAD: Slot = ("payload_information", 0)
TWIST: Slot = ("twist_linear_soft_limit", 2)
OLD, NEW = PayloadInformation(payload_mass=1.0), PayloadInformation()
EFFECTS = {PAYLOAD: Effect(OLD, NEW)}


def test_a_slot_that_is_as_the_change_left_it_gets_back_what_was_there() -> None:
    state = arm(desired_rev={PAYLOAD: 3})
    assert undo(state, 3, EFFECTS) == ({PAYLOAD: OLD}, {}, {})


def test_a_slot_that_is_otherwise_is_kept_and_says_why() -> None:
    assert undo(arm(desired_rev={PAYLOAD: 4}), 3, EFFECTS).kept == {"payload_information": "it was set in revision 4"}
    busy = arm(desired_rev={PAYLOAD: 3}, open={PAYLOAD: 1})
    assert undo(busy, 3, EFFECTS).kept == {"payload_information": "a newer change of it is under way"}
    foreign = arm(desired_rev={TWIST: 3})
    assert undo(foreign, 3, {TWIST: Effect(linear(0.1), linear(0.2))}).kept == {
        "twist_linear_soft_limit/CARTESIAN_JOYSTICK": "another writer changed it"
    }
    unknown = arm(desired_rev={PAYLOAD: 3})
    assert undo(unknown, 3, {PAYLOAD: Effect(None, NEW)}).kept == {
        "payload_information": "nobody knows what was there before"
    }


def test_of_an_item_with_parts_those_that_the_change_left_otherwise_are_named() -> None:
    slot, state = ("joint_limits", 0), arm(desired_rev={("joint_limits", 0): 3})
    after = state.reported[slot]
    before = laid(state, after, {"max_velocity[1]": 0.1, "max_jerk[0]": 9.0})
    jerks = {f"max_jerk[{joint}]" for joint in range(7)}
    assert undo(state, 3, {slot: Effect(before, after)}) == (
        {slot: before}, {slot: frozenset({"max_velocity[1]"} | jerks)}, {},
    )  # fmt: skip
