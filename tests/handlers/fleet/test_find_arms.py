"""FindArms: what is asked, which arms match, what is told of them."""

import dataclasses
import math
from typing import Any

import msgspec
import pytest

from handlers.fleet.facts import FACTS, TOLD, Seen, held_by, mode, model, ready
from handlers.fleet.find_arms import CONDITIONS, matches, row
from handlers.rpc.fleet_queries import FindQuery
from handlers.state.arm_state import ArmState, Hold
from handlers.state.overrides import Override, Overrides
from handlers.state.recipes import Applied, Recipe, Shelf
from schema.arms import Activity, Authority
from schema.enums import CartesianReferenceFrame
from schema.envelope import Author
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.joint_items import JointParameterMap
from schema.messages import (
    CartesianReferenceFrameInfo,
    ControlModeInformation,
    JointSpeedSoftLimits,
    Message,
    PayloadInformation,
    Position,
    TwistLinearSoftLimit,
)
from tests.handlers.builders import arm, decide, never_read

TWIST = "twist_linear_soft_limit"
JOYSTICK = 2
AUTHOR = Author("bob", "desk", proven=True)
OVERRIDE = Override(rev=2, values={}, since_us=1, until_us=2, by=AUTHOR)


def query(**params: Any) -> FindQuery:
    outcome = decide(never_read(), "FindArms", params)
    assert isinstance(outcome, FindQuery)
    return outcome


def seen(presence: str = "online", **changes: Any) -> Seen:
    return Seen(dataclasses.replace(arm(), **changes), presence)


def reporting(**values: Message) -> ArmState:
    """An arm that reports these values of items without modes, and desires them."""
    slots = {(key, 0): value for key, value in values.items()}
    return dataclasses.replace(arm(), reported=dict(slots), desired=dict(slots))


def refused(params: dict[str, Any]) -> BrokerError:
    with pytest.raises(BrokerError) as caught:
        decide(arm(), "FindArms", params)
    return caught.value


def test_without_conditions_every_arm_matches() -> None:
    asked = query()
    assert (asked.limit, asked.after, asked.show) == (100, "", ())
    assert matches(asked, seen())


def test_every_fact_can_be_asked_for_and_each_that_is_told_is_one() -> None:
    assert list(FACTS) == list(CONDITIONS)
    assert set(TOLD) < set(FACTS)


@pytest.mark.parametrize(
    ("where", "there", "not_there"),
    [
        ({"arms": ["r12"]}, {}, {"arm": "r2"}),
        ({"groups": ["a", "b"]}, {"groups": ("b",)}, {"groups": ("c",)}),
        ({"adapter": "simulated"}, {"adapter": "simulated"}, {"adapter": "kortex"}),
        ({"activity": "fault"}, {"activity": Activity.FAULT}, {}),
        ({"authority": "observe"}, {"authority": Authority.OBSERVE}, {}),
        ({"held_by": "bob"}, {"hold": Hold(AUTHOR, "work", 1)}, {}),
        ({"ready": True}, {"online": True, "ready": True}, {"online": True, "ready": True, "distrust": "why"}),
        ({"pending": True}, {"unsettled": 1}, {}),
        ({"override": True}, {"overrides": Overrides(live=(OVERRIDE,))}, {}),
        ({"override": False}, {"overrides": Overrides()}, {"overrides": Overrides(returning=(OVERRIDE,))}),
        ({"model": "gen3_lite"}, {"description": None, "model": "gen3_lite"}, {"description": None, "model": "x"}),
        ({"mode": "IDLE"}, {"reported": {("control_mode", 0): ControlModeInformation(13)}}, {"reported": {}}),
        ({"differs": True}, {"desired": {("payload_information", 0): PayloadInformation(9.0)}}, {}),
    ],
)  # fmt: skip
def test_a_condition_holds_or_not(where: dict[str, Any], there: dict[str, Any], not_there: dict[str, Any]) -> None:
    asked = query(where=where)
    assert matches(asked, seen(**there))
    assert not matches(asked, seen(**not_there))


def test_every_arm_is_in_the_group_of_all() -> None:
    for groups in ((), ("line",)):
        assert matches(query(where={"groups": ["cell", "all"]}), seen(groups=groups))


def test_presence_is_asked_of_who_sees_the_arm() -> None:
    assert matches(query(where={"presence": "held"}), seen("held"))
    assert not matches(query(where={"presence": "held"}), seen("online"))


def test_all_of_where_has_to_hold() -> None:
    where = {"adapter": "simulated", "pending": True}
    assert not matches(query(where=where), seen(adapter="simulated"))
    assert matches(query(where=where), seen(adapter="simulated", unsettled=2))


def test_facts_of_an_arm_that_was_never_read() -> None:
    unseen = Seen(never_read(), "unknown")
    assert (mode(unseen), held_by(unseen), ready(unseen)) == (None, None, False)
    assert model(unseen) == never_read().model
    unknown = seen(reported={("control_mode", 0): ControlModeInformation(4711)})
    assert mode(unknown) == "4711"


FRAME = "cartesian_reference_frame.reference_frame"
CONDITION_CASES = [
    ("payload_information.payload_mass", ">", 2, True),
    ("payload_information.payload_mass", ">", 2.5, False),
    ("payload_information.payload_mass", "!=", 2.5, False),
    ("payload_information.payload_mass_center.x", "<", 0.2, True),
    ("joint_speed_soft_limits/ANGULAR_JOYSTICK", ">=", 30, True),
    ("joint_speed_soft_limits/ANGULAR_JOYSTICK", ">", 30, False),
    ("joint_speed_soft_limits/ANGULAR_JOYSTICK", "==", 10, True),
    (TWIST, "==", 0.3, True),
    (TWIST, ">", 0.3, False),
    ("twist_linear_soft_limit/CARTESIAN_JOYSTICK", "<=", 0.3, True),
    ("twist_linear_soft_limit/CARTESIAN_TRAJECTORY", "<=", 9, False),
    (FRAME, "==", "CARTESIAN_REFERENCE_FRAME_TOOL", True),
    (FRAME, "!=", "CARTESIAN_REFERENCE_FRAME_TOOL", False),
    (FRAME, "<", 3, False),
    ("joint_parameters.parameters.enabled", "==", True, True),
    ("joint_parameters.parameters.enabled", "==", 1, False),
    ("joint_parameters.parameters.velocity", "==", True, False),
    ("joint_parameters.parameters.velocity", "==", 1.0, True),
    ("joint_parameters.parameters.velocity", "==", "1.0", False),
    ("joint_parameters.parameters.joint_limits.joint_1.max", "==", 2, True),
    ("joint_parameters.parameters.joint_limits.joint_2.max", "!=", 7, False),
    ("joint_safety.joints.joint_1.k_position", "!=", 7, False),
    ("joint_parameters.parameters", "==", 1.0, True),
    ("joint_limits.max_velocity.values", ">", 1e300, True),
    ("joint_limits.max_velocity.values", "<", 1, False),
    ("joint_limits.max_velocity.values", "==", "Infinity", True),
]


@pytest.mark.parametrize(("path", "op", "than", "expected"), CONDITION_CASES)
def test_conditions_on_values_look_at_every_component(path: str, op: str, than: Any, expected: bool) -> None:
    state = reporting(
        payload_information=PayloadInformation(2.5, Position(0.1, 0.0, 0.0)),
        joint_parameters=JointParameterMap({"enabled": True, "velocity": 1.0, "joint_limits.joint_1.max": 2.0}),
        joint_limits=JointLimits(max_velocity=RepeatedDouble((math.inf, 1.0))),
        cartesian_reference_frame=CartesianReferenceFrameInfo(CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_TOOL),
    )
    state.reported["joint_speed_soft_limits", 1] = JointSpeedSoftLimits(1, (10.0, 20.0, 30.0))
    state.reported[TWIST, JOYSTICK] = TwistLinearSoftLimit(JOYSTICK, 0.3)
    asked = query(where={"value": [{"path": path, "op": op, "than": than}]})
    assert matches(asked, Seen(state, "online")) is expected


def test_a_condition_is_of_what_is_reported_unless_told() -> None:
    state = reporting(payload_information=PayloadInformation(1.0))
    slot = ("payload_information", 0)
    state.desired[slot] = PayloadInformation(2.0)

    def found(view: str) -> list[float]:
        condition = {"path": "payload_information.payload_mass", "op": "==", "view": view}
        return [
            than
            for than in (1.0, 2.0, 3.0)
            if matches(query(where={"value": [{**condition, "than": than}]}), Seen(state, "online"))
        ]

    assert (found("reported"), found("desired"), found("ground")) == ([1.0], [2.0], [2.0])
    state.overrides = Overrides(grounds={slot: PayloadInformation(3.0)})
    assert found("ground") == [3.0]


@pytest.mark.parametrize(
    ("params", "kind", "named"),
    [
        ({"wher": {}}, "unknown_field", "where"),
        ({"where": []}, "malformed", "params.where"),
        ({"where": {"colour": "red"}}, "unknown_field", "params.where.'colour'"),
        ({"where": {"presence": "away"}}, "unknown_enum", "params.where.presence"),
        ({"where": {"mode": "IDLY"}}, "unknown_enum", "'IDLE'"),
        ({"where": {"model": 7}}, "malformed", "params.where.model"),
        ({"where": {"ready": "yes"}}, "malformed", "params.where.ready"),
        ({"where": {"arms": "r1"}}, "malformed", "params.where.arms"),
        ({"where": {"arms": [1]}}, "malformed", "params.where.arms"),
        ({"where": {"groups": ["g"] * 1001}}, "malformed", "params.where.groups"),
        ({"where": {"value": [{}] * 9}}, "malformed", "params.where.value"),
        ({"where": {"value": [7]}}, "malformed", "params.where.value[0]"),
        ({"where": {"value": [{"no": 1}]}}, "unknown_field", "params.where.value[0].'no'"),
        ({"show": ["payload_information"] * 17}, "malformed", "params.show"),
        ({"show": ["payload"]}, "unknown_enum", "params.show[0]"),
        ({"show": ["control_mode"]}, "unknown_enum", "params.show[0]"),
        ({"limit": 501}, "out_of_limits", "params.limit"),
        ({"after": 7}, "malformed", "params.after"),
    ],
)
def test_what_is_wrong_is_named(params: dict[str, Any], kind: str, named: str) -> None:
    error = refused(params)
    assert error.kind == kind
    assert named in error.message


@pytest.mark.parametrize(
    ("condition", "kind", "named"),
    [
        ({"op": "=", "than": 1}, "unknown_enum", "value[0].op"),
        ({"op": ["<"], "than": 1}, "unknown_enum", 'value[0].op: ["<"]'),
        ({"than": 1}, "unknown_enum", "value[0].op: null"),
        ({"op": "==", "than": 1, "view": ["reported"]}, "unknown_enum", 'value[0].view: ["reported"]'),
        ({"op": "<", "than": "x"}, "malformed", "value[0].op"),
        ({"op": ">", "than": True}, "malformed", "value[0].op"),
        ({"op": "==", "than": None}, "malformed", "got null"),
        ({"op": "==", "than": 1, "view": "past"}, "unknown_enum", "value[0].view"),
        ({"op": "==", "than": 1, "path": 7}, "malformed", "value[0].path"),
        ({"op": "==", "than": 1, "path": "payload"}, "unknown_enum", "value[0].path"),
        ({"op": "==", "than": 1, "path": "payload_information"}, "malformed", "payload_mass"),
        ({"op": "==", "than": 1, "path": "payload_information.mass"}, "unknown_field", "no field 'mass'"),
        ({"op": "==", "than": 1, "path": "payload_information.payload_mass.kg"}, "unknown_field", "no 'kg'"),
        ({"op": "==", "than": 1, "path": "joint_safety.joints.joint_1"}, "malformed", "has to go on"),
        ({"op": "==", "than": 1, "path": TWIST + ".x"}, "unknown_field", "no 'x'"),
    ],
)
def test_a_condition_that_cannot_be_is_named(condition: dict[str, Any], kind: str, named: str) -> None:
    error = refused({"where": {"value": [{"path": TWIST, **condition}]}})
    assert error.kind == kind
    assert named in error.message


def test_what_is_told_of_an_arm() -> None:
    state = reporting(payload_information=PayloadInformation(2.5))
    state.reported[TWIST, JOYSTICK] = TwistLinearSoftLimit(JOYSTICK, 0.3)
    paths = ["payload_information", TWIST, "twist_linear_soft_limit/CARTESIAN_TRAJECTORY", "tool_configuration"]
    told = row(query(show=paths), Seen(state, "online"))
    assert told == {
        "arm": "r12", "model": model(Seen(state, "")), "presence": "online", "ready": ready(Seen(state, "")),
        "activity": "unknown", "mode": None, "authority": "control", "differs": False, "pending": False,
        "override": False, "rev": state.rev,
        "values": {"payload_information": {"payload_mass": 2.5}, TWIST: {"CARTESIAN_JOYSTICK": 0.3}},
    }  # fmt: skip
    assert "values" not in row(query(), Seen(state, "online"))


def test_arms_are_found_by_their_recipe_and_by_its_drift() -> None:
    body = msgspec.json.encode({"items": {"payload_information": {"payload_mass": 2.5}}, "models": []})
    weld = Recipe("weld", 3, body, "d", "", AUTHOR, 1)
    state = reporting(payload_information=PayloadInformation(2.5))
    state.recipes, state.applied = Shelf((weld,)), Applied("weld", 3, "d", 7, 1, AUTHOR)
    here = Seen(state, "online")
    for name, expected in (("weld", True), ("weld@3", True), ("weld@4", False), ("wel", False)):
        assert matches(query(where={"recipe": name}), here) is expected
        assert not matches(query(where={"recipe": name}), seen())
    assert row(query(), here)["recipe"] == "weld@3"
    assert matches(query(where={"recipe_drift": False}), here)
    state.reported["payload_information", 0] = PayloadInformation(1.0)
    assert matches(query(where={"recipe_drift": True}), here)
