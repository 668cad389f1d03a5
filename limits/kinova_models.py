"""What is publicly known of three Kinova models: joints, hard limits, soft defaults per control mode, payload, gravity.

Figures for simulation and for an arm that does not tell its own; an arm's firmware is the authority. Units: deg/s,
deg/s², m/s, kg, m/s².
"""

import msgspec

from schema.enums import ControlMode
from schema.items import SOFT_LIMIT_MODES
from schema.messages import GravityVector, KinematicLimits


class ModelJoint(msgspec.Struct, frozen=True):
    """One joint of a model: name and type (`revolute`, `continuous`)."""

    name: str
    type: str


class KinovaModel(msgspec.Struct, frozen=True):
    """One model.

    `hard` has no control mode: one set for the arm. `soft_defaults` has the five modes that take soft limits; there a
    twist of 0 and an empty list mean that the mode takes no such limit. `notes` say how sure the figures are.
    """

    name: str
    joints: tuple[ModelJoint, ...]
    hard: KinematicLimits
    soft_defaults: dict[ControlMode, KinematicLimits]
    payload_max: float
    gravity: GravityVector
    notes: tuple[str, ...]


def _joints(count: int, *continuous: int) -> tuple[ModelJoint, ...]:
    """Joints numbered from 1."""
    return tuple(
        ModelJoint(f"joint_{number}", "continuous" if number in continuous else "revolute")
        for number in range(1, count + 1)
    )


def _soft_defaults(
    hard: KinematicLimits,
    joystick: tuple[tuple[float, ...], tuple[float, ...]],
    trajectory: tuple[tuple[float, ...], tuple[float, ...]],
) -> dict[ControlMode, KinematicLimits]:
    """Speeds and accelerations of the two angular modes as given; the Cartesian modes start at the hard limits."""
    angular = {ControlMode.ANGULAR_JOYSTICK: joystick, ControlMode.ANGULAR_TRAJECTORY: trajectory}
    defaults = {
        mode: KinematicLimits(mode, joint_speed_limits=speeds, joint_acceleration_limits=accelerations)
        for mode, (speeds, accelerations) in angular.items()
    }
    for mode in SOFT_LIMIT_MODES["twist_linear_soft_limit"]:
        defaults[mode] = KinematicLimits(mode, hard.twist_linear, hard.twist_angular, hard.joint_speed_limits)
    return defaults


_GRAVITY = GravityVector(0.0, 0.0, -9.81)

_GEN3_NOTES = (
    "hard limits: the maker's figures of firmware 2.2 and later, confirmed on arms; older firmware differs",
    "twist_angular: 100 deg/s, which an arm reads back as 99.9983",
    "soft limits of ANGULAR_TRAJECTORY: inferred from the MoveIt files, not read from an arm",
    "soft limits of the Cartesian modes: no public default, the hard limits stand here",
    "payload: 4 kg at mid-range without gripper, 1.1 kg at full reach",
)

_GEN3_7DOF_HARD = KinematicLimits(
    twist_linear=0.5,
    twist_angular=100.0,
    joint_speed_limits=(80.0, 80.0, 80.0, 80.0, 70.0, 70.0, 70.0),
    joint_acceleration_limits=(297.94, 297.94, 297.94, 297.94, 572.95, 572.95, 572.95),
)
_GEN3_7DOF_ACCELERATION = (57.3, 57.3, 57.3, 57.3, 573.0, 573.0, 573.0)

_GEN3_7DOF = KinovaModel(
    name="gen3_7dof",
    joints=_joints(7, 1, 3, 5, 7),
    hard=_GEN3_7DOF_HARD,
    soft_defaults=_soft_defaults(
        _GEN3_7DOF_HARD,
        joystick=((50.0,) * 7, _GEN3_7DOF_ACCELERATION),
        trajectory=((25.0,) * 7, _GEN3_7DOF_ACCELERATION),
    ),
    payload_max=4.0,
    gravity=_GRAVITY,
    notes=("soft limits of ANGULAR_JOYSTICK: read on one arm, equal to the maker's ROS files", *_GEN3_NOTES),
)

_GEN3_6DOF_HARD = KinematicLimits(
    twist_linear=0.5,
    twist_angular=100.0,
    joint_speed_limits=(80.0, 80.0, 80.0, 70.0, 70.0, 70.0),
    joint_acceleration_limits=(297.94, 297.94, 297.94, 572.95, 572.95, 572.95),
)
_GEN3_6DOF_ACCELERATION = (57.3, 57.3, 57.3, 573.0, 573.0, 573.0)

_GEN3_6DOF = KinovaModel(
    name="gen3_6dof",
    joints=_joints(6, 1, 4, 6),
    hard=_GEN3_6DOF_HARD,
    soft_defaults=_soft_defaults(
        _GEN3_6DOF_HARD,
        joystick=((50.0,) * 6, _GEN3_6DOF_ACCELERATION),
        trajectory=((25.0,) * 6, _GEN3_6DOF_ACCELERATION),
    ),
    payload_max=4.0,
    gravity=_GRAVITY,
    notes=(
        "soft limits of ANGULAR_JOYSTICK: from the maker's ROS files",
        *_GEN3_NOTES,
        "payload: the figure of the arm with 7 joints; the guide of this one was not seen",
    ),
)

_GEN3_LITE_HARD = KinematicLimits(
    twist_linear=0.3,
    twist_angular=48.7,
    joint_speed_limits=(91.67, 91.67, 91.67, 91.67, 91.67, 183.35),
    joint_acceleration_limits=(57.3, 28.65, 22.92, 57.3, 572.96, 572.96),
)

_GEN3_LITE = KinovaModel(
    name="gen3_lite",
    joints=_joints(6),
    hard=_GEN3_LITE_HARD,
    soft_defaults=_soft_defaults(
        _GEN3_LITE_HARD,
        joystick=((28.65,) * 6, _GEN3_LITE_HARD.joint_acceleration_limits),
        trajectory=((28.65, 28.65, 28.65, 45.84, 45.84, 91.67), _GEN3_LITE_HARD.joint_acceleration_limits),
    ),
    payload_max=0.5,
    gravity=_GRAVITY,
    notes=(
        "hard joint speeds and accelerations: from the maker's ROS files, not read from an arm",
        "hard twist: not public, the figures of the maker's ROS simulation (0.3 m/s, 48.7 deg/s) stand here",
        "soft joint speeds of ANGULAR_JOYSTICK: from the maker's ROS simulation",
        "soft joint accelerations of ANGULAR_JOYSTICK: no public default, the hard limits stand here",
        "soft limits of ANGULAR_TRAJECTORY: inferred from the MoveIt files, not read from an arm",
        "soft limits of the Cartesian modes: no public default, the hard limits stand here",
        "payload: widely quoted, no source found",
    ),
)

MODELS: dict[str, KinovaModel] = {model.name: model for model in (_GEN3_7DOF, _GEN3_6DOF, _GEN3_LITE)}
"""The models by name."""
