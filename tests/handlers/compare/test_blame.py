from handlers.compare.blame import Claim, claim_document, claims
from handlers.state.overrides import Override, Overrides
from handlers.state.provenance import Setter, Stamp
from schema.envelope import Author
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from tests.handlers.builders import arm, linear, values

ALICE, BOB, LATER = Stamp("alice/plc-3", 1_000_000), Stamp("bob/hmi", 2_000_000), Stamp("alice/plc-3", 3_000_000)
TWIST, LIMITS, SAFETY = ("twist_linear_soft_limit", 2), ("joint_limits", 0), ("joint_safety", 0)
PARAMETERS = ("joint_parameters", 0)


def test_a_value_of_the_arm_has_one_author() -> None:
    state = arm(reported=values() | {TWIST: linear(0.1)}, reported_by={TWIST: Setter(ALICE)})
    assert claims(state, TWIST) == [Claim(TWIST, "", 0.1, ALICE)]
    assert claims(arm(), TWIST)[0].stamp == Stamp()


def test_numbers_of_one_author_are_told_as_a_whole_with_the_newest_of_his_changes() -> None:
    limits = JointLimits(max_velocity=RepeatedDouble((1.0, 2.0)))
    setter = Setter(LATER, {"max_velocity[0]": ALICE})
    state = arm(reported=values() | {LIMITS: limits}, reported_by={LIMITS: setter})
    assert claims(state, LIMITS) == [Claim(LIMITS, "", {"max_velocity": {"values": [1.0, 2.0]}}, LATER)]


def test_numbers_of_two_authors_are_told_one_by_one() -> None:
    limits = JointLimits(max_velocity=RepeatedDouble((1.0, float("inf"))))
    state = arm(reported=values() | {LIMITS: limits}, reported_by={LIMITS: Setter(BOB, {"max_velocity[0]": ALICE})})
    assert claims(state, LIMITS) == [
        Claim(LIMITS, "max_velocity[0]", 1.0, ALICE),
        Claim(LIMITS, "max_velocity[1]", "Infinity", BOB),
    ]


def test_numbers_of_one_author_are_told_one_by_one_where_an_override_holds_some() -> None:
    limits = JointLimits(max_velocity=RepeatedDouble((1.0, 2.0)))
    state = arm(reported=values() | {LIMITS: limits}, reported_by={LIMITS: Setter(ALICE, {"max_velocity[0]": LATER})})
    one = Override(
        rev=4,
        values={(*LIMITS, "max_velocity[0]"): 1.0},
        since_us=1,
        until_us=9,
        by=Author("alice", "plc-3", proven=True),
    )
    state.overrides = Overrides({(*LIMITS, "max_velocity[0]"): 3.0}, (one,))
    assert [(claim.part, claim.stamp) for claim in claims(state, LIMITS)] == [
        ("max_velocity[0]", LATER), ("max_velocity[1]", ALICE),
    ]  # fmt: skip


def test_parts_are_records_and_parameters_too() -> None:
    safety = JointSafetyMap({"a": JointSafetyGains(k_velocity=1.0), "b": JointSafetyGains()})
    parameters = JointParameterMap({"x": True, "y": 2.0})
    state = arm(
        reported=values() | {SAFETY: safety, PARAMETERS: parameters},
        reported_by={SAFETY: Setter(BOB, {"a": ALICE}), PARAMETERS: Setter(BOB, {"y": ALICE})},
    )
    zeros = {"soft_upper_limit": 0.0, "soft_lower_limit": 0.0, "k_position": 0.0, "k_velocity": 0.0}
    assert claims(state, SAFETY) == [
        Claim(SAFETY, "a", zeros | {"k_velocity": 1.0}, ALICE),
        Claim(SAFETY, "b", zeros, BOB),
    ]
    assert claims(state, PARAMETERS) == [Claim(PARAMETERS, "x", True, BOB), Claim(PARAMETERS, "y", 2.0, ALICE)]


def test_what_nobody_set_any_number_of_is_of_who_set_it_last() -> None:
    state = arm(reported_by={SAFETY: Setter(BOB, {})})
    assert claims(state, SAFETY) == [Claim(SAFETY, "", {"joints": {}}, BOB)]


def test_an_entry_names_a_part_only_where_there_is_one() -> None:
    claim = Claim(TWIST, "", 0.1, ALICE)
    told = {"method": "SetTwistLinearSoftLimit", "request_id": "alice/plc-3/7"}
    assert claim_document(claim, 7, 1_000_000, "alice/plc-3", told) == {
        "path": "twist_linear_soft_limit/CARTESIAN_JOYSTICK", "value": 0.1, "rev": 7,
        "at": "1970-01-01T00:00:01.000000Z", "by": "alice/plc-3", "method": "SetTwistLinearSoftLimit",
        "request_id": "alice/plc-3/7",
    }  # fmt: skip
    entry = claim_document(Claim(LIMITS, "max_velocity[1]", 2.0, ALICE), 1, 1, "@adopted", {})
    assert (entry["part"], entry["method"]) == ("max_velocity[1]", "")
