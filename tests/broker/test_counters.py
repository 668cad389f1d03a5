"""What is counted, and how often it is logged."""

from typing import Any

import pytest
import structlog
from structlog.testing import LogCapture

from broker.counters import COUNTERS, LOG_EVERY_S, USERS_MOST, Counters

NAMES = {
    "request_dropped",
    "rate_limited",
    "rate_limited_unanswered",
    "request_failed",
    "request_refused",
    "row_damaged",
    "publication_refused",
    "command_refused",
    "message_unreadable",
    "packet_out_of_place",
}


class Bench:
    """Counters on a clock that is moved by hand, and what they logged: (counter, user, count)."""

    def __init__(self, capture: LogCapture) -> None:
        self.now_s = 100.0
        self.counters = Counters(lambda: self.now_s)
        self._capture = capture

    @property
    def lines(self) -> list[tuple[Any, Any, Any]]:
        """What was logged since the last look."""
        lines = [(entry["counter"], entry["user"], entry["count"]) for entry in self._capture.entries]
        self._capture.entries.clear()
        return lines


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Counters whose log is caught, whatever other tests set up."""
    capture = LogCapture()
    monkeypatch.setattr("broker.counters.log", structlog.wrap_logger(None, processors=[capture]))
    return Bench(capture)


def test_the_table_is_known_here() -> None:
    assert set(COUNTERS) == NAMES
    assert all(text and not text.endswith(".") for text in COUNTERS.values())


def test_every_name_has_a_total_from_the_start(bench: Bench) -> None:
    assert bench.counters.totals() == dict.fromkeys(NAMES, 0)
    bench.counters.add("request_dropped", "alice")
    bench.counters.add("request_dropped", "bob", 3)
    assert bench.counters.totals()["request_dropped"] == 4
    assert bench.counters.totals()["request_failed"] == 0


def test_a_name_of_no_row_is_a_fault_of_the_caller(bench: Bench) -> None:
    with pytest.raises(KeyError, match="no_such"):
        bench.counters.add("no_such")
    assert bench.counters.totals() == dict.fromkeys(NAMES, 0)


def test_the_first_is_logged_at_once_and_the_rest_by_the_minute(bench: Bench) -> None:
    for _ in range(5):
        bench.counters.add("request_dropped", "alice")
    bench.counters.add("request_dropped", "bob")
    assert bench.lines == [("request_dropped", "alice", 1), ("request_dropped", "bob", 1)]
    bench.now_s += LOG_EVERY_S - 1
    bench.counters.add("request_dropped", "alice")
    bench.counters.tell()
    assert bench.lines == []
    bench.now_s += 1
    bench.counters.add("request_dropped", "alice", 2)
    assert bench.lines == [("request_dropped", "alice", 7)]


def test_what_a_minute_gathered_is_logged_although_nothing_follows(bench: Bench) -> None:
    bench.counters.add("request_dropped", "alice")
    bench.counters.add("request_dropped", "alice")
    bench.now_s += LOG_EVERY_S
    bench.counters.tell()
    bench.counters.tell()
    assert bench.lines == [("request_dropped", "alice", 1), ("request_dropped", "alice", 1)]


def test_users_are_bounded_and_the_rest_counted_without_a_name(bench: Bench) -> None:
    for number in range(USERS_MOST):
        bench.counters.add("request_dropped", f"user-{number}")
    assert len(bench.lines) == USERS_MOST
    for number in range(500):
        bench.counters.add("request_dropped", f"more-{number}")
    assert bench.lines == [("request_dropped", "", 1)]
    bench.now_s += LOG_EVERY_S
    bench.counters.tell()
    assert bench.lines == [("request_dropped", "", 499)]
    assert bench.counters.totals()["request_dropped"] == USERS_MOST + 500
    bench.counters.add("request_dropped", "more-1")
    assert bench.lines == [("request_dropped", "more-1", 1)]


def test_a_long_user_is_cut(bench: Bench) -> None:
    bench.counters.add("request_dropped", "x" * 60_000)
    assert bench.lines == [("request_dropped", "x" * 64, 1)]
