"""The checks between the envelope and the handler."""

from typing import Any

import pytest

from broker.accept.admission import AHEAD_US, check_options, deadline_us
from broker.accept.arrival import Arrival, presumed_codec
from broker.link.mqtt_link import InboundMessage
from broker.settings import Users, from_document
from broker.topics import RequestTopic
from handlers.rpc_table import RPC_TABLE
from schema.envelope import RequestEnvelope
from schema.errors import BrokerError

NOW_US = 1_800_000_000_000_000
USERS = Users(from_document({"clients": {"plc": {"clock": "none"}}}))


def arrival(
    method: str = "SetGravityVector", user: str = "u", expiry_s: int | None = None, arm: str = "r1", **envelope: Any
) -> Arrival:
    """An arrival at NOW_US, with an envelope."""
    message = InboundMessage(
        topic="", payload=b"", retain=False, dup=False, content_type="", response_topic="", correlation=b"",
        expiry_s=expiry_s, handle=None,
    )  # fmt: skip
    return Arrival(
        message, RequestTopic(user, "c", arm, method), NOW_US, presumed_codec(""), RPC_TABLE[method],
        RequestEnvelope(**envelope),
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
        ({"issued_at_us": NOW_US + AHEAD_US + 1}, "issued_in_future"),
    ],
)
def test_what_is_too_late_or_too_early(given: dict[str, Any], kind: str) -> None:
    with pytest.raises(BrokerError) as caught:
        deadline_us(arrival(**given), USERS)
    assert caught.value.kind == kind


def test_options_that_do_not_exist_or_do_not_fit() -> None:
    speeds, twist = RPC_TABLE["SetJointSpeedSoftLimits"], RPC_TABLE["SetTwistLinearSoftLimit"]
    check_options(arrival(unit="deg"), speeds)
    for rpc, given, kind in (
        (speeds, {"unit": "rad"}, "unit_mismatch"),
        (twist, {"unit": "deg"}, "unit_mismatch"),
        (twist, {"valid_for_ms": 1000}, "unsupported_option"),
    ):
        with pytest.raises(BrokerError) as caught:
            check_options(arrival(**given), rpc)
        assert caught.value.kind == kind
