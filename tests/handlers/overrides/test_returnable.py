"""Only what can be taken back may have an end."""

import pytest

from handlers.overrides.returnable import check_returnable
from handlers.rpc.outcome import Proposal
from schema.arms import Slot, Verb
from schema.errors import BrokerError
from schema.joint_items import JointParameterMap
from schema.messages import Message
from tests.handlers.builders import arm, linear

PARAMETERS: Slot = ("joint_parameters", 0)
KNOWN, OTHER = "joint_limits.joint_1.max_velocity", "joint_limits.joint_2.max_velocity"
WANTED = JointParameterMap({KNOWN: 0.5, OTHER: 0.5})


def change(named: frozenset[str] | None, value: Message | None = WANTED) -> Proposal:
    """A change of parameters."""
    return Proposal(PARAMETERS, Verb.SET, value, loosening=False, named=named)


@pytest.mark.parametrize("named", [frozenset({OTHER}), frozenset({KNOWN, OTHER}), None])
def test_ruling_24_what_an_arm_cannot_lose_again_is_refused_by_name(named: frozenset[str] | None) -> None:
    state = arm(arm_items=frozenset({PARAMETERS[0]}))
    state.reported[PARAMETERS] = JointParameterMap({KNOWN: 0.1})
    with pytest.raises(BrokerError) as refused:
        check_returnable(state, change(named))
    assert refused.value.kind == "not_applicable"
    assert refused.value.message == (
        f"valid_for_ms, until: r12 has no joint_parameters {OTHER}, and cannot lose it again. Nothing was changed."
    )


def test_ruling_24_what_can_be_taken_back_passes() -> None:
    check_returnable(arm(), change(None))
    held = arm(arm_items=frozenset({PARAMETERS[0]}))
    held.reported[PARAMETERS] = JointParameterMap({KNOWN: 0.1})
    check_returnable(held, change(frozenset({KNOWN})))
    check_returnable(held, change(None, value=None))
    check_returnable(held, Proposal(("twist_linear_soft_limit", 2), Verb.SET, linear(0.1), loosening=False))
