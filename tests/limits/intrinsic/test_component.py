import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.intrinsic.component import (
    UNLIMITED,
    Component,
    ComponentLimits,
    LimitChoice,
    MotionType,
    apply_joint_limit_update,
    check_component,
    normalize_component,
    set_limit,
)
from schema.intrinsic import JointLimitUpdate, JointType, LimitPair, Point

REVOLUTE = MotionType.MOTION_TYPE_REVOLUTE
SYSTEM = ComponentLimits(
    velocity=2.0, acceleration=3.0, jerk=4.0, effort=5.0, fixed_limits=LimitPair(lower=-1.0, upper=2.0)
)


def component(
    application: ComponentLimits | None = None,
    *,
    system: ComponentLimits | None = SYSTEM,
    value: float | None = None,
    axis: Point | None = None,
    motion: int = REVOLUTE,
) -> Component:
    return Component(
        motion_type=motion, raw_value=value, system_limits=system, axis=axis, application_limits=application
    )


def test_motion_types_are_one_above_joint_types() -> None:
    for joint_type in JointType:
        assert MotionType(joint_type + 1).name == f"MOTION_TYPE_{joint_type.name}"


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (component(ComponentLimits(velocity=2.5)), r"application_limits.velocity: beyond the system limit \(got 2.5"),
        (component(ComponentLimits(effort=math.nan)), "application_limits.effort: negative or not a number"),
        (component(ComponentLimits(jerk=-1.0)), "application_limits.jerk: negative or not a number"),
        (component(ComponentLimits(fixed_limits=LimitPair(lower=-1.5))), r"lower: beyond .* \(got -1.5, bound -1.0\)"),
        (component(ComponentLimits(fixed_limits=LimitPair(upper=2.5))), r"upper: beyond .* \(got 2.5, bound 2.0\)"),
        (component(ComponentLimits(fixed_limits=LimitPair(lower=1.0))), "application_limits.lower: bounds leave no"),
        (
            component(system=ComponentLimits(fixed_limits=LimitPair(upper=math.nan))),
            "system_limits.lower: bounds leave",
        ),
        (component(SYSTEM, value=3.0), r"raw_value: outside the application limits \(got 3.0, bound \(-1.0, 2.0\)\)"),
        (component(SYSTEM, value=math.nan), "raw_value: outside the application limits"),
    ],
)
def test_check(one: Component, text: str) -> None:
    with pytest.raises(LimitsError, match=text):
        check_component(one)


def test_check_accepts_what_is_inside() -> None:
    check_component(component())
    check_component(component(SYSTEM, value=2.0))
    check_component(component(ComponentLimits(velocity=99.0), system=None, value=99.0))
    check_component(component(SYSTEM, system=ComponentLimits(velocity=9, acceleration=9, jerk=9, effort=9)))


def test_normalize_fills_what_is_absent() -> None:
    free = normalize_component(component(system=None))
    assert free.system_limits == free.application_limits == UNLIMITED
    assert (free.raw_value, free.axis) == (0.0, Point(z=1.0))
    read = normalize_component(component(ComponentLimits(velocity=1.0), axis=Point(x=3.0, y=4.0), value=1.0))
    assert read.application_limits == ComponentLimits(velocity=1.0, fixed_limits=SYSTEM.fixed_limits)
    assert (read.raw_value, read.axis) == (1.0, Point(x=0.6, y=0.8))


@pytest.mark.parametrize(("lower", "upper", "value"), [(-1.0, 2.0, 0.0), (1.0, 2.0, 1.5), (-3.0, -2.0, -2.5)])
def test_an_absent_value_is_zero_or_the_middle(lower: float, upper: float, value: float) -> None:
    system = ComponentLimits(fixed_limits=LimitPair(lower=lower, upper=upper))
    assert normalize_component(component(system=system)).raw_value == value


@pytest.mark.parametrize(("value", "clamped"), [(-5.0, -1.0), (5.0, 2.0), (math.nan, math.nan)])
def test_a_value_outside_is_clamped_in_compat_only(value: float, clamped: float) -> None:
    with pytest.raises(LimitsError, match="raw_value: no finite value within the bounds"):
        normalize_component(component(value=value))
    read = normalize_component(component(value=value), compat=True).raw_value
    assert read is not None
    assert math.isnan(read) if math.isnan(clamped) else read == clamped


@pytest.mark.parametrize(("lower", "upper", "middle"), [(1.0, math.inf, math.inf), (-math.inf, -1.0, math.nan)])
def test_a_half_open_range_has_no_middle(lower: float, upper: float, middle: float) -> None:
    one = component(system=ComponentLimits(fixed_limits=LimitPair(lower=lower, upper=upper)))
    with pytest.raises(LimitsError, match="no finite value"):
        normalize_component(one)
    assert normalize_component(one, compat=True).raw_value == pytest.approx(middle, nan_ok=True)


def test_compat_takes_nan_as_zero_and_infinite_application_as_the_systems() -> None:
    odd = ComponentLimits(velocity=math.inf, acceleration=math.nan, jerk=-0.0)
    with pytest.raises(LimitsError):
        normalize_component(component(odd))
    read = normalize_component(component(odd), compat=True).application_limits
    assert read == ComponentLimits(velocity=2.0, fixed_limits=SYSTEM.fixed_limits)


@pytest.mark.parametrize(
    "one",
    [
        component(ComponentLimits(jerk=-1.0)),
        component(system=ComponentLimits(fixed_limits=LimitPair(lower=1.0))),
        component(ComponentLimits(velocity=3.0)),
        component(motion=0),
        component(motion=7),
        component(axis=Point()),
        component(axis=Point(x=math.inf)),
    ],
)
def test_refused_in_compat_too(one: Component) -> None:
    for compat in (False, True):
        with pytest.raises(LimitsError):
            normalize_component(one, compat=compat)


def test_a_fixed_joint_has_no_axis() -> None:
    read = normalize_component(component(axis=Point(), motion=MotionType.MOTION_TYPE_FIXED))
    assert read.axis == Point(z=1.0)


def test_update_writes_what_is_present() -> None:
    updated = apply_joint_limit_update(SYSTEM, JointLimitUpdate(max_velocity=0.0, min_position=0.5))
    assert (updated.velocity, updated.jerk) == (0.0, 4.0)
    assert updated.fixed_limits == LimitPair(lower=0.5, upper=2.0)
    assert apply_joint_limit_update(SYSTEM, JointLimitUpdate()) == SYSTEM
    both = apply_joint_limit_update(ComponentLimits(), JointLimitUpdate(min_position=1.0, max_position=2.0))
    assert both.fixed_limits == LimitPair(lower=1.0, upper=2.0)


@pytest.mark.parametrize(
    ("update", "text"),
    [
        (JointLimitUpdate(max_effort=-1.0), "max_effort: negative"),
        (JointLimitUpdate(max_jerk=math.nan), "limits.jerk: negative or not a number"),
        (JointLimitUpdate(min_position=3.0), r"limits.lower: bounds leave no position \(got 3.0, bound 2.0\)"),
    ],
)
def test_update_refuses(update: JointLimitUpdate, text: str) -> None:
    with pytest.raises(LimitsError, match=text):
        apply_joint_limit_update(SYSTEM, update)


def test_one_bound_of_a_joint_without_positions() -> None:
    with pytest.raises(LimitsError, match="the joint has no positions: give both"):
        apply_joint_limit_update(ComponentLimits(), JointLimitUpdate(max_position=1.0))
    updated = apply_joint_limit_update(ComponentLimits(), JointLimitUpdate(max_position=1.0), compat=True)
    assert updated.fixed_limits == LimitPair(lower=0.0, upper=1.0)
    assert apply_joint_limit_update(SYSTEM, JointLimitUpdate(min_position=9.0), compat=True).fixed_limits == LimitPair(
        lower=9.0, upper=2.0
    )


PAIR = LimitChoice(system=5.0, application=1.0)


def test_set_limit_within_the_share() -> None:
    assert set_limit(PAIR, "system", 2.0) == LimitChoice(2.0, 1.0)
    assert set_limit(PAIR, "application", 4.75) == LimitChoice(5.0, 4.75)
    assert set_limit(PAIR, "application", 5.0, kind="effort") == LimitChoice(5.0, 5.0)
    assert set_limit(PAIR, "application", 9.0, enforce=False) == LimitChoice(5.0, 9.0)


@pytest.mark.parametrize(("which", "value", "stored"), [("system", 1.02, 1 / 0.95), ("application", 4.9, 4.75)])
def test_between_the_share_and_the_whole(which: str, value: float, stored: float) -> None:
    with pytest.raises(LimitsError, match=f"{which}_limits.velocity: application limit beyond its share"):
        set_limit(PAIR, which, value)
    assert getattr(set_limit(PAIR, which, value, compat=True), which) == stored


@pytest.mark.parametrize(
    ("which", "value", "kind"), [("system", 0.9, "jerk"), ("application", 5.1, "velocity"), ("system", 0.9, "effort")]
)
def test_beyond_the_whole(which: str, value: float, kind: str) -> None:
    for compat in (False, True):
        with pytest.raises(LimitsError, match="beyond its share"):
            set_limit(PAIR, which, value, kind=kind, compat=compat)


def test_negative_and_nan() -> None:
    with pytest.raises(LimitsError, match="negative or not a number"):
        set_limit(PAIR, "system", -1.0, enforce=False, compat=True)
    with pytest.raises(LimitsError, match="negative or not a number"):
        set_limit(PAIR, "system", math.nan)
    assert math.isnan(set_limit(PAIR, "system", math.nan, compat=True).system)


@given(st.sampled_from(["system", "application"]), st.floats(), st.sampled_from(["effort", "jerk"]))
def test_what_is_stored_is_what_was_asked(which: str, value: float, kind: str) -> None:
    try:
        after = set_limit(PAIR, which, value, kind=kind)
    except LimitsError:
        return
    assert getattr(after, which) == value
    assert 0 <= after.application <= after.system
