"""How often users may write what does not tighten."""

import itertools

import pytest

from broker.settle.rights import write_rates
from broker.settle.rights.write_rates import WriteRates
from handlers.policy.rules import Rate
from schema.errors import BrokerError, Retry

THIRTY = Rate(30, 0.5)


class Seconds:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def taken(rates: WriteRates, user: str = "bob", rate: Rate = THIRTY) -> int:
    """How many writes pass until one is refused, to be sent again in 2 s."""
    count = itertools.count()
    with pytest.raises(BrokerError) as refused:  # noqa: PT012 - counted until it is
        for _ in count:
            rates.take(user, rate)
    error = refused.value
    assert (error.kind, error.retry) == ("rate_limited", Retry.SAME_ID)
    assert error.retry_after_ms == pytest.approx(2_000, abs=1)
    return next(count) - 1


def test_a_bucket_holds_its_number_and_fills_evenly() -> None:
    seconds = Seconds()
    rates = WriteRates(seconds)
    assert taken(rates) == 30
    seconds.now += 2.0
    assert taken(rates) == 1
    seconds.now += 20.0
    assert taken(rates) == 10
    seconds.now += 3600.0
    assert taken(rates) == 30


def test_it_tells_when_the_next_write_passes() -> None:
    seconds = Seconds()
    rates = WriteRates(seconds)
    taken(rates)
    seconds.now += 0.1
    with pytest.raises(BrokerError, match=r"bob may write 30 in 60 s") as refused:
        rates.take("bob", THIRTY)
    assert refused.value.retry_after_ms == pytest.approx(1_900, abs=1)
    seconds.now += refused.value.retry_after_ms / 1_000
    rates.take("bob", THIRTY)


def test_users_have_buckets_of_their_own() -> None:
    rates = WriteRates(Seconds())
    assert (taken(rates), taken(rates, "ann")) == (30, 30)


def test_a_lower_rate_counts_at_once() -> None:
    rates = WriteRates(Seconds())
    rates.take("bob", THIRTY)
    assert taken(rates, rate=Rate(5, 0.5)) == 5


def test_the_user_that_wrote_least_recently_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_rates, "USERS_MOST", 2)
    rates, once = WriteRates(Seconds()), Rate(1, 0.5)
    for user in ("a", "b", "c"):
        rates.take(user, once)
    with pytest.raises(BrokerError):
        rates.take("c", once)
    rates.take("a", once)
