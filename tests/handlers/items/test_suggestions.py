"""What a refusal suggests can be sent as it is, and what an arm can hold is never refused."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.state.arm_state import ArmState
from schema.errors import BrokerError
from schema.floats import as_float32
from schema.messages import AngularTwist, JointSpeeds, LinearTwist, Message
from tests.handlers.builders import MODEL, angular, arm, linear, propose, speeds

HARD = MODEL.hard
resolutions = st.sampled_from([0.0, 1e-4, 1e-3])
numbers = st.floats(-200.0, 200.0, width=32).map(as_float32)
lists = st.lists(numbers, min_size=7, max_size=7).map(tuple)
requests = st.one_of(
    lists.map(lambda degrees: ("SetJointSpeedSoftLimits", speeds(*degrees))),
    lists.map(lambda degrees: ("SetDesiredJointSpeeds", JointSpeeds(degrees))),
    numbers.map(lambda number: ("SetTwistLinearSoftLimit", linear(number))),
    numbers.map(lambda number: ("SetTwistAngularSoftLimit", angular(number))),
    numbers.map(lambda number: ("SetDesiredLinearTwist", LinearTwist(number))),
    numbers.map(lambda number: ("SetDesiredAngularTwist", AngularTwist(number))),
)


def value_of(message: Message) -> tuple[float, ...]:
    value = getattr(message, message.__struct_fields__[-1])
    return value if isinstance(value, tuple) else (value,)


def as_sent(suggestion: object) -> object:
    """What a codec makes of a suggestion: float32."""
    return tuple(map(as_float32, suggestion)) if isinstance(suggestion, tuple) else as_float32(float(str(suggestion)))


def refusal_of(state: ArmState, method: str, message: Message) -> BrokerError | None:
    try:
        propose(state, method, message)
    except BrokerError as error:
        return error
    return None


@given(requests, resolutions)
def test_a_suggestion_is_legal_and_the_legal_components_stay(
    request_: tuple[str, Message], resolution_rad: float
) -> None:
    method, message = request_
    state = arm(resolution_rad=resolution_rad)
    error = refusal_of(state, method, message)
    if error is None:
        return
    assert error.kind == "out_of_limits"
    suggestion = as_sent(error.violations[0].suggest)
    legal = msgspec.structs.replace(message, **{message.__struct_fields__[-1]: suggestion})
    assert refusal_of(state, method, legal) is None
    refused = {max(violation.joint - 1, 0) for violation in error.violations}
    for component, (sent, suggested) in enumerate(zip(value_of(message), value_of(legal), strict=True)):
        assert component in refused or abs(sent - suggested) <= 0.1


@given(st.lists(st.floats(0.0, 1.0), min_size=7, max_size=7), resolutions)
def test_nothing_from_zero_to_the_hard_limits_is_refused(shares: list[float], resolution_rad: float) -> None:
    state = arm(resolution_rad=resolution_rad)
    degrees = tuple(as_float32(share * hard) for share, hard in zip(shares, HARD.joint_speed_limits, strict=True))
    assert propose(state, "SetJointSpeedSoftLimits", speeds(*degrees)).value == speeds(*degrees)
    desired = LinearTwist(as_float32(shares[0] * HARD.twist_linear))
    assert propose(state, "SetDesiredLinearTwist", desired).value == desired


@pytest.mark.parametrize("resolution_rad", [0.0, 1e-4, 1e-3])
def test_the_least_twist_that_is_suggested_for_zero_is_held_as_more_than_zero(resolution_rad: float) -> None:
    for method, message in (("SetTwistLinearSoftLimit", linear(0.0)), ("SetTwistAngularSoftLimit", angular(0.0))):
        with pytest.raises(BrokerError) as caught:
            propose(arm(resolution_rad=resolution_rad), method, message)
        (violation,) = caught.value.violations
        assert isinstance(violation.suggest, float)
        assert 0.0 < violation.suggest == violation.bound < 0.1
