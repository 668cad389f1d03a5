import math
from collections.abc import Callable

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.intrinsic.joint_limits import simple_limits
from limits.kinova_models import MODELS
from limits.stack.fold import fold
from limits.stack.joints import Bounds
from limits.stack.layer import LayerKind, Stack
from limits.stack.sources import (
    application_layer,
    joints_of_model,
    kinova_layer,
    safety_layer,
    site_layer,
)
from limits.tesseract.joint_safety import JointSafety
from schema.enums import ControlMode
from schema.messages import KinematicLimits
from tests.limits.stack.arms import ALICE, MAKER, SITE, TWO


def numbers(*layers: object) -> Bounds:
    return fold(Stack.of(TWO, layers)).at(None)  # type: ignore[arg-type]  # always layers


def test_a_message_without_a_mode_is_hard_and_one_with_a_mode_soft() -> None:
    hard = kinova_layer(TWO, KinematicLimits(0, 0.5, 90.0, (180.0, 90.0), (180.0, 180.0)), MAKER)
    assert (hard.kind, hard.mode) == (LayerKind.HARD, None)
    bounds = TWO.bounds(hard.ceilings)
    np.testing.assert_allclose(bounds.velocity, [math.pi, math.pi / 2])
    np.testing.assert_allclose(bounds.deceleration, [math.pi, math.pi])
    assert bounds.twist_linear == 0.5
    assert bounds.twist_angular == pytest.approx(math.pi / 2)
    soft = kinova_layer(TWO, KinematicLimits(2, 0.1), ALICE, {("twist_linear", None): SITE})
    assert (soft.kind, soft.mode) == (LayerKind.SOFT, ControlMode.CARTESIAN_JOYSTICK)
    assert soft.origin_of("twist_linear") == SITE
    assert math.isinf(TWO.bounds(soft.ceilings).twist_angular)


def test_application_limits_are_in_the_order_of_the_joints() -> None:
    vectors = simple_limits(dof=2, position=1.0, velocity=2.0, acceleration=3.0, jerk=4.0)
    layer = application_layer(TWO, vectors, ALICE, {("velocity", "elbow"): SITE})
    bounds = numbers(layer)
    np.testing.assert_array_equal(bounds.position_lower, [-1.0, -1.0])
    np.testing.assert_array_equal(bounds.deceleration, [3.0, 3.0])
    assert layer.origin_of("velocity", "elbow") == SITE


@pytest.mark.parametrize(
    ("safety", "expected"),
    [
        (
            JointSafety(soft_lower_limit=-1.0, soft_upper_limit=1.0, k_position=2.0, k_velocity=3.0),
            (-1.0, np.inf, np.inf),
        ),
        (JointSafety(soft_lower_limit=-1.0, soft_upper_limit=1.0), (-1.0, 0.0, 0.0)),
        (JointSafety(), (-np.inf, 0.0, 0.0)),
    ],
)
def test_joint_safety_gives_what_the_law_never_exceeds(safety: JointSafety, expected: tuple[float, ...]) -> None:
    bounds = numbers(safety_layer(TWO, {"elbow": safety}, ALICE))
    assert (bounds.position_lower[1], bounds.velocity[1], bounds.effort[1]) == expected
    assert np.isinf(bounds.velocity[0])


def test_site_caps_are_one_number_or_numbers_by_joint() -> None:
    bounds = numbers(site_layer(TWO, {"velocity": 1.0, "jerk": {"elbow": 5.0}, "twist_linear": 0.25}, SITE))
    np.testing.assert_array_equal(bounds.velocity, [1.0, 1.0])
    np.testing.assert_array_equal(bounds.jerk, [np.inf, 5.0])
    assert bounds.twist_linear == 0.25


@pytest.mark.parametrize(
    ("build", "joint", "key"),
    [
        (lambda: site_layer(TWO, {"speed": 1.0}, SITE), None, "speed"),
        (lambda: site_layer(TWO, {"velocity": {"wrist": 1.0}}, SITE), "wrist", "velocity"),
        (lambda: site_layer(TWO, {"twist_linear": {"elbow": 1.0}}, SITE), None, "twist_linear"),
        (lambda: site_layer(TWO, {"velocity": -1.0}, SITE), "shoulder", "velocity"),
        (lambda: safety_layer(TWO, {"wrist": JointSafety()}, SITE), "wrist", None),
        (lambda: safety_layer(TWO, {"elbow": JointSafety(k_velocity=-1.0)}, SITE), "elbow", "k_velocity"),
        (lambda: kinova_layer(TWO, KinematicLimits(0, 0.0, 0.0, (1.0,)), SITE), None, "joint_speed_limits"),
    ],
)
def test_what_does_not_fit_is_refused(build: Callable[[], object], joint: str | None, key: str | None) -> None:
    with pytest.raises(LimitsError) as caught:
        build()
    assert (caught.value.joint, caught.value.key) == (joint, key)


def test_the_joints_of_a_model_have_its_names_and_types() -> None:
    joints = joints_of_model(MODELS["gen3_7dof"])
    assert joints.names[0] == "joint_1"
    assert [kind.value for kind in joints.types[:2]] == ["continuous", "revolute"]
