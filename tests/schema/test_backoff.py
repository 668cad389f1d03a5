from schema.backoff import Backoff


def test_times_double_up_to_a_bound_and_start_again() -> None:
    backoff = Backoff(0.2, 1.0, jitter=lambda: 1.0)
    assert [backoff.next_s() for _ in range(5)] == [0.2, 0.4, 0.8, 1.0, 1.0]
    backoff.reset()
    assert backoff.next_s() == 0.2


def test_each_time_is_shortened_by_up_to_a_half() -> None:
    assert Backoff(0.2, 1.0, jitter=lambda: 0.0).next_s() == 0.1
    drawn = {Backoff(0.2, 1.0).next_s() for _ in range(20)}
    assert len(drawn) > 1
    assert all(0.1 <= one <= 0.2 for one in drawn)


def test_times_are_told_of_attempts_that_somebody_else_counts() -> None:
    backoff = Backoff(0.5, 30.0, jitter=None)
    assert [backoff.after_s(tries) for tries in (0, 1, 5, 6, 10_000)] == [0.5, 1.0, 16.0, 30.0, 30.0]
    assert backoff.next_s() == 0.5
