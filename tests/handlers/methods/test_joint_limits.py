import math

import pytest

from handlers.state.arm_state import ArmState
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, JointLimitsUpdate, JointLimitUpdate, RepeatedDouble
from schema.joint_items import JointLimitChange, JointParameterMap
from tests.handlers.builders import answer, arm, propose, values
from tests.handlers.limit_files import parameters, sources, urdf

SLOT = ("joint_limits", 0)
SPEED = math.radians(80.0)


def speed(*numbers: float) -> JointLimitsUpdate:
    return JointLimitsUpdate(max_velocity=RepeatedDouble(numbers))


def one(joint: str, **numbers: float) -> JointLimitChange:
    return JointLimitChange(joint, JointLimitUpdate(**numbers))


def ranged() -> ArmState:
    """An arm whose URDF says ±2.5 rad, 39 N·m and a speed of 1.2 rad/s."""
    return arm(sources=sources(robot=urdf(1.2)))


def limits_after(state: ArmState, method: str, params: JointLimitsUpdate | JointLimitChange) -> JointLimits:
    value = propose(state, method, params).value
    assert isinstance(value, JointLimits)
    return value


def refusal(state: ArmState, method: str, params: JointLimitsUpdate | JointLimitChange) -> BrokerError:
    before = dict(state.desired)
    with pytest.raises(BrokerError) as caught:
        propose(state, method, params)
    assert state.desired == before
    return caught.value


def test_the_present_limits_are_read() -> None:
    assert answer(arm(), "GetJointLimits").result == values()[SLOT]


def test_a_list_replaces_the_old_one_whole_and_the_others_stay() -> None:
    state = arm()
    limits = limits_after(state, "SetJointLimits", speed(*[0.5] * 7))
    assert limits.max_velocity == RepeatedDouble((0.5,) * 7)
    present = values()[SLOT]
    assert isinstance(present, JointLimits)
    assert limits.max_acceleration == present.max_acceleration


@pytest.mark.parametrize("update", [JointLimitsUpdate(), speed()])
def test_absent_and_empty_lists_change_nothing(update: JointLimitsUpdate) -> None:
    assert propose(arm(), "SetJointLimits", update).unchanged


def test_less_is_tighter_and_any_number_more_is_looser() -> None:
    state = arm()
    assert not propose(state, "SetJointLimits", speed(*[0.5] * 7)).loosening
    state.reported[SLOT] = state.desired[SLOT] = JointLimits(max_velocity=RepeatedDouble((0.5,) * 7))
    assert propose(state, "SetJointLimits", speed(0.6, *[0.4] * 6)).loosening


def test_numbers_of_one_joint_change_and_zero_is_a_zero() -> None:
    state = arm()
    limits = limits_after(state, "SetJointLimit", one("joint_3", max_velocity=0.0, min_position=-1.0))
    assert limits.max_velocity == RepeatedDouble((SPEED, SPEED, 0.0, SPEED, *[math.radians(70.0)] * 3))
    assert limits.min_position == RepeatedDouble((-math.inf, -math.inf, -1.0, *[-math.inf] * 4))
    assert limits.max_position is None


def test_a_change_of_no_number_changes_nothing() -> None:
    assert propose(arm(), "SetJointLimit", JointLimitChange("joint_1")).unchanged


def test_a_joint_that_the_arm_does_not_have_is_named() -> None:
    error = refusal(arm(), "SetJointLimit", one("joint_9", max_velocity=0.1))
    assert (error.kind, error.violations[0].joint_name) == ("unknown_enum", "joint_9")
    assert "joints: joint_1, joint_2" in error.message


@pytest.mark.parametrize("numbers", [(0.5,), (0.5,) * 8])
def test_each_list_has_one_number_a_joint(numbers: tuple[float, ...]) -> None:
    error = refusal(arm(), "SetJointLimits", speed(*numbers))
    assert error.kind == "wrong_joint_count"
    assert error.message == f"max_velocity: {len(numbers)} values for 7 joints of r12. Nothing was changed."


def test_beyond_the_machine_every_violation_is_told() -> None:
    error = refusal(arm(), "SetJointLimits", speed(0.5, 2.0, 0.5, 0.5, 0.5, math.inf, -0.5))
    assert (error.kind, error.name) == ("out_of_limits", "VALUE_IS_ABOVE_MAXIMUM")
    second, sixth, seventh = error.violations
    assert (second.path, second.joint, second.joint_name) == ("max_velocity.values[1]", 2, "joint_2")
    assert (second.got, second.bound, second.unit, second.source) == (2.0, SPEED, "rad/s", "hard:device")
    assert (sixth.got, sixth.relation) == (math.inf, "<=")
    assert (seventh.bound, seventh.relation, seventh.source) == (0.0, ">=", "rule:minimum")
    assert second.suggest == (0.5, SPEED, 0.5, 0.5, 0.5, math.radians(70.0), 0.0)
    assert "hard limit read from r12" in error.message


def test_what_a_refusal_suggests_is_taken() -> None:
    error = refusal(arm(), "SetJointLimits", speed(0.5, 2.0, 0.5, 0.5, 0.5, math.inf, -0.5))
    suggest = error.violations[0].suggest
    assert isinstance(suggest, tuple)
    assert propose(arm(), "SetJointLimits", speed(*suggest)).value


def test_the_limit_of_the_machine_itself_is_taken_within_its_rounding() -> None:
    state = arm()
    for velocity in (SPEED, SPEED * (1 + 1e-7)):
        assert propose(state, "SetJointLimit", one("joint_1", max_velocity=velocity)).value
    assert refusal(state, "SetJointLimit", one("joint_1", max_velocity=SPEED * (1 + 1e-5))).violations


@pytest.mark.parametrize(
    ("numbers", "field", "bound", "relation", "source"),
    [
        ({"min_position": -3.0}, "min_position", -2.5, ">=", "urdf:gen3.urdf"),
        ({"max_position": 3.0}, "max_position", 2.5, "<=", "urdf:gen3.urdf"),
        ({"min_position": 1.0, "max_position": 0.5}, "min_position", 0.5, "<=", "rule:range"),
        ({"max_effort": 40.0}, "max_effort", 39.0, "<=", "urdf:gen3.urdf"),
        ({"max_jerk": -1.0}, "max_jerk", 0.0, ">=", "rule:minimum"),
        ({"max_position": -math.inf}, "max_position", -math.inf, ">=", "rule:range"),
        ({"min_position": math.inf}, "min_position", math.inf, "<=", "rule:range"),
    ],
)
def test_numbers_of_a_joint_stay_in_order_and_inside(
    numbers: dict[str, float], field: str, bound: float, relation: str, source: str
) -> None:
    error = refusal(ranged(), "SetJointLimit", one("joint_2", **numbers))
    violation = next(found for found in error.violations if found.path == f"update.{field}")
    assert (violation.bound, violation.relation, violation.source) == (bound, relation, source)
    assert (violation.joint, violation.joint_name) == (2, "joint_2")
    assert isinstance(violation.suggest, float)


def test_a_machine_that_was_tightened_meanwhile_stands_in_no_other_way() -> None:
    state = arm()
    tightened = JointParameterMap(parameters(velocity=0.5))
    state.desired["joint_parameters", 0] = state.reported["joint_parameters", 0] = tightened
    assert limits_after(state, "SetJointLimit", one("joint_2", max_velocity=1.0)).max_velocity
    error = refusal(state, "SetJointLimit", one("joint_1", max_velocity=1.0))
    assert error.violations[0].source == "ros:parameters"
    assert "limit of the joint parameters of r12" in error.message


def test_a_change_names_the_numbers_that_it_asks_for() -> None:
    of_all = frozenset(f"max_velocity[{joint}]" for joint in range(7))
    assert propose(arm(), "SetJointLimits", speed(*(0.1,) * 7)).named == of_all
    both = one("joint_2", max_velocity=0.1, max_jerk=9.0)
    assert propose(arm(), "SetJointLimit", both).named == frozenset({"max_velocity[1]", "max_jerk[1]"})
    assert propose(arm(), "SetJointLimit", JointLimitChange("joint_2")).named == frozenset()
    assert propose(arm(), "ResetJointLimits").named is None
