from typing import Any

import pytest

from handlers.rpc.outcome import EventsQuery, HistoryQuery
from schema.envelope import Stage
from schema.errors import BrokerError
from tests.handlers.builders import answer, arm, decide, never_read

INT64_MOST = 2**63 - 1


def kind(method: str, params: dict[str, object]) -> str:
    with pytest.raises(BrokerError) as caught:
        decide(arm(), method, params)
    return caught.value.kind


def test_history_without_params_is_the_newest_fifty() -> None:
    assert decide(arm(), "GetHistory", {}) == decide(never_read(), "GetHistory") == HistoryQuery(0, 0, "", 50)


def test_history_takes_bounds_an_item_and_a_limit() -> None:
    params: dict[str, object] = {"after_rev": 3, "before_rev": 9, "item": "control_mode", "limit": 500}
    assert decide(arm(), "GetHistory", params) == HistoryQuery(3, 9, "control_mode", 500)


def test_events_without_params_are_the_oldest_of_a_page() -> None:
    assert decide(arm(), "GetEvents", {}) == decide(never_read(), "GetEvents") == EventsQuery(0, 500)
    assert decide(arm(), "GetEvents", {"after_seq": 17, "limit": 1}) == EventsQuery(17, 1)


@pytest.mark.parametrize(
    ("method", "params", "refused_as"),
    [
        ("GetHistory", {"limit": 501}, "out_of_limits"),
        ("GetHistory", {"limit": 0}, "out_of_limits"),
        ("GetHistory", {"after_rev": -1}, "out_of_limits"),
        ("GetHistory", {"before_rev": INT64_MOST + 1}, "out_of_limits"),
        ("GetHistory", {"after_rev": "3"}, "malformed"),
        ("GetHistory", {"item": "gravity"}, "unknown_enum"),
        ("GetHistory", {"item": 3}, "malformed"),
        ("GetHistory", {"after_seq": 3}, "unknown_field"),
        ("GetEvents", {"limit": 501}, "out_of_limits"),
        ("GetEvents", {"limit": 0}, "out_of_limits"),
        ("GetEvents", {"after_seq": -1}, "out_of_limits"),
        ("GetEvents", {"after_seq": True}, "malformed"),
        ("GetEvents", {"item": "gravity_vector"}, "unknown_field"),
        ("WhoAmI", {"user": "bob"}, "unknown_field"),
    ],
)
def test_bad_params_are_refused(method: str, params: dict[str, Any], refused_as: str) -> None:
    assert kind(method, params) == refused_as


def test_the_highest_revision_is_a_bound() -> None:
    found = decide(arm(), "GetHistory", {"after_rev": INT64_MOST, "before_rev": INT64_MOST})
    assert found == HistoryQuery(INT64_MOST, INT64_MOST, "", 50)


def test_the_sender_is_told_what_was_understood() -> None:
    found = answer(never_read(), "WhoAmI")
    assert found.stage is Stage.READ
    assert found.result == {
        "user": "alice",
        "conn": "plc-3",
        "codec": "json",
        "size": 99,
        "at": "2023-11-14T22:13:20.123456Z",
        "identity": "server-acl",
        "roles": [],
    }
