"""Histograms of times."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.histogram import Histogram

BOUNDS = (0.1, 1.0, 10.0)
TIMES = st.lists(st.one_of(st.floats(-1, 20), st.sampled_from(BOUNDS)))


def test_a_time_counts_up_to_its_bound() -> None:
    histogram = Histogram(BOUNDS)
    for seconds in (0.05, 0.1, 0.5, 10.0, 11.0):
        histogram.add(seconds)
    counted = histogram.counted
    assert counted.below == (2, 3, 4, 5)
    assert counted.sum_s == pytest.approx(21.65)


@given(TIMES)
def test_many_at_once_count_as_one_by_one(times: list[float]) -> None:
    single, together = Histogram(BOUNDS), Histogram(BOUNDS)
    for seconds in times:
        single.add(seconds)
    together.add_all(list(times))
    assert single.counted.below == together.counted.below
    assert single.counted.sum_s == pytest.approx(together.counted.sum_s)


def test_what_is_no_time_counts_as_none() -> None:
    histogram = Histogram(BOUNDS)
    histogram.add(math.nan)
    histogram.add(-3.0)
    assert (histogram.counted.below, histogram.counted.sum_s) == ((2, 2, 2, 2), 0.0)


def test_quantiles_are_bounds() -> None:
    histogram = Histogram(BOUNDS)
    assert histogram.counted.quantile(0.99) == 0.0
    histogram.add_all([0.05] * 98 + [0.5, 70.0])
    assert [histogram.counted.quantile(share) for share in (0.5, 0.98, 0.99, 1.0)] == [0.1, 0.1, 1.0, 10.0]
