"""How old a request is while the machine's clock is not believed, or a little behind service time."""

import pytest

from broker.accept.ages import check_age, expiry_us, place_in_time
from broker.clock import Clock
from handlers.rpc.outcome import Proposal, Restoration
from schema.arms import Verb
from schema.errors import BrokerError
from tests.broker.accept.test_options import NOW_US, USERS, arrival

SECOND_US, YEAR_US = 1_000_000, 365 * 86_400_000_000
SET, MODE = "SetTwistLinearSoftLimit", "SetControlMode"


def clock_behind(by_us: int) -> Clock:
    """Service time is NOW_US, the machine's clock behind it."""
    clock = Clock(lambda: NOW_US - by_us, lambda: 0.0)
    clock.not_before(NOW_US)
    return clock


def clock_ahead(by_us: int) -> Clock:
    """Service time is NOW_US, the machine's clock jumped ahead of it."""
    wall = [NOW_US]
    clock = Clock(lambda: wall[0], lambda: 0.0)
    clock.now_us()
    wall[0] += by_us
    clock.now_us()
    return clock


CLOCKS = {"behind": clock_behind(YEAR_US), "ahead": clock_ahead(YEAR_US)}


@pytest.mark.parametrize("age_us", [-4 * SECOND_US, 0, 400_000])
@pytest.mark.parametrize("clock", CLOCKS.values(), ids=CLOCKS)
@pytest.mark.parametrize("of", ["service", "machine"])
def test_a_request_is_as_young_as_either_clock_makes_it(clock: Clock, of: str, age_us: int) -> None:
    base_us = NOW_US if of == "service" else clock.wall_us()
    given = arrival(SET, ttl_ms=500, issued_at_us=base_us - age_us)
    assert expiry_us(given, USERS, clock) == NOW_US - age_us + 500_000
    assert not given.age_unknown


@pytest.mark.parametrize("issued_us", [NOW_US - 600 * SECOND_US, NOW_US + YEAR_US // 2, NOW_US - YEAR_US - SECOND_US])
@pytest.mark.parametrize(
    ("wanted", "refused"),
    [
        (Proposal(("twist_linear_soft_limit", 2), Verb.SET, None, loosening=True), True),
        (Proposal(("twist_linear_soft_limit", 2), Verb.SET, None, loosening=False), False),
        (Proposal(("control_mode", 0), Verb.SET, None, loosening=False), True),
        (Restoration(()), True),
    ],
)
def test_an_age_that_nobody_knows_is_old_for_what_loosens(
    issued_us: int, wanted: Proposal | Restoration, refused: bool
) -> None:
    given = arrival(SET, ttl_ms=500, issued_at_us=issued_us)
    assert expiry_us(given, USERS, clock_behind(YEAR_US)) == NOW_US + 500_000
    if not refused:
        check_age(given, wanted)
        return
    with pytest.raises(
        BrokerError, match=r"clock is behind by 31536000\.0 s, so that nobody knows how old it is"
    ) as caught:
        check_age(given, wanted)
    assert caught.value.kind == "expired"


def test_a_clock_a_little_behind_makes_no_request_old() -> None:
    given = arrival(MODE, issued_at_us=NOW_US - 5 * SECOND_US)
    assert expiry_us(given, USERS, clock_behind(5 * SECOND_US)) == NOW_US + 2 * SECOND_US


def test_a_clock_that_is_right_changes_nothing() -> None:
    for issued_us in (NOW_US - 600 * SECOND_US, NOW_US, NOW_US + 600 * SECOND_US):
        given = arrival(SET, issued_at_us=issued_us)
        place_in_time(given, USERS, clock_behind(0))
        assert (given.envelope.issued_at_us, given.age_unknown) == (issued_us, "")


def test_a_client_without_a_clock_and_a_request_without_a_time_are_left_alone() -> None:
    for given in (arrival(SET, user="plc", issued_at_us=1), arrival(SET)):
        place_in_time(given, USERS, CLOCKS["behind"])
        assert not given.age_unknown
        check_age(given, Restoration(()))
