"""ExtendOverride and EndOverride: which overrides are meant."""

from typing import Any

import pytest

from handlers.overrides import stack
from handlers.rpc.outcome import EndOrder, ExtendOrder
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override
from schema.arms import Slot
from schema.codecs.times import format_time
from schema.envelope import Author
from schema.errors import BrokerError
from schema.messages import PayloadInformation
from tests.handlers.builders import arm, decide, linear

LINEAR: Slot = ("twist_linear_soft_limit", 2)
PAYLOAD: Slot = ("payload_information", 0)
NOW_US = 1_700_000_000_123_456
ALICE = Author("alice", "hmi", proven=True)


@pytest.fixture
def state() -> ArmState:
    """Live: 5 tightens, 6 and 7 loosen (of plan 17), 8 has no order."""
    found = arm()
    for rev, slot, value, plan in (
        (5, LINEAR, linear(0.1), 0), (6, LINEAR, linear(0.4), 17), (7, LINEAR, linear(0.3), 17),
        (8, PAYLOAD, PayloadInformation(2.0), 0),
    ):  # fmt: skip
        override = Override(rev=rev, values={slot: value}, since_us=1, until_us=2, by=ALICE, plan=plan)
        grounds = {LINEAR: linear(0.25), PAYLOAD: PayloadInformation()}
        found.overrides = stack.push(found.overrides, override, {slot: grounds[slot]})
    return found


@pytest.mark.parametrize(
    ("params", "revs"),
    [
        ({"rev": 6}, (6,)),
        ({"plan": 17}, (6, 7)),
        ({"all": True}, (5, 6, 7, 8)),
        ({"all": True, "direction": "tightening"}, (5,)),
        ({"all": True, "direction": "loosening"}, (6, 7)),
        ({"all": True, "direction": "unordered"}, (8,)),
        ({"plan": 17, "direction": "loosening"}, (6, 7)),
    ],
)
def test_what_is_named_ends(state: ArmState, params: dict[str, Any], revs: tuple[int, ...]) -> None:
    assert decide(state, "EndOverride", params) == EndOrder(revs)
    assert decide(state, "EndOverride", {**params, "keep": True}) == EndOrder(revs, keep=True)


@pytest.mark.parametrize(
    ("params", "kind", "text"),
    [
        ({}, "malformed", "params: one of rev, plan or all: true is needed"),
        ({"rev": 5, "all": True}, "malformed", "params: one of rev, plan or all: true is needed"),
        ({"all": False}, "malformed", "params.all: only true is known, got false"),
        ({"rev": 0}, "out_of_limits", "params.rev: 0 < 1"),
        ({"rev": 9}, "revision_conflict", "params.rev: 9 is no live override of r12; live: 5, 6, 7, 8."),
        ({"plan": 9}, "revision_conflict", "params.plan: 9 has no live override of r12; live: 5, 6, 7, 8."),
        (
            {"rev": 5, "direction": "unordered"}, "revision_conflict",
            "params.rev: 5 is no live override of r12 that is unordered; live: 5, 6, 7, 8.",
        ),
        ({"all": True, "direction": "up"}, "unknown_enum", "params.direction: 'up' is none of tightening, loosening"),
        ({"all": True, "keep": 1}, "malformed", "params.keep: 1 is no bool"),
        ({"all": True, "why": 1}, "unknown_field", "params.'why': no such field"),
    ],
)  # fmt: skip
def test_what_names_nothing_is_refused(state: ArmState, params: dict[str, Any], kind: str, text: str) -> None:
    with pytest.raises(BrokerError) as refused:
        decide(state, "EndOverride", params)
    assert refused.value.kind == kind
    assert refused.value.message.startswith(text)


def test_an_arm_without_overrides_has_none_to_end() -> None:
    with pytest.raises(
        BrokerError, match=r"^params\.all: r12 has no live override; live: none\. Nothing was changed\.$"
    ):
        decide(arm(), "EndOverride", {"all": True, "direction": "tightening"})


def test_a_new_end_counts_from_now(state: ArmState) -> None:
    moved = decide(state, "ExtendOverride", {"rev": 6, "valid_for_ms": 300_000})
    assert moved == ExtendOrder((6,), NOW_US + 300_000_000)
    until = format_time(NOW_US + 5_000_000)
    assert decide(state, "ExtendOverride", {"plan": 17, "until": until}) == ExtendOrder((6, 7), NOW_US + 5_000_000)


@pytest.mark.parametrize(
    ("params", "kind", "text"),
    [
        ({}, "malformed", "params: either valid_for_ms or until is needed"),
        ({"valid_for_ms": 1_000, "until": "x"}, "malformed", "params: either valid_for_ms or until is needed"),
        ({"valid_for_ms": 999}, "out_of_limits", "params.valid_for_ms: 999 < 1000"),
        ({"valid_for_ms": 2_592_000_001}, "out_of_limits", "params.valid_for_ms: 2592000001 > 2592000000"),
        ({"until": "soon"}, "malformed", "params.until: 'soon'"),
        (
            {"until": format_time(NOW_US)},
            "out_of_limits",
            "params.until: 2023-11-14T22:13:20.123456Z is not 1 s to 30 d",
        ),
        ({"until": format_time(NOW_US + 31 * 86_400_000_000)}, "out_of_limits", "params.until: "),
    ],
)
def test_an_end_out_of_bounds_is_refused(state: ArmState, params: dict[str, Any], kind: str, text: str) -> None:
    with pytest.raises(BrokerError) as refused:
        decide(state, "ExtendOverride", {"rev": 6, **params})
    assert refused.value.kind == kind
    assert refused.value.message.startswith(text)
