import pytest

from handlers.plans.pace import LEAST_S, Bucket


def test_no_more_begin_than_the_rate_lets() -> None:
    bucket = Bucket(100.0, level=25.0)
    begun = 0
    for eighth in range(81):
        bucket.fill(eighth / 8)
        while bucket.take():
            begun += 1
    assert begun == 1_025


def test_it_holds_what_fills_in_a_moment_and_one_at_least() -> None:
    bucket = Bucket(10.0)
    assert not bucket.take()
    assert bucket.wait_s == pytest.approx(0.1)
    bucket.fill(60.0)
    assert (bucket.level, bucket.wait_s) == (2.5, LEAST_S)
    slow = Bucket(2.0, at_s=0.0)
    slow.fill(60.0)
    assert slow.level == 1.0
