"""What Gets answer where an override is live: what is reported, desired, or the ground, and when it is over."""

from handlers.compare.views import ground_of, values_of
from handlers.fleet.values import value_of
from handlers.items.parts import put
from handlers.overrides import stack
from handlers.stack.effective import effective_document
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override
from handlers.state.provenance import Setter, Stamp
from schema.arms import Slot
from schema.enums import ControlMode
from schema.envelope import Author, View
from schema.messages import ControlModeInformation, PayloadInformation
from tests.handlers.builders import answer, arm, linear

LINEAR: Slot = ("twist_linear_soft_limit", int(ControlMode.CARTESIAN_JOYSTICK))
PAYLOAD: Slot = ("payload_information", 0)
JOYSTICK = ControlModeInformation(ControlMode.CARTESIAN_JOYSTICK)


def overridden() -> ArmState:
    """An arm with an override of a limit and one of the payload."""
    state = arm()
    values = {LINEAR: linear(0.1), PAYLOAD: PayloadInformation(2.0)}
    state.desired |= values
    state.reported |= values
    by = Author("alice", "hmi", proven=True)
    first = Override(rev=4, values={LINEAR: linear(0.1)}, since_us=1, until_us=9, by=by)
    second = Override(rev=5, values={PAYLOAD: PayloadInformation(2.0)}, since_us=1, until_us=7, by=by)
    state.overrides = stack.push(None, first, {LINEAR: linear(0.25)})
    state.overrides = stack.push(state.overrides, second, {PAYLOAD: PayloadInformation(1.0)})
    return state


def test_a_get_answers_each_view_of_a_slot() -> None:
    state = overridden()
    masses = {view: answer(state, "GetPayloadInformation", view=view).result.payload_mass for view in View}  # type: ignore[union-attr]
    assert masses == {View.REPORTED: 2.0, View.DESIRED: 2.0, View.GROUND: 1.0}
    assert answer(state, "GetPayloadInformation").until_us == 7
    assert answer(state, "GetGravityVector").until_us == 0
    assert answer(arm(), "GetGravityVector", view=View.GROUND).until_us == 0


def test_a_get_of_several_slots_answers_each_view_of_them() -> None:
    state = overridden()
    method = "GetKinematicSoftLimits"
    limits = {view: answer(state, method, JOYSTICK, view=view).result.twist_linear for view in View}  # type: ignore[union-attr]
    assert limits == {View.REPORTED: 0.1, View.DESIRED: 0.1, View.GROUND: 0.25}
    assert answer(state, method, JOYSTICK).until_us == 9
    assert answer(state, "GetAllKinematicSoftLimits").until_us == 9


def test_a_limit_that_an_override_sets_is_told_with_its_revision_and_end() -> None:
    state = overridden()
    state.reported_by[LINEAR] = state.desired_by[LINEAR] = Setter(Stamp("alice/hmi", 1))
    document = effective_document(state)
    told = [row for row in document["sources"] if row["by"] == "alice/hmi"]
    end = {"rev": 4, "until": "1970-01-01T00:00:00.000009Z"}
    assert [{name: row.get(name) for name in end} for row in told] == [end]
    assert all("until" not in row for row in document["sources"] if row["by"] != "alice/hmi")
    params: dict[str, object] = {"quantity": "twist_linear", "mode": "CARTESIAN_JOYSTICK"}
    (number,) = answer(state, "Explain", params).result["numbers"]  # type: ignore[index]
    assert {name: number.get(name) for name in end} == end
    assert [row["rev"] for row in number["stack"] if row["binds"]] == [4]
    assert "rev" not in effective_document(arm())["sources"][0]


def test_ruling_23_the_ground_of_an_item_with_parts_is_told_as_a_whole() -> None:
    state, slot = arm(), ("joint_limits", 0)
    first = (*slot, "max_velocity[0]")
    whole = state.reported[slot]
    state.desired[slot] = state.reported[slot] = put(state, slot, whole, {first: 0.1})
    one = Override(rev=4, values={first: 0.1}, since_us=1, until_us=9, by=Author("alice", "hmi", proven=True))
    ground = put(state, slot, whole, {first: 0.3})
    state.overrides = stack.push(None, one, {first: 0.3})
    assert answer(state, "GetJointLimits", view=View.GROUND).result == ground
    assert answer(state, "GetJointLimits").result == state.reported[slot]
    assert answer(state, "GetJointLimits").until_us == 9
    assert answer(state, "GetJointSafety").until_us == 0
    assert values_of(state, View.GROUND)[slot] == ground == ground_of(state, slot) == value_of(state, slot, "ground")
    assert ground_of(state, ("joint_safety", 0)) == state.reported["joint_safety", 0]
    assert ground_of(arm(reported={}), slot) is None
