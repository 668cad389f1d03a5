"""GetFleetHistory: what is asked."""

from typing import Any

import pytest

from handlers.fleet.history import cursor_of
from handlers.rpc.fleet_queries import FleetHistoryQuery
from schema.errors import BrokerError
from tests.handlers.builders import arm, decide

HIGHEST = 2**63 - 1


def test_without_params_it_is_the_newest_fifty() -> None:
    assert decide(arm(), "GetFleetHistory", {}) == FleetHistoryQuery(None, None, "", "", "", "", 0, HIGHEST, 50)


def test_everything_can_be_asked_at_once() -> None:
    params = {
        "since": "2026-11-30T08:00:00Z", "until": 1_764_489_600_001, "user": "bob", "item": "payload_information",
        "method": "SetPayloadInformation", "plan": 17, "outcome": "applied", "cursor": cursor_of(8010), "limit": 1,
    }  # fmt: skip
    expected = FleetHistoryQuery(
        since_us=1_796_025_600_000_000, until_us=1_764_489_600_001_000, user="bob", item="payload_information",
        method="SetPayloadInformation", outcome="applied", plan=17, before_n=8010, limit=1,
    )  # fmt: skip
    assert decide(arm(), "GetFleetHistory", params) == expected


def test_a_cursor_has_twelve_digits() -> None:
    assert cursor_of(8010) == "000000001f4a"


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({"from": 1}, "unknown_field"),
        ({"item": "payload"}, "unknown_enum"),
        ({"since": "yesterday"}, "malformed"),
        ({"until": True}, "malformed"),
        ({"cursor": "1f4a"}, "malformed"),
        ({"cursor": "00000000zzzz"}, "malformed"),
        ({"cursor": 5}, "malformed"),
        ({"plan": 0}, "out_of_limits"),
        ({"limit": 501}, "out_of_limits"),
    ],
)
def test_what_is_wrong_is_named(params: dict[str, Any], kind: str) -> None:
    with pytest.raises(BrokerError) as caught:
        decide(arm(), "GetFleetHistory", params)
    assert caught.value.kind == kind
    assert f"params.{next(iter(params))}" in caught.value.message.replace("'", "")
