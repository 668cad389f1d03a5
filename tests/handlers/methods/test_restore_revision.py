from dataclasses import replace
from typing import Any

import pytest

from handlers.methods.restore_revision import decide_found
from handlers.rpc.outcome import BatchQuery
from handlers.rpc.source import RevisionSource
from handlers.state.arm_state import ArmState
from schema.arms import Slot
from schema.errors import BrokerError
from schema.messages import PayloadInformation
from tests.handlers.builders import arm, decide, never_read, request

PAYLOAD: Slot = ("payload_information", 0)
TWIST: Slot = ("twist_linear_soft_limit", 2)


def asked(state: ArmState, **params: Any) -> BatchQuery:
    """What a RestoreRevision asks for."""
    found = decide(state, "RestoreRevision", params)
    assert isinstance(found, BatchQuery)
    return found


def test_what_changed_since_is_asked_for() -> None:
    state = arm(rev=9, last_rev={PAYLOAD: 7, TWIST: 4})
    assert asked(state, rev=5).slots == (PAYLOAD,)
    assert asked(state, rev=3, items=["twist_linear_soft_limit"]).slots == (TWIST,)
    assert asked(state, rev=3, items=["gravity_vector"]).slots == (("gravity_vector", 0),)
    everything = asked(state, rev=9, partial=True, on_failure="reverse")
    assert (everything.source, everything.partial, everything.reverse) == (RevisionSource("", 9), True, True)
    assert len(everything.slots) == 23
    mute = replace(state, methods=state.methods - {"SetPayloadInformation"}, limits=None)
    assert PAYLOAD not in asked(mute, rev=9).slots


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({}, "malformed"),
        ({"rev": "5"}, "malformed"),
        ({"rev": 0}, "out_of_limits"),
        ({"rev": 1, "more": 1}, "unknown_field"),
    ],
)
def test_what_has_another_form_is_refused(params: dict[str, Any], kind: str) -> None:
    with pytest.raises(BrokerError) as caught:
        asked(arm(), **params)
    assert caught.value.kind == kind


def test_an_arm_that_was_never_read_has_nothing_to_restore() -> None:
    with pytest.raises(BrokerError) as caught:
        asked(never_read(), rev=1)
    assert caught.value.kind == "arm_not_read"


def test_the_values_that_were_found_are_decided_as_of_today() -> None:
    state, query = arm(), BatchQuery(RevisionSource("", 2), (PAYLOAD,))
    made = request("RestoreRevision", {"rev": 2})
    found = decide_found(state, made, query, {PAYLOAD: PayloadInformation(payload_mass=1.0)})
    assert [step.slot for step in found.steps] == [PAYLOAD]
    with pytest.raises(BrokerError) as caught:
        decide_found(state, made, query, {})
    assert caught.value.kind == "not_applicable"
