"""What holds for the strict limiters whatever the input: inside the bounds, twice is once, tighter is never looser."""

import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from limits.errors import LimitsError
from limits.ros2.arrays import INTERFACES, JointValues
from limits.ros2.limiter import Enforced
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.saturation import TrajectoryPoint
from limits.ros2.saturation_limiter import JointSaturationLimiter
from limits.ros2.strict_range import StrictRangeLimiter
from limits.ros2.strict_soft import StrictSoftLimiter

MAXIMA = ("velocity", "acceleration", "deceleration", "jerk", "effort")
finite = st.floats(-20.0, 20.0)
anything = st.one_of(finite, st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e308, 5e-324]))
seconds = st.floats(1e-6, 10.0)
dimension = st.sampled_from([1, 3])
shrink = st.floats(0.0, 1.0)


@st.composite
def hard_limits(draw: st.DrawFn) -> JointLimits:
    ends = sorted((draw(finite), draw(finite)))
    fields: dict[str, Any] = {"min_position": ends[0], "max_position": ends[1]}
    for quantity in MAXIMA:
        fields[f"max_{quantity}"] = draw(st.floats(0.0, 30.0))
    for quantity in ("position", *MAXIMA):
        fields[f"has_{quantity}_limits"] = draw(st.booleans())
    return JointLimits(**fields)


@st.composite
def soft_limits(draw: st.DrawFn, hard: JointLimits) -> SoftJointLimits:
    """Draw soft limits that meet the hard range; none at all where that is a point."""
    low, high = (hard.min_position, hard.max_position) if hard.has_position_limits else (-10.0, 10.0)
    centre = low + draw(shrink) * (high - low)
    lower, upper = centre - draw(st.floats(0.001, 5.0)), centre + draw(st.floats(0.001, 5.0))
    gains = st.one_of(st.floats(0.0, 100.0), st.just(math.nan))
    record = SoftJointLimits(min_position=lower, max_position=upper, k_position=draw(gains), k_velocity=draw(gains))
    if draw(st.booleans()):
        return record
    return replace(record, min_position=math.nan, max_position=math.nan)


@st.composite
def joint_values(draw: st.DrawFn, joints: int) -> JointValues:
    arrays = {}
    for interface in INTERFACES:
        if draw(st.booleans()):
            arrays[interface] = np.array(draw(st.lists(anything, min_size=joints, max_size=joints)))
    return JointValues(**arrays)


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    joints = draw(dimension)
    hard = [draw(hard_limits()) for _ in range(joints)]
    return {
        "hard": hard,
        "soft": [draw(soft_limits(one)) for one in hard] if draw(st.booleans()) else None,
        "before": draw(joint_values(joints)),
        "actual": draw(joint_values(joints)),
        "desired": draw(joint_values(joints)),
        "dt": draw(seconds),
    }


def limiter_of(hard: list[JointLimits], soft: list[SoftJointLimits] | None, before: JointValues) -> StrictRangeLimiter:
    limiter = (
        StrictRangeLimiter(hard, tolerance=math.inf)
        if soft is None
        else StrictSoftLimiter(hard, soft, tolerance=math.inf)
    )
    limiter.configure(before)
    return limiter


def limit(case: dict[str, Any], **changes: Any) -> Enforced | None:
    """Limit the command of a case; None where the position is unknown though it must be known."""
    case = {**case, **changes}
    limiter = limiter_of(case["hard"], case["soft"], case["before"])
    try:
        return limiter.enforce(case["actual"], case["desired"], case["dt"])
    except LimitsError as error:
        if error.reason != "is not known, so max_velocity cannot be kept":
            raise
        return None


def same(first: JointValues, second: JointValues) -> bool:
    pairs = ((getattr(first, name), getattr(second, name)) for name in INTERFACES)
    return all(a is b is None or np.array_equal(a, b, equal_nan=True) for a, b in pairs)


def bound(limits: JointLimits, interface: str) -> tuple[float, float]:
    """Return the outermost bounds of an interface."""
    if interface == "position":
        return (limits.min_position, limits.max_position) if limits.has_position_limits else (-math.inf, math.inf)
    quantities = ("acceleration", "deceleration") if interface == "acceleration" else (interface,)
    on = [getattr(limits, f"has_{quantity}_limits") for quantity in quantities]
    most = max(getattr(limits, f"max_{quantity}") for quantity in quantities) if all(on) else math.inf
    return -most, most


@given(cases())
@settings(max_examples=150, deadline=None)
def test_the_output_lies_inside_the_hard_bounds(case: dict[str, Any]) -> None:
    answer = limit(case)
    if answer is None:
        return
    for interface in INTERFACES:
        given_values, values = getattr(case["desired"], interface), getattr(answer.desired, interface)
        assert (given_values is None) == (values is None)
        for limits, before, after in zip(case["hard"], given_values, values, strict=True) if values is not None else ():
            lower, upper = bound(limits, interface)
            assert math.isnan(before) if math.isnan(after) else lower <= after <= upper


@given(cases())
@settings(max_examples=150, deadline=None)
def test_limiting_twice_equals_limiting_once(case: dict[str, Any]) -> None:
    answer = limit(case)
    if answer is None:
        return
    again = limit(case, desired=answer.desired)
    assert again is not None
    assert same(again.desired, answer.desired)
    assert not again.limited.any()
    assert not again.reasons


@given(cases())
@settings(max_examples=150, deadline=None)
def test_the_next_step_leaves_a_limited_command_alone(case: dict[str, Any]) -> None:
    limiter = limiter_of(case["hard"], case["soft"], case["before"])
    try:
        answer = limiter.enforce(case["actual"], case["desired"], case["dt"])
    except LimitsError:
        return
    again = limiter.enforce(case["actual"], answer.desired, case["dt"])
    assert same(again.desired, answer.desired)


@given(cases())
@settings(max_examples=150, deadline=None)
def test_every_limited_value_has_a_reason_and_no_other(case: dict[str, Any]) -> None:
    answer = limit(case)
    if answer is None:
        return
    for interface in INTERFACES:
        before, after = getattr(case["desired"], interface), getattr(answer.desired, interface)
        if before is not None:
            changed = (before != after) & ~np.isnan(before)
            codes = answer.reasons.get(interface, np.zeros(len(before), dtype=np.uint8))
            assert ((codes != 0) == changed).all()


def tighter(limits: JointLimits, factor: float, keys: tuple[str, ...]) -> JointLimits:
    return replace(limits, **{f"max_{key}": getattr(limits, f"max_{key}") * factor for key in keys})


def closer(before: float, after: float) -> bool:
    return math.isnan(before) or math.isnan(after) or abs(after) <= abs(before) * (1.0 + 1e-12) + 1e-12


@st.composite
def tightening(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw a case of one joint without soft gains on effort, and the same with every limit but acceleration tighter."""
    hard = draw(hard_limits())
    soft = replace(draw(soft_limits(hard)), k_velocity=math.nan) if draw(st.booleans()) else None
    start = draw(shrink)
    where = hard.min_position + start * (hard.max_position - hard.min_position)
    actual = replace_position(draw(joint_values(1)), where)
    case = {
        "hard": [hard],
        "soft": None if soft is None else [soft],
        "before": JointValues(position=actual.position, velocity=np.array([draw(finite)])),
        "actual": actual,
        "desired": draw(joint_values(1)),
        "dt": draw(seconds),
    }
    factor = draw(shrink)
    tight = tighter(hard, factor, ("velocity", "deceleration", "jerk", "effort"))
    ends = (where + (end - where) * factor for end in (hard.min_position, hard.max_position))
    lower, upper = (min(max(end, hard.min_position), hard.max_position) for end in ends)
    tight = replace(tight, min_position=min(lower, where), max_position=max(upper, where))
    return case, {**case, "hard": [tight]}


def replace_position(values: JointValues, position: float) -> JointValues:
    rest = {name: getattr(values, name) for name in INTERFACES if name != "position"}
    return JointValues(position=np.array([position]), **rest)


@given(tightening())
@settings(max_examples=200, deadline=None)
def test_a_tighter_limit_never_loosens_an_output(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    loose_case, tight_case = pair
    try:
        loose, tight = limit(loose_case), limit(tight_case)
    except LimitsError as error:
        if "soft" not in error.reason:
            raise
        return
    assert loose is not None
    assert tight is not None
    origin = {"position": float(loose_case["before"].position[0])}
    for interface in INTERFACES:
        before, after = getattr(loose.desired, interface), getattr(tight.desired, interface)
        if before is not None:
            start = origin.get(interface, 0.0)
            assert closer(float(before[0]) - start, float(after[0]) - start)


@given(tightening(), shrink)
@settings(max_examples=150, deadline=None)
def test_less_acceleration_never_changes_the_velocity_more(
    pair: tuple[dict[str, Any], dict[str, Any]], factor: float
) -> None:
    case, _ = pair
    slower = [tighter(one, factor, ("acceleration",)) for one in case["hard"]]
    quick, slow = limit(case), limit(case, hard=slower)
    assert quick is not None
    assert slow is not None
    if quick.desired.velocity is not None and slow.desired.velocity is not None:
        start = float(case["before"].velocity[0])
        assert closer(float(quick.desired.velocity[0]) - start, float(slow.desired.velocity[0]) - start)


@given(cases(), shrink)
@settings(max_examples=150, deadline=None)
def test_less_effort_never_gives_more(case: dict[str, Any], factor: float) -> None:
    more, less = limit(case), limit(case, hard=[tighter(one, factor, ("effort",)) for one in case["hard"]])
    if more is None or less is None or more.desired.effort is None or less.desired.effort is None:
        return
    assert all(closer(float(a), float(b)) for a, b in zip(more.desired.effort, less.desired.effort, strict=True))


@st.composite
def points(draw: st.DrawFn, joints: int) -> TrajectoryPoint:
    arrays = {
        kind: np.array(draw(st.lists(finite, min_size=joints, max_size=joints)))
        for kind in ("positions", "velocities", "accelerations")
        if draw(st.booleans())
    }
    return TrajectoryPoint(**arrays)


@given(dimension.flatmap(lambda n: st.tuples(st.lists(hard_limits(), min_size=n, max_size=n), points(n), points(n))))
@settings(max_examples=150, deadline=None)
def test_a_saturated_point_lies_inside_the_hard_bounds_and_stays_as_it_is(
    case: tuple[list[JointLimits], TrajectoryPoint, TrajectoryPoint],
) -> None:
    hard, current, desired = case
    try:
        answer = JointSaturationLimiter(hard).enforce(current, desired, 0.01)
    except LimitsError as error:
        if "trajectory point" not in error.reason:
            raise
        return
    for kind, interface in (("positions", "position"), ("velocities", "velocity"), ("accelerations", "acceleration")):
        values = getattr(answer.desired, kind)
        for limits, value in zip(hard, values, strict=True) if values is not None else ():
            lower, upper = bound(limits, interface)
            assert lower <= value <= upper
    again = JointSaturationLimiter(hard).enforce(current, answer.desired, 0.01)
    for kind in ("positions", "velocities", "accelerations"):
        once, twice = getattr(answer.desired, kind), getattr(again.desired, kind)
        assert once is twice is None or np.allclose(once, twice, rtol=1e-9, atol=1e-9)


def test_a_record_has_no_field_the_properties_leave_out() -> None:
    assert len(asdict(JointLimits())) == 14
