import math
from typing import Any

import pytest

from schema.enums import CartesianReferenceFrame, ControlMode
from schema.errors import BrokerError
from schema.messages import (
    AngularTwist,
    CartesianReferenceFrameInfo,
    CartesianTransform,
    ControlModeInformation,
    GravityVector,
    JointAccelerationSoftLimits,
    JointSpeeds,
    LinearTwist,
    Message,
    PayloadInformation,
    Position,
    ToolConfiguration,
)
from tests.handlers.builders import MODEL, angular, arm, description, linear, propose, speeds

HARD = MODEL.hard


def accelerations(*degrees: float, mode: ControlMode = ControlMode.ANGULAR_JOYSTICK) -> JointAccelerationSoftLimits:
    return JointAccelerationSoftLimits(mode, degrees * 7 if len(degrees) == 1 else degrees)


def refusal(method: str, params: Message, **changes: Any) -> BrokerError:
    with pytest.raises(BrokerError) as caught:
        propose(arm(**changes), method, params)
    return caught.value


def warned(method: str, params: Message, **changes: Any) -> list[str]:
    return [warning.name for warning in propose(arm(**changes), method, params).warnings]


LEGAL = [
    ("SetJointSpeedSoftLimits", speeds(*HARD.joint_speed_limits)),
    ("SetJointSpeedSoftLimits", speeds(0.0)),
    ("SetJointSpeedSoftLimits", speeds(80.002, 80.0, 80.0, 80.0, 70.0, 70.0, 70.0)),
    ("SetJointAccelerationSoftLimits", accelerations(*HARD.joint_acceleration_limits)),
    ("SetJointAccelerationSoftLimits", accelerations(0.0)),
    ("SetTwistLinearSoftLimit", linear(0.5)),
    ("SetTwistLinearSoftLimit", linear(0.5000001)),
    ("SetTwistLinearSoftLimit", linear(1e-6)),
    ("SetTwistAngularSoftLimit", angular(100.0)),
    ("SetTwistAngularSoftLimit", angular(99.9983)),
    ("SetDesiredLinearTwist", LinearTwist(0.5)),
    ("SetDesiredLinearTwist", LinearTwist(0.0)),
    ("SetDesiredAngularTwist", AngularTwist(100.0)),
    ("SetDesiredAngularTwist", AngularTwist(0.0)),
    ("SetDesiredJointSpeeds", JointSpeeds(HARD.joint_speed_limits)),
    ("SetDesiredJointSpeeds", JointSpeeds((0.0,) * 7)),
]


@pytest.mark.parametrize(("method", "params"), LEGAL)
def test_a_bound_itself_is_taken_without_a_word_also_after_rounding(method: str, params: Message) -> None:
    assert warned(method, params) == []


@pytest.mark.parametrize(("method", "params"), LEGAL)
def test_a_bound_itself_is_taken_by_an_arm_that_keeps_float32(method: str, params: Message) -> None:
    if params == speeds(80.002, 80.0, 80.0, 80.0, 70.0, 70.0, 70.0):
        assert refusal(method, params, resolution_rad=0.0).kind == "out_of_limits"
    else:
        assert warned(method, params, resolution_rad=0.0) == []


ABOVE = [
    ("SetJointSpeedSoftLimits", speeds(80.01, 80.0, 80.0, 80.0, 70.0, 70.0, 70.0)),
    ("SetJointAccelerationSoftLimits", accelerations(298.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)),
    ("SetTwistLinearSoftLimit", linear(0.5002)),
    ("SetTwistLinearSoftLimit", linear(0.50001)),
    ("SetTwistAngularSoftLimit", angular(100.01)),
    ("SetDesiredLinearTwist", LinearTwist(0.51)),
    ("SetDesiredAngularTwist", AngularTwist(101.0)),
    ("SetDesiredJointSpeeds", JointSpeeds((90.0,) * 7)),
]


@pytest.mark.parametrize(("method", "params"), ABOVE)
def test_above_the_hard_limit_is_refused(method: str, params: Message) -> None:
    error = refusal(method, params)
    assert (error.kind, error.name, error.sub_code) == ("out_of_limits", "VALUE_IS_ABOVE_MAXIMUM", 48)
    assert {(violation.relation, violation.source) for violation in error.violations} == {("<=", "hard:device")}


BELOW = [
    ("SetJointSpeedSoftLimits", speeds(-1.0, 50.0, 50.0, 50.0, 50.0, 50.0, 50.0)),
    ("SetJointSpeedSoftLimits", speeds(-1e-9, 50.0, 50.0, 50.0, 50.0, 50.0, 50.0)),
    ("SetJointAccelerationSoftLimits", accelerations(-1.0)),
    ("SetTwistLinearSoftLimit", linear(0.0)),
    ("SetTwistLinearSoftLimit", linear(-0.2)),
    ("SetTwistLinearSoftLimit", linear(9e-7)),
    ("SetTwistAngularSoftLimit", angular(0.0)),
    ("SetTwistAngularSoftLimit", angular(-10.0)),
    ("SetDesiredLinearTwist", LinearTwist(-0.1)),
    ("SetDesiredAngularTwist", AngularTwist(-1e-9)),
    ("SetDesiredJointSpeeds", JointSpeeds((-1.0,) * 7)),
    ("SetPayloadInformation", PayloadInformation(-0.1)),
    ("SetToolConfiguration", ToolConfiguration(tool_mass=-0.1)),
]


@pytest.mark.parametrize(("method", "params"), BELOW)
def test_below_the_least_value_is_refused(method: str, params: Message) -> None:
    error = refusal(method, params)
    assert (error.kind, error.name, error.sub_code) == ("out_of_limits", "VALUE_IS_BELOW_MINIMUM", 49)
    assert {(violation.relation, violation.source) for violation in error.violations} == {(">=", "rule:minimum")}


def test_an_angular_twist_that_the_arm_would_hold_as_unset_is_refused() -> None:
    assert refusal("SetTwistAngularSoftLimit", angular(0.0028)).name == "VALUE_IS_BELOW_MINIMUM"
    assert warned("SetTwistAngularSoftLimit", angular(0.0029)) == ["UNIT_SUSPECT"]
    assert warned("SetTwistAngularSoftLimit", angular(0.0028), resolution_rad=0.0) == ["UNIT_SUSPECT"]


def test_the_message_reads_as_the_protocol_shows() -> None:
    error = refusal("SetJointSpeedSoftLimits", speeds(80.0))
    assert error.message == (
        "joint_speed_soft_limits[4] (joint 5): 80 deg/s > 70 deg/s, hard limit read from r12. "
        "Nearest legal: [80, 80, 80, 80, 70, 70, 70]. Nothing was changed."
    )
    error = refusal("SetTwistLinearSoftLimit", linear(0.9))
    assert error.message == (
        "twist_linear_soft_limit: 0.9 m/s > 0.5 m/s, hard limit read from r12. Nearest legal: 0.5. Nothing was changed."
    )


def test_the_message_of_a_zero_twist_names_the_reset() -> None:
    error = refusal("SetTwistLinearSoftLimit", linear(0.0))
    assert error.message == (
        'twist_linear_soft_limit: 0 m/s < 1e-06 m/s, the least limit; 0 means "unset" on the arm, use Reset. '
        "Nearest legal: 1e-06. Nothing was changed."
    )


def test_the_message_of_a_negative_value_names_the_least() -> None:
    error = refusal("SetPayloadInformation", PayloadInformation(-0.1))
    assert error.message == "payload_mass: -0.1 kg < 0 kg, the least value. Nearest legal: 0. Nothing was changed."


def test_every_violation_is_listed_lowest_joint_first() -> None:
    error = refusal("SetJointSpeedSoftLimits", speeds(50.0, -3.0, 50.0, 80.5, 50.0, 71.0, 50.0))
    listed = [
        (violation.path, violation.joint, violation.joint_name, violation.got, violation.bound, violation.relation)
        for violation in error.violations
    ]
    assert listed == [
        ("joint_speed_soft_limits[1]", 2, "joint_2", -3.0, 0.0, ">="),
        ("joint_speed_soft_limits[3]", 4, "joint_4", 80.5, 80.0, "<="),
        ("joint_speed_soft_limits[5]", 6, "joint_6", 71.0, 70.0, "<="),
    ]
    assert {violation.suggest for violation in error.violations} == {(50.0, 0.0, 50.0, 80.0, 50.0, 70.0, 50.0)}
    assert {violation.unit for violation in error.violations} == {"deg/s"}
    assert error.name == "VALUE_IS_BELOW_MINIMUM"


def test_a_number_without_joints_names_none() -> None:
    (violation,) = refusal("SetTwistAngularSoftLimit", angular(120.0)).violations
    assert (violation.path, violation.joint, violation.joint_name) == ("twist_angular_soft_limit", 0, "")
    assert (violation.got, violation.bound, violation.unit, violation.suggest) == (120.0, 100.0, "deg/s", 100.0)


def test_a_hard_limit_of_the_profile_is_named_as_such() -> None:
    error = refusal("SetTwistLinearSoftLimit", linear(0.9), description=description(hard_source="hard:profile"))
    assert "0.5 m/s, hard limit of the profile of r12." in error.message
    assert error.violations[0].source == "hard:profile"


@pytest.mark.parametrize(
    ("method", "params"),
    [*ABOVE, *(case for case in BELOW if case[0] not in {"SetPayloadInformation", "SetToolConfiguration"})],
)
@pytest.mark.parametrize("resolution_rad", [1e-4, 0.0])
def test_what_is_suggested_is_taken(method: str, params: Message, resolution_rad: float) -> None:
    suggestion = refusal(method, params, resolution_rad=resolution_rad).violations[0].suggest
    *others, field = type(params).__struct_fields__
    legal = type(params)(**{name: getattr(params, name) for name in others}, **{field: suggestion})
    assert propose(arm(resolution_rad=resolution_rad), method, legal).value == legal


@pytest.mark.parametrize("count", [0, 6, 8])
def test_a_list_wants_one_value_for_each_joint(count: int) -> None:
    degrees = (50.0,) * count
    for method, params in (
        ("SetJointSpeedSoftLimits", speeds(*degrees)),
        ("SetJointAccelerationSoftLimits", accelerations(*degrees)),
        ("SetDesiredJointSpeeds", JointSpeeds(degrees)),
    ):
        error = refusal(method, params)
        assert (error.kind, error.name) == ("wrong_joint_count", "CONTROL_ACTUATOR_COUNT_MISMATCH")
        assert f"{count} values for 7 joints of r12" in error.message


def test_a_wrong_count_is_told_before_a_value_out_of_range() -> None:
    assert refusal("SetJointSpeedSoftLimits", speeds(900.0, 900.0)).kind == "wrong_joint_count"


SUSPECT = [
    ("SetJointSpeedSoftLimits", speeds(0.8727)),
    ("SetJointSpeedSoftLimits", speeds(1.9999)),
    ("SetJointSpeedSoftLimits", speeds(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)),
    ("SetJointAccelerationSoftLimits", accelerations(9.9)),
    ("SetTwistAngularSoftLimit", angular(1.745)),
    ("SetDesiredAngularTwist", AngularTwist(1.0)),
    ("SetDesiredJointSpeeds", JointSpeeds((1.0,) * 7)),
    ("SetToolConfiguration", ToolConfiguration(CartesianTransform(theta_x=1.5708), 0.925)),
    ("SetToolConfiguration", ToolConfiguration(CartesianTransform(theta_y=-3.14159, theta_z=6.2832), 0.925)),
]


@pytest.mark.parametrize(("method", "params"), SUSPECT)
def test_values_like_radians_are_taken_with_a_warning(method: str, params: Message) -> None:
    assert warned(method, params) == ["UNIT_SUSPECT"]


@pytest.mark.parametrize(("method", "params"), SUSPECT)
def test_values_like_radians_are_refused_when_strict(method: str, params: Message) -> None:
    assert refusal(method, params, strict=True).kind == "implausible_value"


UNSUSPECT = [
    ("SetJointSpeedSoftLimits", speeds(2.0)),
    ("SetJointSpeedSoftLimits", speeds(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0)),
    ("SetJointAccelerationSoftLimits", accelerations(10.1)),
    ("SetTwistLinearSoftLimit", linear(0.2)),
    ("SetTwistAngularSoftLimit", angular(2.0)),
    ("SetDesiredLinearTwist", LinearTwist(0.1)),
    ("SetToolConfiguration", ToolConfiguration(CartesianTransform(theta_x=90.0), 0.925)),
    ("SetToolConfiguration", ToolConfiguration(CartesianTransform(theta_x=1.5708, theta_z=45.0), 0.925)),
    ("SetToolConfiguration", ToolConfiguration(CartesianTransform(theta_x=7.853982), 0.925)),
    ("SetToolConfiguration", ToolConfiguration(CartesianTransform(theta_x=0.0005), 0.925)),
    ("SetToolConfiguration", ToolConfiguration(None, 0.925)),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("method", "params"), UNSUSPECT)
def test_values_like_degrees_are_taken_without_a_word(method: str, params: Message, strict: bool) -> None:
    assert warned(method, params, strict=strict) == []


def test_the_suspicion_says_what_the_values_would_be_in_degrees() -> None:
    (warning,) = propose(arm(), "SetJointSpeedSoftLimits", speeds(0.8727)).warnings
    assert warning.path == "joint_speed_soft_limits"
    assert "0.8727 rad would be 50 deg/s" in warning.message


@pytest.mark.parametrize("norm", [9.81 * 0.98, 9.81, 9.8, 9.81 * 1.02])
@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_gravity_within_two_percent_is_taken(norm: float, axis: str) -> None:
    assert warned("SetGravityVector", GravityVector(**{axis: -norm})) == []


@pytest.mark.parametrize("norm", [0.0, 1.0, 9.613, 10.007, 980.7])
def test_other_gravity_is_refused(norm: float) -> None:
    error = refusal("SetGravityVector", GravityVector(0.0, norm, 0.0))
    assert (error.kind, error.name) == ("implausible_value", "INVALID_PARAM")
    assert ("unit vector" in error.message) is (norm == 1.0)


def test_the_norm_of_gravity_counts_not_its_axis() -> None:
    tilted = 9.81 / math.sqrt(3)
    assert warned("SetGravityVector", GravityVector(tilted, -tilted, tilted)) == []


def test_a_tool_that_loses_its_mass_is_doubted() -> None:
    massless = ToolConfiguration(CartesianTransform(z=0.2))
    (warning,) = propose(arm(), "SetToolConfiguration", massless).warnings
    assert (warning.name, warning.path) == ("TOOL_MASS_DROPPED", "tool_mass")
    assert "0.925 kg before, 0 kg now" in warning.message
    assert refusal("SetToolConfiguration", massless, strict=True).kind == "implausible_value"


def test_a_tool_that_had_no_mass_may_have_none() -> None:
    state = arm(strict=True)
    state.desired["tool_configuration", 0] = ToolConfiguration()
    assert propose(state, "SetToolConfiguration", ToolConfiguration(CartesianTransform(z=0.2))).warnings == ()


def test_a_payload_that_loses_its_mass_is_doubted() -> None:
    state = arm()
    state.desired["payload_information", 0] = PayloadInformation(2.0)
    for message in (PayloadInformation(), PayloadInformation(payload_mass_center=Position(z=0.1))):
        (warning,) = propose(state, "SetPayloadInformation", message).warnings
        assert (warning.name, warning.path) == ("PAYLOAD_MASS_DROPPED", "payload_mass")
        assert "2 kg before, 0 kg now" in warning.message
    state.strict = True
    with pytest.raises(BrokerError, match="2 kg before, 0 kg now") as caught:
        propose(state, "SetPayloadInformation", PayloadInformation())
    assert caught.value.kind == "implausible_value"
    assert propose(state, "SetPayloadInformation", PayloadInformation(0.5)).warnings == ()
    state.desired["payload_information", 0] = PayloadInformation()
    assert propose(state, "SetPayloadInformation", PayloadInformation()).warnings == ()


def test_payload_and_tool_together_are_measured_against_the_rating() -> None:
    assert warned("SetPayloadInformation", PayloadInformation(3.075)) == []
    assert warned("SetPayloadInformation", PayloadInformation(3.076)) == ["PAYLOAD_OVER_RATING"]
    state = arm()
    state.desired["payload_information", 0] = PayloadInformation(3.0)
    kept, warning = propose(state, "SetToolConfiguration", ToolConfiguration(tool_mass=1.5)).warnings
    assert (warning.name, warning.path) == ("PAYLOAD_OVER_RATING", "tool_mass")
    assert propose(state, "SetToolConfiguration", ToolConfiguration(tool_mass=1.0)).warnings == (kept,)
    assert kept.name == "PAYLOAD_KEPT"


def test_the_rating_itself_is_no_overload_also_where_the_sum_is_a_bit_above() -> None:
    state = arm(description=description(payload_max=0.3))
    state.desired["tool_configuration", 0] = ToolConfiguration(tool_mass=0.2)
    assert propose(state, "SetPayloadInformation", PayloadInformation(0.1)).warnings == ()


def test_an_overload_is_no_refusal_when_strict() -> None:
    assert warned("SetPayloadInformation", PayloadInformation(9.0), strict=True) == ["PAYLOAD_OVER_RATING"]


def test_without_a_rating_no_payload_is_too_much() -> None:
    assert warned("SetPayloadInformation", PayloadInformation(900.0), description=description(payload_max=0.0)) == []


def test_without_a_known_tool_or_payload_each_is_measured_alone() -> None:
    state = arm(desired={})
    assert propose(state, "SetPayloadInformation", PayloadInformation(4.0)).warnings == ()
    assert propose(state, "SetToolConfiguration", ToolConfiguration(tool_mass=4.0)).warnings == ()


@pytest.mark.parametrize("frame", [1, 2, 3])
def test_a_known_frame_is_taken(frame: int) -> None:
    assert warned("SetCartesianReferenceFrame", CartesianReferenceFrameInfo(CartesianReferenceFrame(frame))) == []


def test_the_unspecified_frame_is_refused() -> None:
    error = refusal("SetCartesianReferenceFrame", CartesianReferenceFrameInfo())
    assert (error.kind, error.name) == ("unknown_enum", "INVALID_PARAM")


def test_the_unspecified_mode_is_refused() -> None:
    assert refusal("SetControlMode", ControlModeInformation()).kind == "unknown_enum"


def test_a_mode_that_the_arm_does_not_take_is_refused_by_name() -> None:
    error = refusal("SetControlMode", ControlModeInformation(ControlMode.FORCE_CONTROL))
    assert (error.kind, error.name) == ("unknown_method", "UNSUPPORTED_METHOD")
    assert "r12 takes no request for FORCE_CONTROL" in error.message
