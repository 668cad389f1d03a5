"""Service time never runs backwards."""

from broker.clock import Clock


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
