"""Buckets of users: what is taken, what is refused, what a refusal costs."""

from typing import Any

import pytest

from broker.accept.rates import (
    ANSWER_BURST,
    CONNECTIONS_MOST,
    DEBT_S,
    EXEMPT_BURST,
    EXEMPT_RATE,
    HELD_RATE,
    HELD_S,
    REFUSED_COST,
    USERS_MOST,
    WITHOUT_BOUND_MS,
    Rates,
)
from broker.settings import Settings, from_document


def rates_of(rate: float = 10, burst: float = 5, **clients: Any) -> Rates:
    return Rates(settings_of(rate, burst, **clients))


def settings_of(rate: float = 10, burst: float = 5, **clients: Any) -> Settings:
    return from_document({"rates": {"rate": rate, "burst": burst}, "clients": clients})


def asked(rates: Rates, user: str, now_s: float, *, too_much: bool = False) -> bool:
    """Whether one request is taken."""
    admitted = rates.admits(user, 1.0, now_s, too_much=too_much)
    if not admitted:
        rates.refuse(user, now_s)
    return admitted


def taken(rates: Rates, user: str, times: int, now_s: float = 0.0) -> int:
    return sum(asked(rates, user, now_s) for _ in range(times))


def offered(rates: Rates, rate: float, seconds: float, begin_s: float = 0.0) -> int:
    """How many are taken of requests at a steady rate."""
    return sum(asked(rates, "u", begin_s + number / rate) for number in range(int(rate * seconds)))


def test_a_burst_is_taken_then_what_comes_back() -> None:
    rates = rates_of()
    assert taken(rates, "u", 20) == 5
    assert taken(rates, "u", 20, 10.0) == 5


def test_each_user_has_a_bucket_of_its_own() -> None:
    rates = rates_of()
    assert (taken(rates, "u", 50), taken(rates, "v", 5)) == (5, 5)


def test_who_keeps_to_its_rate_is_never_refused() -> None:
    assert offered(rates_of(), 10, 100) == 1000


def test_a_little_too_much_loses_a_little_and_far_too_much_loses_all() -> None:
    """Steadily: taken + 0.4 refused = rate."""
    slightly, far = rates_of(100, 10), rates_of(100, 10)
    assert offered(slightly, 110, 100) == pytest.approx((100 - REFUSED_COST * 110) / 0.6 * 100, rel=0.02)
    offered(far, 300, 1)
    assert offered(far, 300, 10, 1.0) == 0


def test_nobody_waits_longer_than_the_debt_after_the_last_request() -> None:
    rates = rates_of(100, 10)
    offered(rates, 5000, 10)
    wait_ms = rates.wait_ms("u", 10.0)
    assert wait_ms == pytest.approx(1000 * DEBT_S, abs=20)
    assert not rates.admits("u", 1.0, 10.0 + wait_ms / 1000 - 0.02)
    assert rates.admits("u", 1.0, 10.0 + wait_ms / 1000 + 0.05)


def test_who_asks_more_than_the_service_can_do_is_held_to_little_until_it_stops() -> None:
    rates = rates_of(1000, 1000)
    asked(rates, "u", 0.0, too_much=True)
    within = sum(asked(rates, "u", number / 500) for number in range(2000))
    assert within == pytest.approx(HELD_RATE * 4, rel=0.1)
    assert rates.admits("v", 1.0, 4.0)
    assert taken(rates, "u", 100, 4.0 + 2 * HELD_S) == 100


def test_rate_0_is_without_bound_but_that_of_the_service() -> None:
    rates = rates_of(0)
    assert taken(rates, "u", 5000) == 5000
    assert not rates.bounded("u", 0.0)
    assert not asked(rates, "u", 0.0, too_much=True)
    assert rates.wait_ms("u", 0.0) == WITHOUT_BOUND_MS
    assert taken(rates, "u", 5000) == 5000
    assert rates_of().bounded("u", 0.0)


def test_a_user_may_have_a_rate_of_its_own_and_a_star_stands_for_the_others() -> None:
    rates = rates_of(10, 5, slow={"burst": 2}, free={"rate": 0}, **{"*": {"burst": 3}})
    assert [taken(rates, user, 50) for user in ("slow", "free", "any")] == [2, 50, 3]


def test_what_costs_more_is_charged_more_and_may_be_given_back() -> None:
    rates = rates_of(10, 20)
    assert rates.admits("u", 16.0, 0.0)
    assert taken(rates, "u", 4) == 4
    rates.charge("u", -3.0)
    assert taken(rates, "u", 50) == 3
    rates = rates_of(10, 20)
    assert rates.admits("u", 1.0, 0.0)
    rates.charge("u", 10.0)
    assert taken(rates, "u", 50) == 9
    rates.charge("nobody", 1.0)


def test_what_may_tighten_has_a_budget_by_connection() -> None:
    rates = rates_of()
    first = sum(rates.exempts("u", "c1", 0.0) for _ in range(500))
    second = sum(rates.exempts("u", "c2", 0.0) for _ in range(500))
    assert (first, second) == (EXEMPT_BURST, EXEMPT_BURST)
    assert sum(rates.exempts("u", "c1", 1.0) for _ in range(500)) == EXEMPT_RATE


def test_connections_beyond_the_bound_share_one_budget() -> None:
    rates = rates_of()
    given = sum(rates.exempts("u", f"c{number}", 0.0) for number in range(1000))
    assert given <= CONNECTIONS_MOST + EXEMPT_BURST


def test_only_some_refusals_are_answered() -> None:
    rates = rates_of()
    assert sum(rates.answers("u", 0.0) for _ in range(1000)) == ANSWER_BURST


def test_the_memory_of_users_is_bounded() -> None:
    rates = rates_of()
    for number in range(USERS_MOST + 50):
        rates.admits(f"u{number}", 1.0, 0.0)
    assert len(rates._accounts) == USERS_MOST


def test_new_settings_count_at_once() -> None:
    rates = rates_of()
    assert taken(rates, "u", 50) == 5
    rates.follow(settings_of(10, 8))
    assert taken(rates, "u", 50) == 8
