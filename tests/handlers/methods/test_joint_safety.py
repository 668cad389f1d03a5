import math

import pytest

from handlers.state.arm_state import ArmState
from schema.arms import Verb
from schema.errors import BrokerError
from schema.joint_items import JointNames, JointSafetyChange, JointSafetyGains, JointSafetyMap, JointSafetyRecord
from schema.messages import Message
from tests.handlers.builders import answer, arm, propose
from tests.handlers.limit_files import GAINS, NAMES, sources, urdf

SLOT = ("joint_safety", 0)
WHOLE = JointSafetyRecord(2.0, -2.0, 20.0, 5.0)


def change(**records: JointSafetyRecord) -> JointSafetyChange:
    return JointSafetyChange(records)


def holding(**records: JointSafetyGains) -> ArmState:
    """An arm with a URDF of ±2.5 rad, that holds these records."""
    state = arm(sources=sources(robot=urdf()))
    state.desired[SLOT] = state.reported[SLOT] = JointSafetyMap(records)
    return state


def records_after(state: ArmState, method: str, params: Message) -> dict[str, JointSafetyGains]:
    value = propose(state, method, params).value
    assert isinstance(value, JointSafetyMap)
    return value.joints


def refusal(params: Message, method: str = "SetJointSafety") -> BrokerError:
    with pytest.raises(BrokerError) as caught:
        propose(holding(joint_4=GAINS), method, params)
    assert "Nothing was changed" in caught.value.message
    return caught.value


def test_the_records_of_the_joints_that_have_one_are_read() -> None:
    assert answer(holding(joint_2=GAINS), "GetJointSafety").result == JointSafetyMap({"joint_2": GAINS})


def test_named_joints_get_whole_records_and_the_others_keep_theirs() -> None:
    state = holding(joint_4=JointSafetyGains(1.0, -1.0, 10.0, 1.0))
    assert records_after(state, "SetJointSafety", change(joint_2=WHOLE)) == {
        "joint_2": GAINS,
        "joint_4": JointSafetyGains(1.0, -1.0, 10.0, 1.0),
    }
    assert propose(state, "SetJointSafety", change()).unchanged


@pytest.mark.parametrize(
    ("record", "loosening"),
    [
        (JointSafetyRecord(2.0, -2.0, 20.0, 5.0), False),
        (JointSafetyRecord(1.5, -2.0, 20.0, 5.0), False),
        (JointSafetyRecord(2.0, -2.1, 20.0, 5.0), True),
        (JointSafetyRecord(2.0, -2.0, 21.0, 5.0), True),
        (JointSafetyRecord(2.0, -2.0, 20.0, 5.1), True),
        (JointSafetyRecord(0.0, 0.0, 0.0, 0.0), True),
    ],
)
def test_each_number_has_its_direction(record: JointSafetyRecord, loosening: bool) -> None:
    assert propose(holding(joint_2=GAINS), "SetJointSafety", change(joint_2=record)).loosening is loosening


def test_a_record_where_none_was_is_tighter() -> None:
    assert not propose(holding(), "SetJointSafety", change(joint_2=WHOLE)).loosening


def test_clearing_sets_four_zeros_and_tells_that_they_freeze() -> None:
    cleared = propose(holding(joint_2=GAINS), "ClearJointSafety", JointNames(("joint_2",)))
    assert cleared.value == JointSafetyMap({"joint_2": JointSafetyGains()})
    [warning] = cleared.warnings
    assert (warning.name, warning.path) == ("ZERO_GAINS", "joints")
    assert warning.message == "k_position 0 allows no velocity, k_velocity 0 no effort: joint_2"
    assert records_after(holding(), "ClearJointSafety", JointNames()) == dict.fromkeys(NAMES, JointSafetyGains())


def test_a_gain_of_zero_is_told_where_it_freezes() -> None:
    zero_position = JointSafetyRecord(2.0, -2.0, 0.0, 5.0)
    proposal = propose(holding(), "SetJointSafety", change(joint_1=zero_position, joint_2=zero_position))
    assert [warning.message.rpartition(": ")[2] for warning in proposal.warnings] == ["joint_2"]
    assert propose(holding(), "SetJointSafety", change(joint_1=zero_position)).warnings == ()


def test_a_reset_goes_back_to_the_urdf_or_to_none() -> None:
    other = JointSafetyGains(1.0, -1.0, 10.0, 1.0)
    state = holding(joint_2=other, joint_4=other)
    assert records_after(state, "ResetJointSafety", JointNames(("joint_4",))) == {"joint_2": other}
    assert records_after(state, "ResetJointSafety", JointNames()) == {"joint_2": GAINS}
    reset = propose(state, "ResetJointSafety", JointNames())
    assert (reset.verb, reset.loosening) == (Verb.RESET, True)


@pytest.mark.parametrize("method", ["ClearJointSafety", "ResetJointSafety"])
def test_a_joint_that_the_arm_does_not_have_is_refused(method: str) -> None:
    error = refusal(JointNames(("joint_2", "joint_9")), method)
    assert (error.kind, error.violations[0].joint_name) == ("unknown_enum", "joint_9")


def test_one_unknown_joint_refuses_all() -> None:
    error = refusal(change(joint_2=WHOLE, joint_9=WHOLE))
    assert (error.kind, error.violations[0].path) == ("unknown_enum", "joints.joint_9")


def test_a_record_is_set_whole() -> None:
    error = refusal(change(joint_2=JointSafetyRecord(2.0, -2.0, k_velocity=5.0)))
    assert error.kind == "malformed"
    assert error.message.startswith("params.joints.joint_2.k_position: a number is needed")


def test_numbers_are_finite() -> None:
    error = refusal(change(joint_2=JointSafetyRecord(math.inf, -2.0, 20.0, 5.0)))
    assert error.kind == "not_finite"
    assert error.message.startswith("joints.joint_2.soft_upper_limit: inf is not finite")


@pytest.mark.parametrize(
    ("record", "field", "bound", "relation", "source"),
    [
        (JointSafetyRecord(-2.0, 2.0, 20.0, 5.0), "soft_lower_limit", -2.0, "<=", "rule:range"),
        (JointSafetyRecord(2.0, -2.0, -1.0, 5.0), "k_position", 0.0, ">=", "rule:minimum"),
        (JointSafetyRecord(2.0, -2.0, 20.0, -1.0), "k_velocity", 0.0, ">=", "rule:minimum"),
        (JointSafetyRecord(2.6, -2.0, 20.0, 5.0), "soft_upper_limit", 2.5, "<=", "urdf:gen3.urdf"),
        (JointSafetyRecord(2.0, -2.6, 20.0, 5.0), "soft_lower_limit", -2.5, ">=", "urdf:gen3.urdf"),
    ],
)
def test_what_makes_no_sense_or_is_beyond_the_machine_is_refused(
    record: JointSafetyRecord, field: str, bound: float, relation: str, source: str
) -> None:
    error = refusal(change(joint_2=record))
    [violation] = error.violations
    assert violation.path == f"joints.joint_2.{field}"
    assert (violation.joint, violation.joint_name) == (2, "joint_2")
    assert (violation.bound, violation.relation, violation.source) == (bound, relation, source)
    assert violation.unit == ("" if field.startswith("k_") else "rad")


def test_a_range_of_a_joint_without_ends_is_not_compared() -> None:
    wide = JointSafetyRecord(9.0, -9.0, 20.0, 5.0)
    state = arm()
    state.desired[SLOT] = state.reported[SLOT] = JointSafetyMap({})
    assert records_after(state, "SetJointSafety", change(joint_1=wide))


def test_a_soft_end_beyond_the_range_of_a_continuous_joint_is_refused_as_for_others() -> None:
    state = holding()
    description = state.description
    assert description is not None
    assert description.joints[0].type == "continuous"
    with pytest.raises(BrokerError, match=r"joints.joint_1.soft_upper_limit") as caught:
        propose(state, "SetJointSafety", change(joint_1=JointSafetyRecord(3.0, -2.0, 20.0, 5.0)))
    assert caught.value.kind == "out_of_limits"
    assert caught.value.violations[0].bound == 2.5
    assert propose(state, "SetJointSafety", change(joint_1=WHOLE)).warnings == ()


def test_a_change_names_the_joints_that_it_asks_for() -> None:
    state = holding(joint_2=GAINS)
    assert propose(state, "SetJointSafety", change(joint_2=WHOLE)).named == frozenset({"joint_2"})
    assert propose(state, "ClearJointSafety", JointNames(("joint_2",))).named == frozenset({"joint_2"})
    assert propose(state, "ResetJointSafety", JointNames(("joint_2",))).named == frozenset({"joint_2"})
    assert propose(state, "ResetJointSafety", JointNames()).named == frozenset(NAMES)
