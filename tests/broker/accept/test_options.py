"""The options of a request beside its params."""

from typing import Any

import pytest

from broker.accept.arrival import Arrival
from broker.accept.options import check_options
from broker.link.mqtt_link import InboundMessage
from broker.settings import Users, from_document
from broker.topics import RequestTopic
from handlers.rpc_table import RPC_TABLE
from schema.codecs import PRESUMED
from schema.envelope import GroupOptions, RequestEnvelope, When
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
        message, RequestTopic(user, "c", arm, method), NOW_US, PRESUMED[""], RPC_TABLE[method],
        RequestEnvelope(**envelope),
    )  # fmt: skip


def test_options_that_do_not_exist_or_do_not_fit() -> None:
    speeds, twist = RPC_TABLE["SetJointSpeedSoftLimits"], RPC_TABLE["SetTwistLinearSoftLimit"]
    mode = RPC_TABLE["SetControlMode"]
    check_options(arrival(unit="deg"), speeds, USERS)
    for rpc, given, kind in (
        (speeds, {"unit": "rad"}, "unit_mismatch"),
        (twist, {"unit": "deg"}, "unit_mismatch"),
        (mode, {"valid_for_ms": 1000}, "unsupported_option"),
        (mode, {"until_us": NOW_US + 2_000_000}, "unsupported_option"),
        (mode, {"when": When.IDLE}, "unsupported_option"),
        (twist, {"valid_for_ms": 1000, "until_us": NOW_US + 2_000_000}, "bad_request_field"),
        (twist, {"until_us": NOW_US + 999_000}, "bad_request_field"),
        (twist, {"until_us": NOW_US + 31 * 86_400_000_000}, "bad_request_field"),
        (twist, {"ttl_ms": 300_001}, "bad_request_field"),
        (twist, {"group": GroupOptions()}, "unsupported_option"),
    ):
        with pytest.raises(BrokerError) as caught:
            check_options(arrival(**given), rpc, USERS)
        assert caught.value.kind == kind
    with pytest.raises(BrokerError, match=r"^until: plc has no clock"):
        check_options(arrival(user="plc", until_us=NOW_US + 2_000_000), twist, USERS)


def test_who_has_no_clock_extends_an_override_by_a_period_alone() -> None:
    extend = RPC_TABLE["ExtendOverride"]
    for params, user in (({"rev": 3, "valid_for_ms": 1_000}, "plc"), ({"rev": 3, "until": "2026-12-01T22:00Z"}, "u")):
        one = arrival("ExtendOverride", user=user)
        one.params = dict(params)
        check_options(one, extend, USERS)
    one = arrival("ExtendOverride", user="plc")
    one.params = {"rev": 3, "until": "2026-12-01T22:00:00Z"}
    with pytest.raises(BrokerError, match=r"^params\.until: plc has no clock"):
        check_options(one, extend, USERS)
