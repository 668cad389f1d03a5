import pytest

from handlers.plans.pace import LEAST_S, STRIDE, STRIDE_S, TIGHTENING, Bucket

TICKS = 1_000
"""Looks a second."""


def begun(bucket: Bucket, seconds: int, *, tightens: bool) -> list[int]:
    """How many rows begin in each second, where it is looked all the time."""
    began, found = round(bucket.at_s), []
    for second in range(began, began + seconds):
        count = 0
        for tick in range(1, TICKS + 1):
            bucket.fill(second + tick / TICKS)
            while bucket.take(tightens=tightens):
                count += 1
        found.append(count)
    return found


def test_no_more_begin_than_the_rate_lets() -> None:
    bucket = Bucket(100.0)
    bucket.fill(60.0)
    found = begun(bucket, 10, tightens=False)
    assert found == pytest.approx([125, *[100] * 9], abs=1)


def test_of_what_tightens_a_thousand_begin_within_9_s_at_a_rate_of_100() -> None:
    bucket = Bucket(100.0)
    assert sum(begun(bucket, 9, tightens=True)) == pytest.approx(1_000, abs=1)


def test_what_is_held_begins_bit_by_bit() -> None:
    bucket = Bucket(100.0)
    bucket.fill(60.0)
    at_once = 0
    while bucket.take(tightens=False):
        at_once += 1
    assert at_once == int(100 * STRIDE * STRIDE_S)
    assert LEAST_S <= bucket.wait_s(tightens=False) <= 1 / (100 * STRIDE)
    bucket.fill(60.1)
    assert bucket.take(tightens=False)


def test_it_says_how_long_it_takes_until_there_is_a_row() -> None:
    bucket = Bucket(10.0)
    assert not bucket.take(tightens=True)
    assert bucket.wait_s(tightens=True) == pytest.approx(TIGHTENING / 10)
    assert bucket.wait_s(tightens=False) == pytest.approx(0.1)
    bucket.fill(60.0)
    assert (bucket.level, bucket.wait_s(tightens=False)) == (2.5, LEAST_S)


def test_it_holds_one_row_at_least() -> None:
    slow = Bucket(1.0)
    slow.fill(60.0)
    assert slow.take(tightens=False)
    assert not slow.take(tightens=True)
    slow.fill(61.0)
    assert slow.take(tightens=False)
