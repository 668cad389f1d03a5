import math

import pytest

from limits.errors import LimitsError
from limits.intrinsic.joint_parameters import ignored_of_fixed, joint_limits_of
from schema.intrinsic import Element, Joint, JointParameters, JointType, LimitPair, Limits

HARD = Limits(position=LimitPair(lower=-2.0, upper=3.0), velocity=1.0, acceleration=2.0, jerk=3.0, effort=4.0)
SOFT = Limits(position=LimitPair(lower=-1.0, upper=3.0), velocity=0.5, acceleration=2.0, jerk=3.0, effort=4.0)


def joint(system: Limits | None = None, soft: Limits | None = None, *, default: float = 0.0, kind: int = 0) -> Joint:
    parameters = JointParameters(type=kind, system_limits=system, soft_limits=soft, default_configuration=default)
    return Joint(element=Element(id=1, name="elbow"), parameters=parameters)


def test_limits_of_joints_in_their_order() -> None:
    found = joint_limits_of([joint(HARD, SOFT), joint(HARD)])
    assert found.system.min_position.tolist() == [-2.0, -2.0]
    assert found.soft.min_position.tolist() == [-1.0, -2.0]
    assert found.soft.max_velocity.tolist() == [0.5, 1.0]
    assert found.warnings == ()
    assert joint_limits_of([]).system.size == 0


def test_absent_limits_are_unlimited() -> None:
    found = joint_limits_of([Joint()])
    assert found.system.min_position.tolist() == [-math.inf]
    assert found.soft.max_effort.tolist() == [math.inf]


def test_absent_scalars_freeze_with_a_warning() -> None:
    found = joint_limits_of([joint(Limits(velocity=1.0), Limits(velocity=1.0))])
    assert found.system.max_jerk.tolist() == [0.0]
    assert found.system.max_position.tolist() == [math.inf]
    assert found.warnings == (
        "joint elbow: system_limits acceleration, jerk, effort is absent or 0 and taken as 0",
        "joint elbow: soft_limits acceleration, jerk, effort is absent or 0 and taken as 0",
    )


def test_an_absent_bound_of_a_pair_is_zero() -> None:
    found = joint_limits_of([joint(Limits(position=LimitPair(upper=1.0))), joint(Limits(position=LimitPair()))])
    assert found.system.min_position.tolist() == [0.0, 0.0]
    assert found.system.max_position.tolist() == [1.0, 0.0]


def test_absent_positions_are_those_of_the_layer_outside() -> None:
    found = joint_limits_of([joint(HARD, Limits(velocity=1.0)), joint(Limits(velocity=1.0))])
    assert found.soft.min_position.tolist() == [-2.0, -math.inf]
    assert found.soft.max_position.tolist() == [3.0, math.inf]


def test_a_default_outside_the_bounds_is_taken() -> None:
    assert joint_limits_of([joint(HARD, default=9.0)]).system.size == 1


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (joint(SOFT, HARD), "joint elbow, min_position: beyond the outer limit"),
        (joint(Limits(velocity=-1.0)), "joint elbow, max_velocity: negative"),
        (joint(HARD, Limits(velocity=math.nan)), "joint elbow, max_velocity: not a number"),
        (joint(HARD, default=math.nan), "joint elbow, default_configuration: not finite"),
        (joint(HARD, kind=JointType.FIXED), "joint elbow, type: a FIXED joint has no limits"),
    ],
)
def test_refusals(one: Joint, text: str) -> None:
    with pytest.raises(LimitsError, match=text):
        joint_limits_of([one])


def test_limits_of_fixed_joints_are_ignored_aloud() -> None:
    fixed = JointType.FIXED
    assert (
        ignored_of_fixed([joint(HARD, kind=fixed), joint(kind=fixed), Joint(), joint(kind=fixed, default=1.0)])
        == ("joint elbow: limits and default position of a FIXED joint are ignored",) * 2
    )
