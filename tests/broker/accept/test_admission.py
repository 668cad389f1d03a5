"""The checks between the envelope and the handler."""

from typing import Any

import pytest

from broker.accept.admission import check_options
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
