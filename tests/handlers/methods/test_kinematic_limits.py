from typing import Any

import pytest

from handlers.methods.kinematic_limits import LIMIT_MODES
from limits.kinova_models import MODELS
from schema.enums import ControlMode
from schema.envelope import View
from schema.errors import BrokerError
from schema.messages import (
    ControlModeInformation,
    DesiredSpeeds,
    JointSpeeds,
    KinematicLimits,
    KinematicLimitsList,
    LinearTwist,
)
from tests.handlers.builders import MODEL, answer, arm, description, linear, never_read, speeds

TAKING = [ControlMode(mode) for mode in (1, 2, 4, 5, 12)]
TWIST = ("twist_linear_soft_limit", 2)


def soft(state: Any, mode: ControlMode, **envelope: Any) -> Any:
    return answer(state, "GetKinematicSoftLimits", ControlModeInformation(mode), **envelope)


def names(found: Any) -> list[str]:
    return [warning.name for warning in found.warnings]


def test_five_modes_take_limits() -> None:
    assert list(LIMIT_MODES) == TAKING


def test_hard_limits_are_those_that_the_arm_told() -> None:
    found = answer(arm(), "GetKinematicHardLimits")
    assert (found.result, found.reported_at_us, found.warnings) == (MODEL.hard, 1_000_000, ())


def test_hard_limits_of_a_profile_say_so() -> None:
    found = answer(arm(description=description(hard_source="hard:profile")), "GetKinematicHardLimits")
    assert names(found) == ["FROM_PROFILE"]
    assert names(answer(arm(online=False), "GetKinematicHardLimits")) == ["DEVICE_DISCONNECTED"]


def test_before_first_contact_the_profile_of_the_model_is_answered() -> None:
    found = answer(never_read(model="gen3_lite"), "GetKinematicHardLimits")
    assert found.result == MODELS["gen3_lite"].hard
    assert found.reported_at_us == 0
    assert names(found) == ["DEVICE_DISCONNECTED", "FROM_PROFILE"]


def test_before_first_contact_a_model_without_a_profile_has_no_hard_limits() -> None:
    with pytest.raises(BrokerError) as caught:
        answer(never_read(model="homemade"), "GetKinematicHardLimits")
    assert caught.value.kind == "arm_not_read"


@pytest.mark.parametrize("mode", TAKING)
def test_soft_limits_of_a_mode_are_what_it_takes(mode: ControlMode) -> None:
    assert soft(arm(), mode).result == MODEL.soft_defaults[mode]


@pytest.mark.parametrize("mode", [mode for mode in ControlMode if mode not in TAKING])
def test_a_mode_that_takes_no_limits_has_none(mode: ControlMode) -> None:
    for state in (arm(), never_read()):
        with pytest.raises(BrokerError) as caught:
            soft(state, mode)
        assert (caught.value.kind, caught.value.name) == ("mode_without_limit", "METHOD_FAILED")
        assert mode.name in caught.value.message


def test_absent_params_ask_for_the_unspecified_mode() -> None:
    with pytest.raises(BrokerError) as caught:
        answer(arm(), "GetKinematicSoftLimits")
    assert caught.value.kind == "mode_without_limit"


def test_all_soft_limits_are_the_five_modes() -> None:
    assert answer(arm(), "GetAllKinematicSoftLimits").result == KinematicLimitsList(
        tuple(MODEL.soft_defaults[mode] for mode in TAKING)
    )


@pytest.mark.parametrize("method", ["GetKinematicSoftLimits", "GetAllKinematicSoftLimits", "GetDesiredSpeeds"])
def test_a_view_of_an_arm_that_was_never_read_is_refused(method: str) -> None:
    with pytest.raises(BrokerError) as caught:
        answer(never_read(), method, ControlModeInformation(ControlMode.ANGULAR_JOYSTICK))
    assert caught.value.kind == "arm_not_read"


@pytest.mark.parametrize("method", ["GetKinematicSoftLimits", "GetAllKinematicSoftLimits", "GetDesiredSpeeds"])
def test_a_view_of_an_arm_that_is_not_connected_says_so(method: str) -> None:
    found = answer(arm(online=False), method, ControlModeInformation(ControlMode.ANGULAR_JOYSTICK))
    assert names(found) == ["DEVICE_DISCONNECTED"]
    assert found.reported_at_us == 1_000_000


def test_a_view_shows_what_is_desired_and_the_newest_pending_revision_of_its_slots() -> None:
    state = arm()
    before = soft(state, ControlMode.CARTESIAN_JOYSTICK)
    assert (before.desired, before.pending_rev) == (None, 0)
    state.desired[TWIST] = linear(0.2)
    state.open = {TWIST: 1, ("joint_speed_soft_limits", 2): 1, ("gravity_vector", 0): 1}
    state.open_rev = {TWIST: 8, ("joint_speed_soft_limits", 2): 7, ("gravity_vector", 0): 9}
    found = soft(state, ControlMode.CARTESIAN_JOYSTICK)
    wanted = KinematicLimits(ControlMode.CARTESIAN_JOYSTICK, 0.2, 100.0, MODEL.hard.joint_speed_limits)
    assert found.result == MODEL.soft_defaults[ControlMode.CARTESIAN_JOYSTICK]
    assert (found.desired, found.pending_rev) == (wanted, 8)
    assert soft(state, ControlMode.CARTESIAN_JOYSTICK, view=View.DESIRED).result == wanted
    every = answer(state, "GetAllKinematicSoftLimits")
    assert every.pending_rev == 8
    assert isinstance(every.desired, KinematicLimitsList)
    assert every.desired.kinematic_limits_list[1] == wanted
    assert soft(state, ControlMode.CARTESIAN_TRAJECTORY).desired is None


def test_desired_speeds_are_three_items_in_one() -> None:
    state = arm()
    assert answer(state, "GetDesiredSpeeds").result == DesiredSpeeds(0.1, 20.0, (20.0,) * 7)
    state.desired["desired_linear_twist", 0] = LinearTwist(0.3)
    state.open["desired_linear_twist", 0] = 1
    state.open_rev["desired_linear_twist", 0] = 5
    found = answer(state, "GetDesiredSpeeds")
    assert (found.desired, found.pending_rev) == (DesiredSpeeds(0.3, 20.0, (20.0,) * 7), 5)


def test_what_an_arm_does_not_have_is_left_at_zero() -> None:
    held: dict[Any, Any] = {
        ("desired_joint_speeds", 0): JointSpeeds((1.0,) * 7),
        ("joint_speed_soft_limits", 1): speeds(9.0),
    }
    state = arm(desired=dict(held), reported=dict(held))
    assert answer(state, "GetDesiredSpeeds").result == DesiredSpeeds(0.0, 0.0, (1.0,) * 7)
    limits = soft(state, ControlMode.ANGULAR_JOYSTICK).result
    assert limits == KinematicLimits(ControlMode.ANGULAR_JOYSTICK, joint_speed_limits=(9.0,) * 7)
