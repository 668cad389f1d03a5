"""What requests need of the policy."""

import pytest

from handlers.items.parts import put
from handlers.methods.factory import factory_slots
from handlers.policy.needs import Need, needs_of, references_of
from handlers.policy.rights import PolicyRight
from handlers.rpc.outcome import Answer, BatchProposal, Proposal, Restoration
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override, Overrides
from schema.arms import Slot, Verb
from schema.enums import ControlMode
from schema.envelope import Author
from schema.items import slot_path
from schema.messages import ControlModeInformation, GravityVector, Message, PayloadInformation, TwistLinearSoftLimit
from tests.handlers.builders import arm

MODE = ControlMode.CARTESIAN_JOYSTICK
TWIST: Slot = ("twist_linear_soft_limit", int(MODE))
GRAVITY: Slot = ("gravity_vector", 0)


def twist(limit: float) -> TwistLinearSoftLimit:
    """A soft limit of the joystick, m/s."""
    return TwistLinearSoftLimit(MODE, limit)


def arm_with(reported: float, desired: float) -> ArmState:
    """An arm with these soft limits."""
    state = arm()
    state.reported[TWIST], state.desired[TWIST] = twist(reported), twist(desired)
    return state


def right(state: ArmState, value: Message | None, slot: Slot = TWIST, *, unchanged: bool = False) -> str:
    """The right that the change of a slot needs."""
    (need,) = needs_of(state, Proposal(slot, Verb.SET, value, loosening=True, unchanged=unchanged))
    assert (need.arm, need.item, need.path) == ("r12", slot[0], slot_path(slot))
    return need.right.value


@pytest.mark.parametrize(
    ("reported", "desired", "value", "expected"),
    [
        (0.2, 0.2, 0.1, "tighten"),
        (0.2, 0.2, 0.2, "tighten"),
        (0.2, 0.2, 0.21, "loosen"),
        (0.5, 0.2, 0.3, "loosen"),
        (0.2, 0.5, 0.3, "loosen"),
        (0.5, 0.2, 0.2, "tighten"),
    ],
)
def test_to_tighten_is_at_or_tighter_than_reported_and_desired(
    reported: float, desired: float, value: float, expected: str
) -> None:
    assert right(arm_with(reported, desired), twist(value)) == expected


def test_what_changes_nothing_needs_no_more_than_to_tighten() -> None:
    assert right(arm(), GravityVector(0, 0, -9.81), GRAVITY) == "loosen"
    assert right(arm(), GravityVector(0, 0, -9.81), GRAVITY, unchanged=True) == "tighten"


def test_unordered_items_resets_and_what_was_never_read_are_to_be_loosened() -> None:
    assert right(arm(), PayloadInformation(1.0), ("payload_information", 0)) == "loosen"
    assert right(arm(), None) == "loosen"
    assert right(arm(reported={}), twist(0.01)) == "loosen"


def test_ruling_09_looser_than_the_ground_is_loosening_under_a_looser_override() -> None:
    """Ground 0.1, an engineer's override 0.9: 0.5 for good is tighter than reported, and loosens the ground."""
    state = arm_with(0.9, 0.9)

    def references(*_: object) -> tuple[Message, ...]:
        return twist(0.9), twist(0.1), twist(0.9)

    found = {}
    for value in (0.5, 0.1, 0.09):
        (need,) = needs_of(state, Proposal(TWIST, Verb.SET, twist(value), loosening=False), references)
        found[value] = need.right.value
    assert found == {0.5: "loosen", 0.1: "tighten", 0.09: "tighten"}


def test_the_numbers_that_ceilings_bound_come_with_what_loosens() -> None:
    (need,) = needs_of(arm_with(0.2, 0.2), Proposal(TWIST, Verb.SET, twist(0.4), loosening=True))
    (number,) = need.numbers
    assert (number.quantities, number.value, number.unit) == (("twist_linear",), 0.4, "m/s")
    assert not need.unknown
    (need,) = needs_of(arm_with(0.2, 0.2), Proposal(TWIST, Verb.SET, twist(0.1), loosening=False))
    assert not need.numbers


def test_of_a_reset_the_numbers_are_not_known() -> None:
    (need,) = needs_of(arm(), Proposal(TWIST, Verb.RESET, None, loosening=True))
    assert not need.numbers
    assert need.unknown == {"twist_linear"}


def test_a_reset_whose_value_is_known_loosens_all_the_same() -> None:
    state = arm_with(0.2, 0.2)
    (need,) = needs_of(state, Proposal(TWIST, Verb.RESET, twist(0.1), loosening=False))
    assert need.right is PolicyRight.LOOSEN
    assert [number.value for number in need.numbers] == [0.1]


def test_a_batch_needs_each_of_its_slots() -> None:
    state = arm_with(0.2, 0.2)
    steps = (
        Proposal(TWIST, Verb.SET, twist(0.1), loosening=False),
        Proposal(GRAVITY, Verb.SET, GravityVector(0, 0, -9.81), loosening=True, unchanged=True),
        Proposal(("payload_information", 0), Verb.SET, PayloadInformation(1.0), loosening=True),
    )
    assert [(need.right.value, need.item) for need in needs_of(state, BatchProposal(steps))] == [
        ("tighten", "twist_linear_soft_limit"), ("tighten", "gravity_vector"), ("loosen", "payload_information"),
    ]  # fmt: skip


def test_restore_factory_loosens_every_slot() -> None:
    state = arm()
    slots = factory_slots(state)
    needs = needs_of(state, Restoration(slots))
    assert [need.path for need in needs] == list(map(slot_path, slots))
    assert {need.right for need in needs} == {PolicyRight.LOOSEN}
    by_path = {need.path: need for need in needs}
    assert by_path["twist_linear_soft_limit/CARTESIAN_JOYSTICK"].unknown == {"twist_linear"}
    assert by_path["payload_information"].unknown == {"payload_mass"}
    assert by_path["joint_safety"].unknown == frozenset()


def test_a_mode_an_answer_and_an_order_need_nothing_beside_what_their_method_names() -> None:
    mode = Proposal(("control_mode", 0), Verb.SET, ControlModeInformation(MODE), loosening=True)
    assert needs_of(arm(), mode) == ()
    assert needs_of(arm(), Answer({})) == ()


def test_references_are_what_is_reported_and_desired() -> None:
    state = arm_with(0.2, 0.5)
    assert references_of(state, TWIST) == (twist(0.2), twist(0.5))
    state.desired[TWIST] = state.reported[TWIST]
    assert references_of(state, TWIST) == (twist(0.2),)
    del state.desired[TWIST]
    assert references_of(state, TWIST) == (twist(0.2),)
    assert references_of(arm(reported={}), TWIST) == ()


def test_references_are_the_ground_and_live_overrides_too() -> None:
    state, by = arm_with(0.2, 0.3), Author("u", "c", proven=True)
    state.overrides = Overrides(
        {TWIST: twist(0.1), GRAVITY: GravityVector()},
        (
            Override(rev=1, values={GRAVITY: GravityVector()}, since_us=0, until_us=1, by=by),
            Override(rev=2, values={TWIST: twist(0.4)}, since_us=0, until_us=1, by=by),
        ),
    )
    assert references_of(state, TWIST) == (twist(0.2), twist(0.3), twist(0.1), twist(0.4))
    assert right(state, twist(0.1)) == "tighten"
    assert right(state, twist(0.15)) == "loosen"
    other = ("twist_linear_soft_limit", int(ControlMode.CARTESIAN_TRAJECTORY))
    assert references_of(state, other) == (state.reported[other], state.desired[other])


def test_a_need_may_be_of_no_arm() -> None:
    assert Need(PolicyRight.RECIPE) == (PolicyRight.RECIPE, "", "", "", (), frozenset(), None)


def test_of_parts_only_those_that_a_change_names_count_of_ground_and_overrides() -> None:
    slot, by = ("joint_limits", 0), Author("u", "c", proven=True)
    first, second = (*slot, "max_velocity[0]"), (*slot, "max_velocity[1]")
    state = arm()
    state.desired[slot] = state.reported[slot] = put(state, slot, state.reported[slot], {first: 0.4, second: 0.5})
    loose = Override(rev=5, values={first: 0.4}, since_us=0, until_us=1, by=by)
    state.overrides = Overrides({first: 0.2}, (loose,))
    tighter = put(state, slot, state.reported[slot], {second: 0.3})
    assert references_of(state, slot, tighter, frozenset({"max_velocity[1]"})) == (state.reported[slot],)
    of_second = Proposal(slot, Verb.SET, tighter, loosening=False, named=frozenset({"max_velocity[1]"}))
    assert [need.right.value for need in needs_of(state, of_second)] == ["tighten"]
    lower = put(state, slot, state.reported[slot], {first: 0.3})
    of_first = Proposal(slot, Verb.SET, lower, loosening=False, named=frozenset({"max_velocity[0]"}))
    assert [need.right.value for need in needs_of(state, of_first)] == ["loosen"]
    ground = put(state, slot, state.reported[slot], {first: 0.2})
    assert references_of(state, slot) == (state.reported[slot], ground, state.reported[slot])
