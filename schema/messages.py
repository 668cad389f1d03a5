"""Records of `Kinova.Api.ControlConfig` and the part of `Kinova.Api.Common` in use.

Frozen; field names, order and meaning are those of the originals, so that a record and its proto message agree field
by field. Proto `float` values are held as the shortest decimal of the same float32 (`schema.floats`). Units: metres,
kilograms, seconds, degrees, as each field says.
"""

import msgspec

from schema.enums import CartesianReferenceFrame, ControlConfigurationEvent, ControlMode, NotificationType
from schema.fields import Fixed32, Float32, UInt32


class Message(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Base of every record that has a proto message."""


class Empty(Message, frozen=True):
    """No content."""


class Timestamp(Message, frozen=True):
    """Time since 1970-01-01 UTC: seconds and microseconds (0 to 999999)."""

    sec: UInt32 = 0
    usec: UInt32 = 0


class UserProfileHandle(Message, frozen=True):
    """A user: number (0 = nobody) and permission bits READ 1, UPDATE 2, DELETE 4."""

    identifier: UInt32 = 0
    permission: Fixed32 = 0


class Connection(Message, frozen=True):
    """A connection of a user: text `<user>/<conn>` (an arm: its own) and number (0 = none)."""

    user_handle: UserProfileHandle | None = None
    connection_information: str = ""
    connection_identifier: UInt32 = 0


class NotificationOptions(Message, frozen=True):
    """How to be notified: type, rate (milliseconds), threshold; only types 0 and 3 are served."""

    type: NotificationType | int = NotificationType.NOTIFICATION_TYPE_UNSPECIFIED
    rate_m_sec: UInt32 = 0
    threshold_value: Float32 = 0.0


class NotificationHandle(Message, frozen=True):
    """A subscription's number, from 1."""

    identifier: UInt32 = 0


class GravityVector(Message, frozen=True):
    """Gravity in the base frame: x, y, z in m/s²."""

    x: Float32 = 0.0
    y: Float32 = 0.0
    z: Float32 = 0.0


class Position(Message, frozen=True):
    """A Cartesian position: x, y, z in metres."""

    x: Float32 = 0.0
    y: Float32 = 0.0
    z: Float32 = 0.0


class PayloadInformation(Message, frozen=True):
    """Payload: mass in kg, centre of mass relative to the tool frame."""

    payload_mass: Float32 = 0.0
    payload_mass_center: Position | None = None


class CartesianTransform(Message, frozen=True):
    """A transform: x, y, z in metres, theta_x, theta_y, theta_z in degrees."""

    x: Float32 = 0.0
    y: Float32 = 0.0
    z: Float32 = 0.0
    theta_x: Float32 = 0.0
    theta_y: Float32 = 0.0
    theta_z: Float32 = 0.0


class ToolConfiguration(Message, frozen=True):
    """Tool: transform, mass in kg, centre of mass relative to the interface module."""

    tool_transform: CartesianTransform | None = None
    tool_mass: Float32 = 0.0
    tool_mass_center: Position | None = None


class ControlConfigurationNotification(Message, frozen=True):
    """One control configuration event: what, when, by whom."""

    event: ControlConfigurationEvent | int = ControlConfigurationEvent.UNSPECIFIED_CONTROL_CONFIGURATION_EVENT
    timestamp: Timestamp | None = None
    user_handle: UserProfileHandle | None = None
    connection: Connection | None = None


class CartesianReferenceFrameInfo(Message, frozen=True):
    """Frame used by twist and wrench commands."""

    reference_frame: CartesianReferenceFrame | int = CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_UNSPECIFIED


class TwistLinearSoftLimit(Message, frozen=True):
    """Soft limit of the linear twist of one mode in m/s; 0 reads as unset."""

    control_mode: ControlMode | int = ControlMode.UNSPECIFIED_CONTROL_MODE
    twist_linear_soft_limit: Float32 = 0.0


class TwistAngularSoftLimit(Message, frozen=True):
    """Soft limit of the angular twist of one mode in deg/s; 0 reads as unset."""

    control_mode: ControlMode | int = ControlMode.UNSPECIFIED_CONTROL_MODE
    twist_angular_soft_limit: Float32 = 0.0


class JointSpeedSoftLimits(Message, frozen=True):
    """Soft limits of the joint speeds of one mode in deg/s, one per joint."""

    control_mode: ControlMode | int = ControlMode.UNSPECIFIED_CONTROL_MODE
    joint_speed_soft_limits: tuple[Float32, ...] = ()


class JointAccelerationSoftLimits(Message, frozen=True):
    """Soft limits of the joint accelerations of one mode in deg/s², one per joint."""

    control_mode: ControlMode | int = ControlMode.UNSPECIFIED_CONTROL_MODE
    joint_acceleration_soft_limits: tuple[Float32, ...] = ()


class KinematicLimits(Message, frozen=True):
    """Limits of one mode (or the hard ones): m/s, deg/s, deg/s and deg/s² per joint."""

    control_mode: ControlMode | int = ControlMode.UNSPECIFIED_CONTROL_MODE
    twist_linear: Float32 = 0.0
    twist_angular: Float32 = 0.0
    joint_speed_limits: tuple[Float32, ...] = ()
    joint_acceleration_limits: tuple[Float32, ...] = ()


class KinematicLimitsList(Message, frozen=True):
    """Limits of several modes."""

    kinematic_limits_list: tuple[KinematicLimits, ...] = ()


class DesiredSpeeds(Message, frozen=True):
    """Desired joystick speeds: m/s, deg/s, deg/s per joint."""

    linear: Float32 = 0.0
    angular: Float32 = 0.0
    joint_speed: tuple[Float32, ...] = ()


class LinearTwist(Message, frozen=True):
    """Desired linear joystick speed in m/s."""

    linear: Float32 = 0.0


class AngularTwist(Message, frozen=True):
    """Desired angular joystick speed in deg/s."""

    angular: Float32 = 0.0


class JointSpeeds(Message, frozen=True):
    """Desired joystick joint speeds in deg/s, one per joint."""

    joint_speed: tuple[Float32, ...] = ()


class ControlModeInformation(Message, frozen=True):
    """A control mode."""

    control_mode: ControlMode | int = ControlMode.UNSPECIFIED_CONTROL_MODE


class ControlModeNotification(Message, frozen=True):
    """One control mode event: new mode, when, by whom."""

    control_mode: ControlMode | int = ControlMode.UNSPECIFIED_CONTROL_MODE
    timestamp: Timestamp | None = None
    user_handle: UserProfileHandle | None = None
    connection: Connection | None = None
