"""A tightening override stands against looser changes of others."""

import pytest

from handlers.overrides import stack
from handlers.overrides.standing import check_standing
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override
from schema.arms import Slot
from schema.envelope import Author
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.messages import Message, PayloadInformation
from tests.handlers.builders import arm, linear

LINEAR: Slot = ("twist_linear_soft_limit", 2)
PAYLOAD: Slot = ("payload_information", 0)
UNTIL_US = 1_764_576_000_000_000


def kept(*given: tuple[int, str, float], ground: float = 0.25, proven: bool = True, reason: str = "") -> ArmState:
    """An arm with overrides of one limit: revision, user, value."""
    state = arm()
    for rev, user, number in given:
        override = Override(
            rev=rev, values={LINEAR: linear(number)}, since_us=1, until_us=UNTIL_US, by=Author(user, "hmi", proven),
            reason=reason,
        )  # fmt: skip
        state.overrides = stack.push(state.overrides, override, {LINEAR: linear(ground)})
    return state


def test_ruling_11_a_looser_change_of_somebody_else_is_refused_with_author_revision_and_end() -> None:
    state = kept((50, "alice", 0.1), reason="maintenance")
    with pytest.raises(BrokerError) as refused:
        check_standing(state, "plc", LINEAR, linear(0.25))
    assert refused.value.kind == "held"
    assert refused.value.message == (
        "r12 is kept tighter by alice, revision 50, until 2025-12-01T08:00:00.000000Z: maintenance; "
        "EndOverride ends that. Nothing was changed."
    )


def test_who_cannot_be_told_apart_is_named_so() -> None:
    with pytest.raises(BrokerError, match=r"by alice \(not proven\), revision 50, until .*Z; End"):
        check_standing(kept((50, "alice", 0.1), proven=False), "plc", LINEAR, None)


@pytest.mark.parametrize(
    ("user", "value"),
    [("alice", linear(0.4)), ("alice", None), ("plc", linear(0.1)), ("plc", linear(0.05))],
    ids=["one's own", "one's own Reset", "as tight", "tighter"],
)
def test_ones_own_and_tighter_changes_pass(user: str, value: Message | None) -> None:
    check_standing(kept((50, "alice", 0.1)), user, LINEAR, value)


def test_a_loosening_override_keeps_nobody_from_anything() -> None:
    check_standing(kept((50, "alice", 0.4)), "plc", LINEAR, linear(0.5))


def test_an_arm_without_overrides_keeps_nobody_from_anything() -> None:
    check_standing(arm(), "plc", LINEAR, None)
    check_standing(kept((50, "alice", 0.1)), "plc", ("twist_linear_soft_limit", 4), None)


def test_an_override_of_ones_own_on_top_does_not_hide_the_one_below() -> None:
    with pytest.raises(BrokerError, match="by alice, revision 50"):
        check_standing(kept((50, "alice", 0.1), (51, "plc", 0.05)), "plc", LINEAR, linear(0.2))


def test_an_item_without_an_order_is_not_kept() -> None:
    state = arm()
    override = Override(
        rev=5, values={PAYLOAD: PayloadInformation(2.0)}, since_us=1, until_us=2, by=Author("alice", "hmi", True)
    )  # fmt: skip
    state.overrides = stack.push(None, override, {PAYLOAD: PayloadInformation()})
    check_standing(state, "bob", PAYLOAD, PayloadInformation(1.0))


VELOCITY, JERK = ("joint_limits", 0, "max_velocity[1]"), ("joint_limits", 0, "max_jerk[1]")
NAMED = frozenset({"max_velocity[1]"})


def velocities(number: float) -> JointLimits:
    """Application limits."""
    return JointLimits(max_velocity=RepeatedDouble((9.0, number, *(9.0,) * 5)))


@pytest.mark.parametrize(
    ("value", "named", "barred"),
    [
        (velocities(0.3), NAMED, True),
        (velocities(0.3), None, True),
        (velocities(0.3), frozenset({"max_velocity[0]"}), False),
        (velocities(0.1), NAMED, False),
        (JointLimits(), NAMED, True),
        (None, NAMED, True),
        (None, frozenset({"max_jerk[0]"}), False),
    ],
    ids=["looser", "the whole is looser", "another part", "as tight", "no limit", "a Reset", "a Reset of another part"],
)
def test_ruling_11_of_parts_those_of_the_override_are_kept_and_others_are_free(
    value: Message | None, named: frozenset[str] | None, barred: bool
) -> None:
    state = arm()
    override = Override(rev=5, values={VELOCITY: 0.2}, since_us=1, until_us=2, by=Author("alice", "hmi", proven=True))
    loose = Override(rev=6, values={JERK: 9.0}, since_us=1, until_us=2, by=Author("alice", "hmi", proven=True))
    state.overrides = stack.push(stack.push(None, override, {VELOCITY: 0.5}), loose, {JERK: 1.0})
    if barred:
        with pytest.raises(BrokerError, match="by alice, revision 5"):
            check_standing(state, "plc", ("joint_limits", 0), value, named)
    else:
        check_standing(state, "plc", ("joint_limits", 0), value, named)
    check_standing(state, "alice", ("joint_limits", 0), value, named)
