import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.bounds import Excess, all_close, excesses, nearest_legal
from schema.floats import as_float32
from schema.quantities import JOINT_SPEED, MASS, TWIST_ANGULAR, TWIST_LINEAR, Quantity

RESOLUTION_RAD = 1e-4
STEP = math.degrees(RESOLUTION_RAD)


@pytest.mark.parametrize(
    ("values", "inside"), [((), True), ((0.0, 70.0), True), ((0.0, 70.1), False), ((-1.0, 0.0), False)]
)
def test_bounds_are_inclusive(values: tuple[float, ...], inside: bool) -> None:
    assert (excesses(values, 0.0, (80.0, 70.0)[: len(values)], JOINT_SPEED, RESOLUTION_RAD) == []) is inside


def test_there_are_as_many_bounds_as_values() -> None:
    with pytest.raises(ValueError, match="zip"):
        excesses((1.0,), 0.0, (1.0, 2.0), JOINT_SPEED, RESOLUTION_RAD)


@pytest.mark.parametrize("hard", [80.0, 70.0, 100.0, 297.94, 572.95, 183.35, 48.7, 28.65])
def test_a_hard_limit_is_legal_as_published_and_as_an_arm_of_radians_reads_it_back(hard: float) -> None:
    read_back = math.degrees(round(math.radians(hard) / RESOLUTION_RAD) * RESOLUTION_RAD)
    for value in (hard, read_back, as_float32(read_back)):
        for resolution in (RESOLUTION_RAD, 0.0):
            assert excesses((value,), 0.0, (max(hard, read_back),), JOINT_SPEED, resolution) == []
        assert excesses((value,), 0.0, (hard,), JOINT_SPEED, RESOLUTION_RAD) == []


@pytest.mark.parametrize(
    ("value", "legal"), [(0.5, True), (0.5000001, True), (0.500001, False), (0.5002, False), (math.inf, False)]
)
def test_a_length_is_compared_as_float32(value: float, legal: bool) -> None:
    for resolution in (RESOLUTION_RAD, 0.0):
        found = excesses((value,), 0.0, (0.5,), TWIST_LINEAR, resolution)
        assert found == ([] if legal else [Excess(0, value, 0.5, above=True)])


def test_half_a_step_above_an_angular_bound_is_still_the_bound() -> None:
    bound = STEP * 1000
    assert excesses((bound + 0.49 * STEP,), 0.0, (bound,), TWIST_ANGULAR, RESOLUTION_RAD) == []
    assert len(excesses((bound + 0.51 * STEP,), 0.0, (bound,), TWIST_ANGULAR, RESOLUTION_RAD)) == 1


def test_a_bound_of_zero_lets_no_negative_number_pass() -> None:
    for quantity in (TWIST_LINEAR, TWIST_ANGULAR, MASS):
        assert excesses((0.0,), 0.0, (1.0,), quantity, RESOLUTION_RAD) == []
        assert excesses((-1e-12,), 0.0, (1.0,), quantity, RESOLUTION_RAD) == [Excess(0, -1e-12, 0.0, above=False)]


def test_a_lower_bound_above_zero_is_rounded_like_an_upper_one() -> None:
    for value, legal in ((STEP, True), (0.51 * STEP, True), (0.5 * STEP, False), (0.49 * STEP, False), (0.0, False)):
        found = excesses((value,), STEP, (1.0,), TWIST_ANGULAR, RESOLUTION_RAD)
        assert found == ([] if legal else [Excess(0, value, STEP, above=False)])


def test_every_excess_is_listed_lowest_component_first() -> None:
    assert excesses((-1.0, 50.0, 71.0), 0.0, (80.0, 80.0, 70.0), JOINT_SPEED, RESOLUTION_RAD) == [
        Excess(0, -1.0, 0.0, above=False),
        Excess(2, 71.0, 70.0, above=True),
    ]


def test_what_lies_outside_is_moved_to_its_nearest_bound() -> None:
    assert nearest_legal((-1.0, 50.0, 71.0), 0.0, (80.0, 80.0, 70.0)) == (0.0, 50.0, 70.0)
    assert nearest_legal((), 0.0, ()) == ()
    assert nearest_legal((-1.0,), 0.0, (math.inf,)) == (0.0,)


@pytest.mark.parametrize(
    ("left", "right", "resolution", "relative", "same"),
    [
        (0.0, 0.0, 0.0, 1e-3, True),
        (0.0, 1e-9, 0.0, 1e-3, False),
        (0.0, 1e-9, 1e-9, 1e-3, True),
        (100.0, 99.9, 0.0, 1e-3, True),
        (100.0, 99.8, 0.0, 1e-3, False),
        (100.0, 99.9, 0.0, 1e-6, False),
        (100.0, 99.9983, STEP, 1e-6, True),
        (1.0, -1.0, 0.0, 1e-3, False),
        (math.inf, math.inf, 0.0, 1e-3, True),
        (math.inf, 5.0, 0.0, 1e-3, False),
        (math.inf, -math.inf, 0.0, 1e-3, False),
        (math.nan, math.nan, 0.0, 1e-3, False),
        (math.nan, 1.0, 1.0, 1e-3, False),
    ],
)
def test_two_readings_are_close_within_the_resolution_or_a_share(
    left: float, right: float, resolution: float, relative: float, same: bool
) -> None:
    assert all_close((left,), (right,), resolution, relative) is same
    assert all_close((5.0, right), (5.0, left), resolution, relative) is same


def test_readings_are_compared_one_by_one() -> None:
    assert all_close((), (), 0.0)
    assert not all_close((1.0,), (1.0, 1.0), 0.0)
    assert all_close((1.0, 2.0, 3.0), (1.0, 2.001, 3.0), 0.0)
    assert not all_close((1.0, 2.0, 3.0), (1.0, 2.001, 3.1), 0.0)


quantities = st.sampled_from([JOINT_SPEED, TWIST_LINEAR])
resolutions = st.sampled_from([0.0, RESOLUTION_RAD, 1e-3])
numbers = st.floats(-1000.0, 1000.0, width=32).map(as_float32)
bounds = st.floats(0.125, 1000.0, width=32).map(as_float32)
rows = st.lists(st.tuples(numbers, bounds), min_size=1, max_size=8)


@given(rows, st.sampled_from([0.0, 0.0625]), quantities, resolutions)
def test_the_nearest_legal_value_is_legal_and_differs_only_where_it_must(
    pairs: list[tuple[float, float]], low: float, quantity: Quantity, resolution_rad: float
) -> None:
    values, high = tuple(value for value, _ in pairs), tuple(bound for _, bound in pairs)
    nearest = nearest_legal(values, low, high)
    assert excesses(nearest, low, high, quantity, resolution_rad) == []
    outside = {excess.component for excess in excesses(values, low, high, quantity, resolution_rad)}
    for component in outside:
        assert nearest[component] in (low, high[component])
    for component, value in enumerate(values):
        assert nearest[component] == value or not low <= value <= high[component]


@given(rows, quantities, resolutions)
def test_nothing_legal_is_refused(pairs: list[tuple[float, float]], quantity: Quantity, resolution_rad: float) -> None:
    values = tuple(min(abs(value), bound) for value, bound in pairs)
    assert excesses(values, 0.0, tuple(bound for _, bound in pairs), quantity, resolution_rad) == []


@given(rows, quantities, resolutions)
def test_what_is_clearly_outside_is_refused_with_its_own_bound(
    pairs: list[tuple[float, float]], quantity: Quantity, resolution_rad: float
) -> None:
    step = math.degrees(resolution_rad) if quantity.angular else 0.0
    values, high = tuple(value for value, _ in pairs), tuple(bound for _, bound in pairs)
    found = {excess.component: excess for excess in excesses(values, 0.0, high, quantity, resolution_rad)}
    assert list(found) == sorted(found)
    for component, (value, bound) in enumerate(pairs):
        if value > bound * (1 + 1e-5) + step:
            assert found[component] == Excess(component, value, bound, above=True)
        elif value < 0.0:
            assert found[component] == Excess(component, value, 0.0, above=False)
        elif value <= bound:
            assert component not in found
