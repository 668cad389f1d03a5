"""The numbers of an Acme arm as records of the protocol, and back."""

from collections.abc import Callable
from typing import Any, NamedTuple

from armbroker.adapters import ControlMode, Slot, messages


class Value(NamedTuple):
    """One value: its name on the arm, and how its numbers and its record become each other."""

    name: str
    record: Callable[..., messages.Message]
    numbers: Callable[[Any], tuple[float, ...]]


def _payload(mass: float, x: float, y: float, z: float) -> messages.Message:
    return messages.PayloadInformation(mass, messages.Position(x, y, z))


def _of_payload(value: messages.PayloadInformation) -> tuple[float, ...]:
    center = value.payload_mass_center or messages.Position()
    return (value.payload_mass, center.x, center.y, center.z)


def _speed(name: str, mode: ControlMode) -> Value:
    return Value(
        name, lambda limit: messages.TwistLinearSoftLimit(mode, limit), lambda value: (value.twist_linear_soft_limit,)
    )


VALUES: dict[Slot, Value] = {
    ("payload_information", 0): Value("payload", _payload, _of_payload),
    ("gravity_vector", 0): Value("gravity", messages.GravityVector, lambda value: (value.x, value.y, value.z)),
    ("twist_linear_soft_limit", 2): _speed("speed_jog", ControlMode.CARTESIAN_JOYSTICK),
    ("twist_linear_soft_limit", 5): _speed("speed_move", ControlMode.CARTESIAN_TRAJECTORY),
    ("twist_linear_soft_limit", 12): _speed("speed_force", ControlMode.CARTESIAN_WAYPOINT_TRAJECTORY),
}
"""Every slot that the arm holds."""
SLOTS = {value.name: slot for slot, value in VALUES.items()}
"""The slot of each name."""
METHODS = frozenset(
    {
        *("GetPayloadInformation", "SetPayloadInformation", "ResetPayloadInformation"),
        *("GetGravityVector", "SetGravityVector", "ResetGravityVector"),
        *("SetTwistLinearSoftLimit", "ResetTwistLinearSoftLimit", "GetKinematicHardLimits"),
        *("ControlConfigurationTopic", "Unsubscribe"),
    }
)
"""What the protocol can ask of it; what the service does by itself it adds."""
