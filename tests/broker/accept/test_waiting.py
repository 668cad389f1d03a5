"""How long a request may have waited, and what is no longer done for it then."""

import math
from typing import Any

import pytest

from broker.accept.arrival import Arrival
from broker.accept.waiting import AHEAD_US, check_waiting, deadline_us, loosens
from broker.link.mqtt_link import InboundMessage
from broker.settings import Users, from_document
from broker.topics import RequestTopic
from handlers.rpc.outcome import (
    Answer,
    ArmOrder,
    AuthorityOrder,
    CloseHandle,
    ConfirmOrder,
    DiscardOrder,
    HoldOrder,
    Outcome,
    Proposal,
    ReleaseOrder,
    Restoration,
)
from handlers.rpc_table import RPC_TABLE
from handlers.state.arm_state import ArmState
from schema.arms import Authority, Verb
from schema.codecs import PRESUMED
from schema.envelope import RequestEnvelope
from schema.errors import BrokerError

NOW_US = 1_800_000_000_000_000
NOW_S = 5_000.0
SECOND_US = 1_000_000
SETTINGS = from_document({"clients": {"plc": {"clock": "none"}}})
USERS = Users(SETTINGS)
STATE = ArmState(arm="r1", adapter="simulated", methods=frozenset(), resolution_rad=0.0)
LOOSER = Proposal(("twist_linear_soft_limit", 2), Verb.SET, None, loosening=True)
TIGHTER = Proposal(("twist_linear_soft_limit", 2), Verb.SET, None, loosening=False)
MODE = Proposal(("control_mode", 0), Verb.SET, None, loosening=False)
UNKNOWN = -math.inf


def arrival(
    method: str = "SetGravityVector", user: str = "u", expiry_s: int | None = None, *, waited_s: float = 0.0,
    sent_after_s: float | None = None, **envelope: Any,
) -> Arrival:  # fmt: skip
    """An arrival at NOW_US, with an envelope; received `waited_s` ago."""
    message = InboundMessage(
        topic="", payload=b"", retain=False, dup=False, content_type="", response_topic="", correlation=b"",
        expiry_s=expiry_s, handle=None, received_s=NOW_S - waited_s, sent_after_s=sent_after_s,
    )  # fmt: skip
    return Arrival(
        message, RequestTopic(user, "c", "r1", method), NOW_US, PRESUMED[""], RPC_TABLE[method],
        RequestEnvelope(**envelope), now_s=NOW_S,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "expected_us"),
    [
        ({}, 0),
        ({"ttl_ms": 500}, NOW_US + 500_000),
        ({"ttl_ms": 500, "issued_at_us": NOW_US - 100_000}, NOW_US + 400_000),
        ({"ttl_ms": 500, "issued_at_us": NOW_US + AHEAD_US}, NOW_US + AHEAD_US + 500_000),
        ({"expiry_s": 3}, NOW_US + 3_000_000),
        ({"expiry_s": 3, "ttl_ms": 500}, NOW_US + 500_000),
        ({"method": "SetControlMode"}, NOW_US + 2_000_000),
        ({"method": "SetControlMode", "expiry_s": 9}, NOW_US + 9_000_000),
        ({"method": "SetControlMode", "issued_at_us": NOW_US - 1_500_000}, NOW_US + 500_000),
        ({"user": "plc", "ttl_ms": 500, "issued_at_us": 1}, NOW_US + 500_000),
        ({"user": "plc", "ttl_ms": 500, "issued_at_us": NOW_US * 2}, NOW_US + 500_000),
        ({"ttl_ms": 500, "waited_s": 0.25}, NOW_US + 250_000),
        ({"expiry_s": 3, "waited_s": 2}, NOW_US + 1_000_000),
        ({"ttl_ms": 500, "waited_s": -math.inf}, NOW_US + 500_000),
        ({"ttl_ms": 500, "waited_s": 9, "issued_at_us": NOW_US}, NOW_US + 500_000),
        ({"ttl_ms": 500, "sent_after_s": UNKNOWN}, NOW_US + 500_000),
    ],
)
def test_when_a_request_expires(given: dict[str, Any], expected_us: int) -> None:
    assert deadline_us(arrival(**given), USERS) == expected_us


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"ttl_ms": 500, "issued_at_us": NOW_US - 500_000}, "expired"),
        ({"method": "SetControlMode", "issued_at_us": NOW_US - 2_000_000}, "expired"),
        ({"expiry_s": 0}, "expired"),
        ({"ttl_ms": 500, "waited_s": 0.5}, "expired"),
        ({"method": "SetControlMode", "waited_s": 2.5}, "expired"),
        ({"expiry_s": 3, "waited_s": 3}, "expired"),
        ({"issued_at_us": NOW_US + AHEAD_US + 1}, "issued_in_future"),
    ],
)
def test_what_is_too_late_or_too_early(given: dict[str, Any], kind: str) -> None:
    with pytest.raises(BrokerError) as caught:
        deadline_us(arrival(**given), USERS)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (LOOSER, True),
        (TIGHTER, False),
        (MODE, True),
        (Restoration(()), True),
        (ConfirmOrder(0), True),
        (ArmOrder(), True),
        (ReleaseOrder(), True),
        (AuthorityOrder(Authority.CONTROL, ""), True),
        (AuthorityOrder(Authority.ADVISE, ""), False),
        (AuthorityOrder(Authority.OBSERVE, ""), False),
        (DiscardOrder(0), False),
        (HoldOrder("", 0), False),
        (CloseHandle(1), False),
        (Answer({}), False),
    ],
)
def test_what_may_loosen(outcome: Outcome, *, expected: bool) -> None:
    state = ArmState(arm="r1", adapter="simulated", methods=frozenset(), resolution_rad=0.0, authority=Authority.ADVISE)
    assert loosens(state, outcome) is expected


@pytest.mark.parametrize("outcome", [LOOSER, MODE, Restoration(()), ConfirmOrder(0)])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"ttl_ms": 300_000},
        {"user": "plc", "issued_at_us": NOW_US},
        {"ttl_ms": 2_000, "expiry_s": 60},
        {"waited_s": 3},
    ],
)
def test_without_an_age_it_is_old(outcome: Outcome, given: dict[str, Any]) -> None:
    with pytest.raises(BrokerError, match="the age is not known") as caught:
        check_waiting(arrival(sent_after_s=UNKNOWN, **given), SETTINGS, USERS, STATE, outcome)
    assert caught.value.kind == "expired"


@pytest.mark.parametrize("outcome", [LOOSER, MODE, Restoration(())])
@pytest.mark.parametrize(
    "given",
    [
        {"issued_at_us": NOW_US - 60 * SECOND_US},
        {"issued_at_us": NOW_US - 60 * SECOND_US, "ttl_ms": 120_000},
        {"expiry_s": 60},
        {"user": "plc", "issued_at_us": 1, "expiry_s": 60},
        {"ttl_ms": 60_000, "expiry_s": 60},
        {"ttl_ms": 2_500, "expiry_s": 3},
    ],
)
def test_an_age_that_is_told_counts(outcome: Outcome, given: dict[str, Any]) -> None:
    check_waiting(arrival(sent_after_s=UNKNOWN, **given), SETTINGS, USERS, STATE, outcome)


def test_issued_too_long_ago_without_a_time_to_live_is_old_where_it_waited() -> None:
    issued_us = NOW_US - 16 * 60 * SECOND_US
    with pytest.raises(BrokerError, match="it was issued 960 s ago, and counts for 900 s"):
        check_waiting(arrival(sent_after_s=UNKNOWN, issued_at_us=issued_us), SETTINGS, USERS, STATE, LOOSER)
    check_waiting(arrival(sent_after_s=UNKNOWN, issued_at_us=issued_us, ttl_ms=300_000), SETTINGS, USERS, STATE, LOOSER)
    check_waiting(arrival(issued_at_us=issued_us), SETTINGS, USERS, STATE, LOOSER)


def test_what_tightens_is_never_too_old() -> None:
    check_waiting(arrival(sent_after_s=UNKNOWN), SETTINGS, USERS, STATE, TIGHTER)
    check_waiting(arrival(waited_s=1e6), SETTINGS, USERS, STATE, TIGHTER)
    check_waiting(arrival(sent_after_s=UNKNOWN), SETTINGS, USERS, STATE, DiscardOrder(0))


def test_what_did_not_wait_is_young() -> None:
    for outcome in (LOOSER, MODE, Restoration(()), ConfirmOrder(0)):
        check_waiting(arrival(), SETTINGS, USERS, STATE, outcome)
        check_waiting(arrival(waited_s=-math.inf), SETTINGS, USERS, STATE, outcome)
        check_waiting(arrival(waited_s=0.5), SETTINGS, USERS, STATE, outcome)


@pytest.mark.parametrize(
    ("outcome", "given", "old"),
    [
        (MODE, {"method": "SetControlMode", "sent_after_s": NOW_S - 2.5}, True),
        (MODE, {"method": "SetControlMode", "sent_after_s": NOW_S - 1.5}, False),
        (MODE, {"method": "SetControlMode", "sent_after_s": NOW_S - 20, "ttl_ms": 30_000}, False),
        (MODE, {"method": "SetControlMode", "sent_after_s": NOW_S - 20, "expiry_s": 1}, False),
        (LOOSER, {"sent_after_s": NOW_S - 20}, False),
        (LOOSER, {"sent_after_s": NOW_S - 20, "ttl_ms": 10_000}, True),
        (LOOSER, {"sent_after_s": NOW_S - 901}, True),
        (LOOSER, {"waited_s": 901}, True),
        (LOOSER, {"waited_s": 899}, False),
        (TIGHTER, {"sent_after_s": NOW_S - 901, "ttl_ms": 10_000}, False),
    ],
)
def test_what_may_have_waited_for_a_while_is_old_once_that_is_too_long(
    outcome: Outcome, given: dict[str, Any], *, old: bool
) -> None:
    if not old:
        check_waiting(arrival(**given), SETTINGS, USERS, STATE, outcome)
        return
    with pytest.raises(BrokerError, match="it may have waited") as caught:
        check_waiting(arrival(**given), SETTINGS, USERS, STATE, outcome)
    assert caught.value.kind == "expired"


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"sent_after_s": UNKNOWN}, "expired"),
        ({"sent_after_s": UNKNOWN, "ttl_ms": 300_000}, "expired"),
        ({"sent_after_s": UNKNOWN, "issued_at_us": NOW_US - 1_500_000}, ""),
        ({"sent_after_s": UNKNOWN, "expiry_s": 9}, ""),
        ({"sent_after_s": UNKNOWN, "dry_run": True}, ""),
        ({"sent_after_s": NOW_S - 1.5}, ""),
    ],
)
def test_a_mode_that_is_old_shows_before_whatever_else_is_wrong(given: dict[str, Any], kind: str) -> None:
    if not kind:
        assert deadline_us(arrival("SetControlMode", **given), USERS) > NOW_US
        return
    with pytest.raises(BrokerError) as caught:
        deadline_us(arrival("SetControlMode", **given), USERS)
    assert caught.value.kind == kind
