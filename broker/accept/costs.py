"""What a request costs its user: an ordinary one 1, a long one and a page of many rows more."""

from collections.abc import Mapping

from broker.accept.arrival import Arrival
from handlers.fleet.find_arms import FOUND_LIMIT
from handlers.methods.queries import EVENTS_MOST, HISTORY_LIMIT

COST_BYTES = 4096
"""So many bytes of payload cost as much as a request."""
COST_S = 0.0005
"""So much time of deciding costs as much as a request."""
COST_MOST = 64.0
PAGE_ROWS = 32
"""So many rows of a page, read and told, cost as much as a request."""
PAGES: Mapping[str, int] = {
    "GetHistory": HISTORY_LIMIT,
    "GetEvents": EVENTS_MOST,
    "GetFleetHistory": HISTORY_LIMIT,
    "FindArms": FOUND_LIMIT,
}
"""The methods that are answered with a page, and rows of one unless told."""
PAGE_COST = 1.0 + EVENTS_MOST / PAGE_ROWS
"""What a page costs until its size is known."""
LIKELY: Mapping[str, float] = {**dict.fromkeys(PAGES, PAGE_COST), "Blame": 4.0, "Diff": 4.0, "Explain": 2.0}
"""What requests that take long are taken to cost until they are decided: few of them are decided together."""


def presumed_cost(method: str, size: int) -> float:
    """What a request of so many bytes is taken to cost before it is decoded."""
    return min(LIKELY.get(method, 1.0) + size // COST_BYTES, COST_MOST)


def found_cost(arrival: Arrival, spent_s: float) -> float:
    """What a request cost that was decided within so many seconds."""
    told = 1.0
    if (rows := PAGES.get(arrival.topic.method)) is not None:
        params = arrival.params
        limit = params.get("limit", rows) if isinstance(params, dict) else 0
        told += min(limit, EVENTS_MOST) / PAGE_ROWS if isinstance(limit, int | float) and limit > 0 else 0.0
    return min(max(told, spent_s / COST_S), COST_MOST)
