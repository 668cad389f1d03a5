import math

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.kinova_limits import FIELDS, KinovaNumbers, from_kinematic_limits, takes, to_kinematic_limits
from limits.kinova_models import MODELS, KinovaModel
from schema.enums import ControlMode
from schema.messages import KinematicLimits


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_limit_of_the_models_comes_back(model: KinovaModel) -> None:
    for message in (model.hard, *model.soft_defaults.values()):
        numbers = from_kinematic_limits(message, len(model.joints))
        assert to_kinematic_limits(numbers, ControlMode(message.control_mode)) == message


def test_degrees_become_radians_and_what_is_unset_no_limit() -> None:
    numbers = from_kinematic_limits(KinematicLimits(0, 0.0, 180.0, (90.0, 0.0)), 2)
    assert (numbers.twist_linear, numbers.twist_angular) == (math.inf, math.pi)
    np.testing.assert_allclose(numbers.velocity, [math.pi / 2, 0.0])
    assert np.isinf(numbers.acceleration).all()


def test_modes_take_what_the_arm_takes() -> None:
    assert takes(ControlMode.ANGULAR_JOYSTICK, "joint_acceleration_limits")
    assert not takes(ControlMode.ANGULAR_JOYSTICK, "twist_linear")
    assert takes(ControlMode.CARTESIAN_JOYSTICK, "joint_speed_limits")
    assert not any(takes(ControlMode.IDLE, field) for field in FIELDS)


@pytest.mark.parametrize(
    ("message", "joint", "key"),
    [
        (KinematicLimits(ControlMode.IDLE), None, "control_mode"),
        (KinematicLimits(99), None, "control_mode"),
        (KinematicLimits(ControlMode.ANGULAR_JOYSTICK, 0.1), None, "twist_linear"),
        (KinematicLimits(ControlMode.CARTESIAN_JOYSTICK, 0.1, 1.0, (), (1.0, 1.0)), None, "joint_acceleration_limits"),
        (KinematicLimits(0, -0.1), None, "twist_linear"),
        (KinematicLimits(0, 0.1, math.nan), None, "twist_angular"),
        (KinematicLimits(0, 0.1, 1.0, (1.0,)), None, "joint_speed_limits"),
        (KinematicLimits(0, 0.1, 1.0, (1.0, -1.0)), "1", "joint_speed_limits"),
        (KinematicLimits(0, 0.1, 1.0, (), (math.inf, 1.0)), "0", "joint_acceleration_limits"),
    ],
)
def test_messages_that_make_no_sense_are_refused(message: KinematicLimits, joint: str | None, key: str) -> None:
    with pytest.raises(LimitsError) as caught:
        from_kinematic_limits(message, 2, file="arm.json")
    assert (caught.value.file, caught.value.joint, caught.value.key) == ("arm.json", joint, key)


NONE = np.full(2, np.inf)


@pytest.mark.parametrize(
    ("numbers", "mode", "key"),
    [
        (KinovaNumbers(0.0, 1.0, NONE, NONE), 0, "twist_linear"),
        (KinovaNumbers(0.1, 1.0, np.array([-1.0, 1.0]), NONE), 0, "joint_speed_limits"),
        (KinovaNumbers(0.1, 1.0, np.array([np.nan, 1.0]), NONE), 0, "joint_speed_limits"),
        (KinovaNumbers(0.1, 1.0, np.array([1e300, 1.0]), NONE), 0, "joint_speed_limits"),
        (KinovaNumbers(1e300, 1.0, NONE, NONE), 0, "twist_linear"),
        (KinovaNumbers(0.1, 1.0, NONE, NONE), 1, "twist_linear"),
    ],
)
def test_numbers_that_a_message_cannot_hold_are_refused(numbers: KinovaNumbers, mode: int, key: str) -> None:
    with pytest.raises(LimitsError) as caught:
        to_kinematic_limits(numbers, ControlMode(mode))
    assert caught.value.key == key


def test_a_list_with_an_unlimited_entry_is_left_out() -> None:
    numbers = KinovaNumbers(math.inf, math.inf, np.array([1.0, np.inf]), np.array([0.0, 1.0]))
    message = to_kinematic_limits(numbers)
    assert message.joint_speed_limits == ()
    assert message.joint_acceleration_limits == (0.0, 57.29578)
