import pytest

from handlers.methods.joint_parameters import successful
from handlers.state.arm_state import ArmState
from limits.ros2.keys import HARD_KEYS, SOFT_KEYS
from schema.errors import BrokerError
from schema.joint_items import JointParameterMap, ParameterNames, SetParametersResult
from tests.handlers.builders import answer, arm, propose, values
from tests.handlers.limit_files import parameters, sources, urdf

SLOT = ("joint_parameters", 0)
FLAG, NUMBER = parameters(velocity=0.5)
NEGATIVE = parameters(velocity=-1.0)
SOFT = {
    "joint_limits.joint_2.has_soft_limits": True,
    "joint_limits.joint_2.k_position": 20.0,
    "joint_limits.joint_2.k_velocity": 5.0,
    "joint_limits.joint_2.soft_lower_limit": -2.0,
    "joint_limits.joint_2.soft_upper_limit": 2.0,
}


def holding(given: dict[str, bool | float]) -> ArmState:
    """An arm with a URDF of ±2.5 rad and 1.2 rad/s, that holds these parameters."""
    state = arm(sources=sources(robot=urdf(1.2)))
    state.desired[SLOT] = state.reported[SLOT] = JointParameterMap(given)
    return state


def refusal(given: dict[str, bool | float], held: dict[str, bool | float] | None = None) -> BrokerError:
    with pytest.raises(BrokerError) as caught:
        propose(holding(held or {}), "SetJointParameters", JointParameterMap(given))
    assert "Nothing was changed" in caught.value.message
    return caught.value


def described(*names: str) -> dict[str, dict[str, object]]:
    result = answer(holding(parameters(velocity=0.5)), "DescribeJointParameters", ParameterNames(names)).result
    assert isinstance(result, dict)
    found: dict[str, dict[str, object]] = result["parameters"]
    return found


def test_parameters_that_are_given_are_read() -> None:
    state = holding(parameters(velocity=0.5))
    assert answer(state, "GetJointParameters", ParameterNames()).result == JointParameterMap(parameters(velocity=0.5))
    asked = ParameterNames((NUMBER, "joint_limits.joint_2.max_jerk"))
    assert answer(state, "GetJointParameters", asked).result == JointParameterMap({NUMBER: 0.5})


def test_parameters_that_are_not_named_stay() -> None:
    state = holding(parameters(velocity=0.5))
    proposal = propose(state, "SetJointParameters", JointParameterMap(SOFT))
    assert proposal.value == JointParameterMap(parameters(velocity=0.5) | SOFT)
    assert not proposal.loosening
    assert propose(state, "SetJointParameters", JointParameterMap({NUMBER: 0.5})).unchanged


@pytest.mark.parametrize(
    ("given", "loosening"),
    [
        ({NUMBER: 0.4}, False),
        ({NUMBER: 0.6}, True),
        ({FLAG: False}, True),
        ({"joint_limits.joint_2.soft_lower_limit": -1.0}, False),
        ({"joint_limits.joint_2.soft_lower_limit": -2.25}, True),
        ({"joint_limits.joint_1.angle_wraparound": True}, False),
    ],
)
def test_each_number_has_its_direction(given: dict[str, bool | float], loosening: bool) -> None:
    state = holding(parameters(velocity=0.5) | SOFT)
    assert propose(state, "SetJointParameters", JointParameterMap(given)).loosening is loosening


def test_what_ros_answers() -> None:
    assert successful(values()[SLOT]) == SetParametersResult(successful=True, reason="")


@pytest.mark.parametrize(
    "name", ["joint_limits.joint_1.max_speed", "limits.joint_1.max_velocity", "max_velocity", "joint_limits.max_jerk"]
)
def test_a_name_that_is_no_parameter_is_refused(name: str) -> None:
    error = refusal({name: 1.0})
    assert error.kind == "unknown_enum"
    assert error.message.startswith(f"parameters.{name}: ")


def test_a_joint_that_the_arm_does_not_have_is_named() -> None:
    error = refusal({"joint_limits.joint_9.max_jerk": 1.0})
    assert (error.kind, error.violations[0].joint_name) == ("unknown_enum", "joint_9")
    with pytest.raises(BrokerError, match="joint_9"):
        answer(holding({}), "GetJointParameters", ParameterNames(("joint_limits.joint_9.max_jerk",)))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({FLAG: 1.0}, "1.0 is a number, a flag is needed"),
        ({NUMBER: True}, "True is a flag, a number is needed"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(given: dict[str, bool | float], text: str) -> None:
    error = refusal(given)
    assert error.kind == "malformed"
    assert text in error.message
    assert (error.violations[0].joint, error.violations[0].source) == (1, "rule:ros")


def test_a_flag_without_its_number_is_refused() -> None:
    error = refusal({FLAG: True})
    assert error.kind == "implausible_value"
    assert error.message.startswith(f"parameters.{NUMBER}: has_velocity_limits is true")
    assert error.violations[0].joint_name == "joint_1"


def test_a_negative_number_is_refused_by_its_bound() -> None:
    error = refusal(NEGATIVE)
    assert (error.kind, error.name) == ("out_of_limits", "VALUE_IS_BELOW_MINIMUM")
    [violation] = error.violations
    assert (violation.path, violation.got, violation.bound) == (f"parameters.{NUMBER}", -1.0, 0.0)


def test_an_inverted_range_is_refused_by_its_other_end() -> None:
    prefix = "joint_limits.joint_2"
    error = refusal(
        {f"{prefix}.has_position_limits": True, f"{prefix}.min_position": 1.0, f"{prefix}.max_position": -1.0}
    )
    assert (error.kind, error.name) == ("out_of_limits", "VALUE_IS_ABOVE_MAXIMUM")
    assert (error.violations[0].relation, error.violations[0].bound) == ("<=", -1.0)


@pytest.mark.parametrize(
    ("given", "key", "bound", "unit"),
    [
        (parameters(velocity=1.5), "max_velocity", 1.2, "rad/s"),
        (SOFT | {"joint_limits.joint_2.soft_upper_limit": 3.0}, "soft_upper_limit", 2.5, "rad"),
        (SOFT | {"joint_limits.joint_2.soft_lower_limit": -3.0}, "soft_lower_limit", -2.5, "rad"),
    ],
)
def test_numbers_beyond_the_machine_are_refused(
    given: dict[str, bool | float], key: str, bound: float, unit: str
) -> None:
    error = refusal(given)
    [violation] = error.violations
    assert violation.path.endswith(f".{key}")
    assert (violation.bound, violation.unit, violation.source) == (bound, unit, "urdf:gen3.urdf")
    assert violation.suggest == bound


def test_a_number_counts_once_its_flag_is_on() -> None:
    wide = parameters(velocity=1.5)
    off = wide | {FLAG: False}
    assert propose(holding({}), "SetJointParameters", JointParameterMap(off)).value
    assert refusal({FLAG: True}, held=off).violations[0].got == 1.5


def test_what_a_file_says_beyond_the_machine_stands_in_no_other_way() -> None:
    held = parameters(velocity=1.5)
    assert propose(holding(held), "SetJointParameters", JointParameterMap(SOFT)).value
    jerk = parameters(jerk=3.0)
    assert propose(holding(held), "SetJointParameters", JointParameterMap(jerk)).value


def test_parameters_are_described_by_type_unit_and_range() -> None:
    assert described(FLAG) == {FLAG: {"type": "bool", "given": True, "read_only": False}}
    velocity = {
        "type": "double",
        "given": True,
        "read_only": False,
        "unit": "rad/s",
        "from_value": 0.0,
        "to_value": 1.2,
    }
    assert described(NUMBER) == {NUMBER: velocity}
    soft, gain, jerk = (f"joint_limits.joint_2.{key}" for key in ("soft_lower_limit", "k_position", "max_jerk"))
    found = described(soft, gain, jerk)
    assert (found[soft]["from_value"], found[soft]["to_value"]) == (-2.5, 2.5)
    assert found[gain] == {"type": "double", "given": False, "read_only": False, "from_value": 0.0}
    assert found[jerk]["to_value"] == "Infinity"


def test_all_parameters_of_the_arm_are_described() -> None:
    assert len(described()) == 7 * len(HARD_KEYS + SOFT_KEYS)
