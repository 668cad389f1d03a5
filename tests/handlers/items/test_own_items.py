import pytest

from handlers.items.own_items import INITIAL_ORDER, initial_value
from handlers.state.arm_state import ArmState
from schema.arms import Slot, Verb
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.items import ITEMS, OWN_SLOTS
from schema.joint_items import JointParameterMap, JointSafetyMap
from schema.messages import Message
from tests.handlers.builders import arm, never_read, propose, values
from tests.handlers.limit_files import GAINS, parameters, sources, urdf


def held(state: ArmState, slot: Slot, value: Message) -> None:
    state.desired[slot] = state.reported[slot] = value


def test_every_held_slot_has_a_first_value() -> None:
    assert set(INITIAL_ORDER) == set(OWN_SLOTS)
    state = arm()
    assert {slot: initial_value(state, slot) for slot in OWN_SLOTS} == {slot: values()[slot] for slot in OWN_SLOTS}


def test_files_give_the_first_values() -> None:
    state = arm(sources=sources(robot=urdf(1.2), values=parameters(velocity=0.5)))
    assert initial_value(state, ("joint_safety", 0)) == JointSafetyMap({"joint_2": GAINS})
    assert initial_value(state, ("joint_parameters", 0)) == JointParameterMap(parameters(velocity=0.5))
    held(state, ("joint_parameters", 0), initial_value(state, ("joint_parameters", 0)))
    limits = initial_value(state, ("joint_limits", 0))
    assert isinstance(limits, JointLimits)
    assert limits.max_velocity == RepeatedDouble((0.5, *[1.2] * 6))
    assert limits.max_position == RepeatedDouble((2.5,) * 7)
    assert limits.max_jerk is None


def test_an_arm_that_was_never_read_has_no_first_values() -> None:
    with pytest.raises(BrokerError, match="never read"):
        initial_value(never_read(), ("joint_limits", 0))


def test_a_reset_knows_its_value_and_its_direction() -> None:
    state = arm()
    present = propose(state, "ResetJointLimits")
    assert (present.verb, present.value, present.loosening) == (Verb.RESET, values()["joint_limits", 0], False)
    held(state, ("joint_limits", 0), JointLimits(max_velocity=RepeatedDouble((0.5,) * 7)))
    assert propose(state, "ResetJointLimits").loosening


@pytest.mark.parametrize("presence", [{"online": False}, {"ready": False}])
def test_what_the_service_holds_needs_no_arm(presence: dict[str, bool]) -> None:
    assert propose(arm(**presence), "ResetJointLimits").slot == ("joint_limits", 0)
    assert ITEMS["joint_limits"].kept_by_service


def test_an_arm_that_is_held_is_another_one() -> None:
    with pytest.raises(BrokerError, match="is held"):
        propose(arm(distrust="another serial"), "ResetJointLimits")
