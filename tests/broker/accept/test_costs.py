"""What requests cost before and after they are decided."""

import pytest

from broker.accept.arrival import Arrival
from broker.accept.costs import (
    COST_BYTES,
    COST_MOST,
    COST_S,
    LIKELY,
    PAGE_COST,
    PAGE_ROWS,
    PAGES,
    found_cost,
    presumed_cost,
)
from broker.link.mqtt_link import InboundMessage
from broker.topics import RequestTopic
from handlers.fleet.find_arms import find_arms
from handlers.fleet.history import get_fleet_history
from handlers.methods import queries
from handlers.rpc_table import RPC_TABLE
from schema.codecs import PRESUMED


def cost(method: str, params: dict[str, object] | None, spent_s: float = 0.0) -> float:
    message = InboundMessage("", b"", False, False, "", "", b"", None, None)
    arrival = Arrival(message, RequestTopic("u", "c", "r1", method), 0, PRESUMED[""])
    arrival.params = params
    return found_cost(arrival, spent_s)


def test_each_method_that_reads_pages_is_one_that_costs_more() -> None:
    paged = (queries.get_history, queries.get_events, get_fleet_history, find_arms)
    reading = {name for name, row in RPC_TABLE.items() if row.decide in paged}
    assert set(PAGES) == reading


def test_what_takes_long_is_taken_to_cost_more_until_it_is_decided() -> None:
    assert set(PAGES) < set(LIKELY) <= set(RPC_TABLE)
    assert presumed_cost("Blame", 100) == LIKELY["Blame"] > presumed_cost("Explain", 100) == LIKELY["Explain"] > 1
    assert cost("Blame", {}, COST_S / 2) == 1


def test_a_page_is_taken_for_a_whole_one_and_a_long_request_for_more_than_one() -> None:
    assert presumed_cost("GetGravityVector", 100) == 1
    assert presumed_cost("CheckTrajectory", 3 * COST_BYTES) == 4
    assert presumed_cost("GetHistory", 100) == presumed_cost("GetEvents", 100) == PAGE_COST
    assert presumed_cost("GetHistory", 1 << 20) == COST_MOST


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("GetHistory", {"limit": 500}, PAGE_COST),
        ("GetHistory", {"limit": 10**9}, PAGE_COST),
        ("GetHistory", {}, 1 + PAGES["GetHistory"] / PAGE_ROWS),
        ("GetEvents", {}, PAGE_COST),
        ("GetEvents", {"limit": 1}, 1 + 1 / PAGE_ROWS),
        ("GetEvents", {"limit": "many"}, 1),
        ("GetEvents", {"limit": -5}, 1),
        ("GetEvents", None, 1),
        ("GetGravityVector", {"limit": 500}, 1),
    ],
)
def test_what_a_request_cost_goes_by_the_rows_that_it_asked_for(
    method: str, params: dict[str, object] | None, expected: float
) -> None:
    assert cost(method, params) == pytest.approx(expected)


def test_time_counts_where_it_is_more() -> None:
    assert cost("GetGravityVector", {}, 5 * COST_S) == pytest.approx(5)
    assert cost("GetEvents", {}, 40 * COST_S) == pytest.approx(40)
    assert cost("GetGravityVector", {}, 10.0) == COST_MOST
