"""Service time never runs backwards, and believes the machine's clock only as far as it may."""

import pytest

from broker.clock import AHEAD, AWAY_US, BEHIND, FOLLOW_US, OK, Clock

SECOND_US, MINUTE_US, HOUR_US, YEAR_US = 1_000_000, 60_000_000, 3_600_000_000, 365 * 86_400_000_000
START_US = 1_800_000_000_000_000


def test_time_follows_the_wall_and_never_goes_back() -> None:
    wall = [100, 200, 150, 250]
    clock = Clock(lambda: wall.pop(0))
    assert [clock.now_us() for _ in range(4)] == [100, 200, 200, 250]


def test_time_begins_at_the_last_committed_one() -> None:
    clock = Clock(lambda: 100)
    clock.not_before(1000)
    clock.not_before(500)
    assert clock.now_us() == 1000


def test_a_clock_without_arguments_tells_real_time() -> None:
    clock = Clock()
    assert clock.now_us() > 1_700_000_000_000_000
    assert clock.monotonic() <= clock.monotonic()


class Time:
    """A machine: its clock, which can be set, and its monotonic clock, which cannot."""

    def __init__(self, clock_us: int = START_US) -> None:
        self.passed_us = 0
        self.set_to(clock_us)
        self.clock = Clock(lambda: self.from_us + self.passed_us, lambda: self.passed_us / 1e6)

    def set_to(self, clock_us: int) -> None:
        self.from_us = clock_us - self.passed_us

    def jump(self, by_us: int) -> None:
        self.from_us += by_us

    def told(self) -> tuple[str, float]:
        return self.clock.told

    def passes(self, us: int) -> int:
        """Let time pass; service time after that."""
        self.passed_us += us
        return self.clock.now_us()


JUMPS = [HOUR_US, 10 * YEAR_US]


@pytest.mark.parametrize("jump_us", JUMPS)
def test_a_clock_that_jumps_ahead_is_told_and_not_followed(jump_us: int) -> None:
    time = Time()
    time.passes(SECOND_US)
    time.jump(jump_us)
    assert time.passes(SECOND_US) == START_US + 2 * SECOND_US
    assert time.told() == (AHEAD, jump_us / 1e6)
    time.jump(-jump_us)
    assert time.passes(SECOND_US) == START_US + 3 * SECOND_US
    assert time.told() == (OK, 0)


def test_a_clock_that_stays_ahead_is_followed_after_a_while_and_ages_before_that_are_unknown() -> None:
    time = Time()
    before_us = time.passes(SECOND_US)
    time.jump(HOUR_US)
    for _ in range(FOLLOW_US // MINUTE_US):
        assert time.told()[0] == AHEAD
        time.passes(MINUTE_US)
    assert time.told() == (OK, 0)
    assert time.clock.now_us() == START_US + SECOND_US + HOUR_US + FOLLOW_US
    assert time.clock.age_us(before_us) is None
    assert time.clock.age_us(time.clock.now_us()) == 0
    assert time.passes(SECOND_US) == START_US + 2 * SECOND_US + HOUR_US + FOLLOW_US


def test_a_clock_that_goes_on_jumping_is_never_followed() -> None:
    time = Time()
    time.passes(SECOND_US)
    for number in range(100):
        time.jump(HOUR_US)
        assert time.passes(MINUTE_US) == START_US + SECOND_US + (number + 1) * MINUTE_US
    assert time.told()[0] == AHEAD


def test_a_clock_that_goes_back_by_seconds_is_waited_for_and_still_no_time_is_told_twice() -> None:
    time = Time()
    time.passes(SECOND_US)
    time.jump(-5 * SECOND_US)
    told = [time.passes(SECOND_US) for _ in range(12)]
    assert told == sorted(set(told))
    assert time.told() == (OK, 0)
    assert told[-1] == time.from_us + time.passed_us


@pytest.mark.parametrize("jump_us", JUMPS)
def test_a_clock_that_goes_back_is_told_and_order_stays(jump_us: int) -> None:
    time = Time()
    last_us = time.passes(SECOND_US)
    time.jump(-jump_us)
    told = [time.passes(SECOND_US) for _ in range(3)]
    assert [last_us, *told] == sorted({last_us, *told})
    state, seconds = time.told()
    assert state == BEHIND
    assert seconds == pytest.approx(jump_us / 1e6, abs=3)
    assert time.clock.age_us(last_us) is None


def test_an_hour_ahead_heals_by_itself() -> None:
    time = Time()
    time.passes(SECOND_US)
    time.jump(-HOUR_US)
    told = [time.passes(MINUTE_US) for _ in range(2 * 60 + 1)]
    assert told == sorted(set(told))
    assert time.told() == (OK, 0)
    assert told[-1] == time.from_us + time.passed_us


def test_a_store_that_a_wrong_clock_wrote_is_told_and_time_goes_on() -> None:
    time = Time()
    time.clock.not_before(START_US + YEAR_US)
    assert time.told() == (BEHIND, YEAR_US / 1e6)
    assert [time.passes(SECOND_US) - START_US - YEAR_US for _ in range(3)] == [SECOND_US, 2 * SECOND_US, 3 * SECOND_US]


def test_a_dead_battery_is_mended_by_the_network() -> None:
    time = Time(SECOND_US)
    time.clock.not_before(START_US)
    assert time.passes(MINUTE_US) == START_US + MINUTE_US
    time.set_to(START_US + MINUTE_US + 3 * SECOND_US)
    assert time.told() == (OK, 0)
    assert time.clock.now_us() == START_US + MINUTE_US + 3 * SECOND_US
    assert time.clock.age_us(START_US) is None


def test_the_store_of_a_moment_ago_is_believed() -> None:
    time = Time()
    time.clock.not_before(START_US - MINUTE_US)
    assert time.told() == (OK, 0)
    assert time.clock.age_us(START_US - MINUTE_US) == MINUTE_US
    assert time.clock.age_us(START_US + MINUTE_US) is None
    assert time.clock.for_deleting() == (START_US, 0)


def test_a_clock_that_is_far_ahead_of_the_store_deletes_nothing() -> None:
    time = Time()
    told: list[int] = []
    time.clock.on_doubt = lambda: told.append(time.clock.sure_since_us)
    time.clock.not_before(START_US - AWAY_US - 1)
    assert time.told() == (OK, 0)
    assert time.clock.for_deleting() == (START_US, START_US)
    time.jump(-YEAR_US)
    assert time.clock.for_deleting() == (START_US - YEAR_US, START_US - YEAR_US)
    assert told == [START_US, START_US - YEAR_US]


def test_doubts_of_earlier_runs_count() -> None:
    time = Time()
    time.clock.not_before(START_US - 5, START_US - 10)
    assert time.clock.age_us(START_US - 11) is None
    assert time.clock.age_us(START_US - 10) == 10
