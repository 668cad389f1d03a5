from handlers.state.provenance import NOBODY, Setter, Stamp, numbers_of, set_by
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import GravityVector, Message
from tests.handlers.builders import speeds

ALICE, BOB = Stamp("alice/plc-3", 1), Stamp("bob/hmi", 2)


def velocity(*values: float) -> JointLimits:
    return JointLimits(max_velocity=RepeatedDouble(values))


def test_numbers_that_are_set_one_by_one_have_names() -> None:
    assert numbers_of(velocity(1.0, 2.0)) == {"max_velocity[0]": 1.0, "max_velocity[1]": 2.0}
    assert list(numbers_of(JointSafetyMap({"joint_1": JointSafetyGains()}))) == ["joint_1"]
    assert numbers_of(JointParameterMap({"a": True})) == {"a": True}


def test_items_of_the_arm_are_set_as_a_whole() -> None:
    for value in (speeds(20.0), GravityVector()):
        assert numbers_of(value) == {}
    assert set_by(BOB, speeds(20.0), speeds(20.0), Setter(ALICE)) == Setter(BOB)


def test_a_number_that_stays_keeps_who_set_it() -> None:
    first = set_by(ALICE, velocity(1.0, 2.0), None, NOBODY)
    assert first == Setter(ALICE)
    second = set_by(BOB, velocity(1.0, 3.0), velocity(1.0, 2.0), first)
    assert (second.of("max_velocity[0]"), second.of("max_velocity[1]")) == (ALICE, BOB)


def test_a_number_that_was_not_there_is_new() -> None:
    before: Message = JointParameterMap({"a": 1.0})
    setter = set_by(BOB, JointParameterMap({"a": 1.0, "b": 1.0}), before, Setter(ALICE))
    assert (setter.of("a"), setter.of("b")) == (ALICE, BOB)
