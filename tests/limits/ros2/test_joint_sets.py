"""A set of joints is limited as its joints would be one by one, in compat and by default."""

from typing import Any

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.ros2.arrays import INTERFACES, Floats, JointValues
from limits.ros2.limiter import Limiter
from limits.ros2.limiters import joint_range_limiter, joint_soft_limiter
from limits.ros2.reasons import Reason
from limits.ros2.records import JointLimits, SoftJointLimits

QUANTITIES = ("position", "velocity", "acceleration", "deceleration", "jerk", "effort")
SETS = 60
STEPS = 4


def random_limits(rng: np.random.Generator) -> JointLimits:
    lower, upper = sorted(rng.uniform(-2.0, 2.0, 2).tolist())
    fields: dict[str, Any] = {f"has_{name}_limits": bool(rng.random() < 0.7) for name in QUANTITIES}
    fields |= {f"max_{name}": float(rng.uniform(0.1, 3.0)) for name in QUANTITIES if name != "position"}
    return JointLimits(min_position=lower, max_position=upper, **fields)


def random_soft(rng: np.random.Generator, hard: JointLimits) -> SoftJointLimits:
    if rng.random() < 0.3:
        return SoftJointLimits()
    centre = (hard.min_position + hard.max_position) / 2.0
    low, high, slow, stiff = rng.uniform(0.01, 1.0, 4).tolist()
    return SoftJointLimits(
        min_position=centre - low, max_position=centre + high, k_position=10.0 * slow, k_velocity=10.0 * stiff
    )


def random_array(rng: np.random.Generator, joints: int) -> Floats:
    special = rng.choice([np.nan, np.inf, 0.0], joints)
    return np.where(rng.random(joints) < 0.15, special, rng.uniform(-2.5, 2.5, joints))


def random_values(rng: np.random.Generator, joints: int) -> JointValues:
    return JointValues(**{name: random_array(rng, joints) for name in INTERFACES if rng.random() < 0.6})


def one_of(values: JointValues, at: int) -> JointValues:
    given: dict[str, Any] = {name: getattr(values, name) for name in INTERFACES}
    return JointValues(**{name: array[at : at + 1] for name, array in given.items() if array is not None})


def limiter_of(hard: list[JointLimits], soft: list[SoftJointLimits] | None, *, compat: bool) -> Limiter:
    if soft is None:
        return joint_range_limiter(hard, compat=compat)
    return joint_soft_limiter(hard, soft, compat=compat)


@pytest.mark.parametrize("compat", [True, False])
@pytest.mark.parametrize("has_soft", [True, False])
def test_a_set_gives_what_its_joints_give_one_by_one(compat: bool, has_soft: bool) -> None:
    rng = np.random.default_rng(5)
    compared = 0
    for _ in range(SETS):
        joints = int(rng.integers(1, 6))
        hard = [random_limits(rng) for _ in range(joints)]
        soft = [random_soft(rng, one) for one in hard] if has_soft else None
        together = limiter_of(hard, soft, compat=compat)
        alone = [limiter_of(hard[at : at + 1], soft and soft[at : at + 1], compat=compat) for at in range(joints)]
        for _ in range(STEPS):
            actual, desired = random_values(rng, joints), random_values(rng, joints)
            try:
                answer = together.enforce(actual, desired, 0.05)
            except LimitsError:
                break
            for at, limiter in enumerate(alone):
                single = limiter.enforce(one_of(actual, at), one_of(desired, at), 0.05)
                compared += 1
                assert bool(single.limited[0]) == bool(answer.limited[at])
                for name, array in ((name, getattr(single.desired, name)) for name in INTERFACES):
                    if array is not None:
                        assert np.array_equal(array, getattr(answer.desired, name)[at : at + 1], equal_nan=True)
                        code = answer.reasons[name][at] if name in answer.reasons else 0
                        assert single.reasons.get(name, [0])[0] == code
    assert compared > SETS


def strict_command(limits: list[JointLimits], actual: JointValues, desired: JointValues) -> Any:
    return joint_range_limiter(limits).enforce(actual, desired, 0.1)


def test_the_reach_without_acceleration_limits_beside_a_joint_without_velocity_limits() -> None:
    fast = JointLimits(has_velocity_limits=True, max_velocity=1.0)
    wanted = JointValues(position=np.array([5.0, 5.0]))
    at_rest = JointValues(position=np.zeros(2))
    assert strict_command([fast, JointLimits()], at_rest, wanted).desired.position.tolist() == [0.1, 5.0]
    quick = JointLimits(has_velocity_limits=True, max_velocity=1.0, has_acceleration_limits=True, max_acceleration=2.0)
    free = JointLimits(has_acceleration_limits=True, max_acceleration=2.0)
    answer = strict_command([quick, free], at_rest, wanted)
    assert answer.desired.position == pytest.approx([0.02, 5.0])
    moving = JointValues(position=np.array([0.0, np.nan]), velocity=np.array([0.5, np.nan]))
    answer = strict_command([quick, free], moving, wanted)
    assert answer.desired.position == pytest.approx([0.07, 5.0])


def test_accelerations_against_the_velocity_and_unknown_ones() -> None:
    both = JointLimits(
        has_acceleration_limits=True, max_acceleration=2.0, has_deceleration_limits=True, max_deceleration=3.0
    )
    actual = JointValues(velocity=np.array([1.0, 1.0, np.nan]))
    answer = strict_command([both] * 3, actual, JointValues(acceleration=np.array([-9.0, 9.0, -9.0])))
    assert answer.desired.acceleration.tolist() == [-3.0, 2.0, -2.0]
    assert answer.reasons["acceleration"].tolist() == [
        Reason.MAX_DECELERATION,
        Reason.MAX_ACCELERATION,
        Reason.MAX_ACCELERATION,
    ]
    answer = strict_command([both], JointValues(velocity=np.ones(1)), JointValues(acceleration=np.array([-9.0])))
    assert answer.desired.acceleration.tolist() == [-3.0]
    alone = JointLimits(has_acceleration_limits=True, max_acceleration=2.0)
    answer = strict_command([alone], JointValues(), JointValues(acceleration=np.array([-9.0])))
    assert answer.desired.acceleration.tolist() == [-2.0]


def test_a_soft_limiter_without_any_soft_range_is_a_range_limiter() -> None:
    fast = JointLimits(has_velocity_limits=True, max_velocity=1.0)
    limiter = joint_soft_limiter([fast], [SoftJointLimits()])
    answer = limiter.enforce(
        JointValues(position=np.zeros(1)), JointValues(position=np.ones(1), velocity=np.full(1, 9.0)), 0.1
    )
    assert answer.desired.position == pytest.approx([0.1])
    assert answer.desired.velocity == pytest.approx([1.0])


def test_many_limited_joints_are_explained_as_few_are() -> None:
    rng = np.random.default_rng(6)
    hard = [random_limits(rng) for _ in range(50)]
    actual = JointValues(position=np.array([one.min_position for one in hard]), velocity=rng.uniform(-2.0, 2.0, 50))
    desired = JointValues(
        **{name: np.where(rng.random(50) < 0.1, np.nan, rng.uniform(-9.0, 9.0, 50)) for name in INTERFACES}
    )
    together = joint_range_limiter(hard).enforce(actual, desired, 0.05)
    for at, one in enumerate(hard):
        alone = joint_range_limiter([one]).enforce(one_of(actual, at), one_of(desired, at), 0.05)
        codes = {name: int(alone.reasons[name][0]) if name in alone.reasons else 0 for name in INTERFACES}
        assert codes == {name: int(together.reasons[name][at]) for name in INTERFACES}
