import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.formats.urdf_records import JointType, UrdfJoint, UrdfLimit, UrdfSafety
from limits.tesseract.joint_safety import JointSafety
from limits.tesseract.law import (
    LARGEST,
    SafetyJoint,
    clamp_effort,
    published_bounds,
    safety_bounds,
    safety_joint_from_urdf,
    safety_parameters,
)

SAFETY = JointSafety(soft_upper_limit=1.0, soft_lower_limit=-1.0, k_position=10.0, k_velocity=20.0)
JOINT = SafetyJoint(name="elbow", velocity=1.5, effort=30.0, safety=SAFETY)
ANY = st.floats()
FINITE = st.floats(allow_nan=False, allow_infinity=False)
GAIN = st.floats(min_value=0, allow_infinity=False)
CAP = st.none() | st.floats(min_value=0)


@st.composite
def safeties(draw: st.DrawFn) -> JointSafety:
    lower, upper = sorted((draw(FINITE), draw(FINITE)))
    return JointSafety(soft_upper_limit=upper, soft_lower_limit=lower, k_position=draw(GAIN), k_velocity=draw(GAIN))


JOINTS = st.builds(SafetyJoint, velocity=CAP, effort=CAP, safety=st.none() | safeties(), positioned=st.booleans())


def bounds_at(joint: SafetyJoint, position: float, velocity: float, *, compat: bool = False) -> list[float]:
    parameters = safety_parameters([joint], compat=compat)
    return [float(bound[0]) for bound in safety_bounds(parameters, [position], [velocity], compat=compat)]


def test_the_law_at_the_upper_soft_limit() -> None:
    assert bounds_at(JOINT, 1.0, 0.0) == [-1.5, 0.0, -30.0, 0.0]


def test_the_law_is_the_reference_for_sound_input() -> None:
    for position in np.linspace(-1.3, 1.3, 27):
        for velocity in np.linspace(-3, 3, 13):
            strict = bounds_at(JOINT, float(position), float(velocity))
            assert strict == bounds_at(JOINT, float(position), float(velocity), compat=True)


def test_many_joints_and_samples_at_once() -> None:
    joints = [JOINT, SafetyJoint(velocity=2.0, effort=3.0, safety=SAFETY, positioned=False)]
    bounds = safety_bounds(safety_parameters(joints), np.zeros((5, 2)), [0.0, 0.1])
    assert bounds.velocity_max.shape == bounds.effort_min.shape == (5, 2)
    assert bounds.velocity_max[4].tolist() == [1.5, 2.0]
    assert clamp_effort(bounds, [[99.0, -99.0]]).tolist() == [[30.0, -3.0]] * 5


@pytest.mark.parametrize("unknown", [math.nan, math.inf, -math.inf])
def test_an_unknown_state_allows_nothing(unknown: float) -> None:
    assert bounds_at(JOINT, unknown, 0.5) == [0.0, 0.0, -10.0, -10.0]
    assert bounds_at(JOINT, 0.0, unknown) == [-1.5, 1.5, 0.0, 0.0]


def test_compat_lets_an_unknown_state_switch_the_law_off() -> None:
    assert bounds_at(JOINT, math.nan, math.nan, compat=True) == [-1.5, 1.5, -30.0, 30.0]


def test_limits_bind_without_a_safety_controller_and_the_reverse() -> None:
    bare = SafetyJoint(velocity=1.5, effort=30.0)
    assert bounds_at(bare, math.nan, math.nan) == [-1.5, 1.5, -30.0, 30.0]
    assert bounds_at(bare, 0.0, 0.0, compat=True) == [-LARGEST, LARGEST] * 2
    unlimited = SafetyJoint(safety=SAFETY)
    assert bounds_at(unlimited, 1.5, 0.0) == [-25.0, -5.0, -500.0, -100.0]
    assert bounds_at(unlimited, 1.5, 0.0, compat=True) == [-LARGEST, LARGEST] * 2


def test_zero_gains_freeze_even_without_velocity_limit() -> None:
    frozen = SafetyJoint(velocity=math.inf, effort=30.0, safety=JointSafety(), positioned=False)
    assert bounds_at(frozen, 0.0, 0.0) == [-math.inf, math.inf, 0.0, 0.0]


def test_commands_that_are_no_number() -> None:
    bounds = safety_bounds(safety_parameters([JOINT]), [0.0], [1.75])
    assert clamp_effort(bounds, [math.nan]).tolist() == [-5.0]
    assert math.isnan(clamp_effort(bounds, [math.nan], compat=True)[0])
    assert clamp_effort(bounds, [math.inf]).tolist() == [-5.0]


@pytest.mark.parametrize(
    ("joint", "key"),
    [
        (SafetyJoint(name="elbow", velocity=-1.0), "velocity"),
        (SafetyJoint(name="elbow", effort=math.nan), "effort"),
        (SafetyJoint(name="elbow", safety=JointSafety(k_velocity=-1.0)), "k_velocity"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(joint: SafetyJoint, key: str) -> None:
    with pytest.raises(LimitsError) as caught:
        safety_parameters([JOINT, joint])
    assert (caught.value.joint, caught.value.key) == ("elbow", key)
    assert safety_parameters([joint], compat=True).velocity.shape == (1,)


def test_a_state_of_another_size_is_refused() -> None:
    parameters = safety_parameters([JOINT, JOINT])
    for position, velocity, key in (([0.0], [0.0, 0.0], "position"), ([0.0, 0.0], 0.0, "velocity")):
        for bounds_of in (safety_bounds, published_bounds):
            with pytest.raises(LimitsError) as caught:
                bounds_of(parameters, position, velocity)
            assert (caught.value.key, caught.value.bound) == (key, (2,))
    with pytest.raises(LimitsError):
        clamp_effort(safety_bounds(parameters, [0.0, 0.0], [0.0, 0.0]), [0.0])


def test_a_joint_of_a_urdf() -> None:
    joint = UrdfJoint(
        name="elbow",
        type=JointType.REVOLUTE,
        parent="a",
        child="b",
        limit=UrdfLimit(effort=30.0, velocity=1.5),
        safety=UrdfSafety(soft_lower_limit=-1.0, soft_upper_limit=1.0, k_position=10.0, k_velocity=20.0),
    )
    assert safety_joint_from_urdf(joint) == JOINT
    assert not safety_joint_from_urdf(joint, calibrated=False).positioned
    wheel = UrdfJoint(name="wheel", type=JointType.CONTINUOUS, parent="a", child="b")
    assert safety_joint_from_urdf(wheel) == SafetyJoint(name="wheel", positioned=False)


def test_the_published_formula_drives_into_the_stop() -> None:
    bounds = published_bounds(safety_parameters([JOINT]), [-1.0], [0.0])
    assert bounds.velocity_min.tolist() == [-1.5]


@given(JOINTS, ANY, ANY, ANY)
def test_the_law_never_leaves_the_limits(joint: SafetyJoint, position: float, velocity: float, command: float) -> None:
    bounds = safety_bounds(safety_parameters([joint]), [position], [velocity])
    v_min, v_max, e_min, e_max = (float(bound[0]) for bound in bounds)
    v, e = (LARGEST if cap is None else cap for cap in (joint.velocity, joint.effort))
    assert -v <= v_min <= v_max <= v
    assert -e <= e_min <= e_max <= e
    effort = clamp_effort(bounds, [command])
    assert e_min <= float(effort[0]) <= e_max
    assert clamp_effort(bounds, effort).tolist() == effort.tolist()


@given(JOINTS, ANY, ANY, st.floats(min_value=0, max_value=1))
def test_tightening_the_velocity_limit_never_allows_more_speed(
    joint: SafetyJoint, position: float, velocity: float, factor: float
) -> None:
    v = LARGEST if joint.velocity is None else joint.velocity
    tight = SafetyJoint(
        velocity=min(v * factor, v) if v < math.inf else 1.0,
        effort=joint.effort,
        safety=joint.safety,
        positioned=joint.positioned,
    )
    wide, narrow = (bounds_at(each, position, velocity) for each in (joint, tight))
    assert abs(narrow[0]) <= abs(wide[0])
    assert abs(narrow[1]) <= abs(wide[1])
