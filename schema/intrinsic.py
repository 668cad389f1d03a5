"""Records of `intrinsic_proto`: kinematics, its mathematics and its joint limits.

Frozen; field names, order and meaning are those of the messages (nested ones are named after their parent). `None` is
an absent field. Units: radians or metres and their derivatives by seconds, newton metres or newtons, kilograms.
What absent and zero mean is told in `docs/limits_intrinsic.md`.
"""

import enum

import msgspec

from schema.fields import Double, Int32, UInt32
from schema.messages import Message


class JointType(enum.IntEnum):
    """Kind of a joint; an absent type is REVOLUTE."""

    REVOLUTE = 0
    PRISMATIC = 1
    FIXED = 2


class DynamicLimitsCheckMode(enum.IntEnum):
    """What a joint position command is checked for besides position and velocity."""

    DYNAMIC_LIMITS_CHECK_MODE_TYPE_UNSPECIFIED = 0
    DYNAMIC_LIMITS_CHECK_MODE_CHECK_JOINT_ACCELERATION = 1
    DYNAMIC_LIMITS_CHECK_MODE_CHECK_NONE = 2


class Point(Message, frozen=True):
    """A position in metres, or a direction."""

    x: Double = 0.0
    y: Double = 0.0
    z: Double = 0.0


class Vector3(Message, frozen=True):
    """A free vector; units as its user says."""

    x: Double = 0.0
    y: Double = 0.0
    z: Double = 0.0


class Quaternion(Message, frozen=True):
    """A rotation; all zero is no rotation, identity is w = 1."""

    x: Double = 0.0
    y: Double = 0.0
    z: Double = 0.0
    w: Double = 0.0


class Pose(Message, frozen=True):
    """Position and rotation."""

    position: Point | None = None
    orientation: Quaternion | None = None


class Matrixd(Message, frozen=True):
    """A matrix of rows x cols values, column after column."""

    rows: Int32 = 0
    cols: Int32 = 0
    values: tuple[Double, ...] = ()


class Affine3d(Message, frozen=True):
    """A 3x3 linear part and a translation in metres."""

    linear: Matrixd | None = None
    translation: Point | None = None


class Element(Message, frozen=True):
    """A node of the kinematic tree: id in the skeleton, pose in its parent's frame, ids of parent and children."""

    id: UInt32 = 0
    name: str = ""
    parent_t_this: Pose | None = None
    parent: UInt32 = 0
    children: tuple[UInt32, ...] = ()


class CoordinateFrame(Message, frozen=True):
    """A named frame."""

    element: Element | None = None


class LimitPair(Message, frozen=True):
    """Bounds of a position in rad or m."""

    lower: Double = 0.0
    upper: Double = 0.0


class Limits(Message, frozen=True):
    """Limits of one joint; the four numbers bound the magnitude."""

    position: LimitPair | None = None
    velocity: Double = 0.0
    acceleration: Double = 0.0
    jerk: Double = 0.0
    effort: Double = 0.0


class JointDynamics(Message, frozen=True):
    """`Joint.Parameters.Dynamics`: static friction in N m or N, damping in N m s/rad or N s/m."""

    static_friction: Double = 0.0
    damping: Double = 0.0


class JointParameters(Message, frozen=True):
    """`Joint.Parameters`: kind, axis, hard and soft limits, dynamics, default position."""

    type: JointType | int = JointType.REVOLUTE
    axis: Point | None = None
    system_limits: Limits | None = None
    soft_limits: Limits | None = None
    dynamics: JointDynamics | None = None
    default_configuration: Double = 0.0


class LinearDependency(Message, frozen=True):
    """`Joint.LinearDependency`: weight of the joint's own input and of leading joints by element id."""

    alpha_self: Double = 0.0
    alpha_leading: dict[UInt32, Double] = msgspec.field(default_factory=dict)


class Joint(Message, frozen=True):
    """A joint of the tree."""

    element: Element | None = None
    parameters: JointParameters | None = None
    linear_dependency: LinearDependency | None = None


class LinkParameters(Message, frozen=True):
    """`Link.Parameters`: mass in kg, centre of gravity, 3x3 inertia there in kg m²."""

    mass: Double = 0.0
    center_of_gravity: Pose | None = None
    inertia: Matrixd | None = None


class Link(Message, frozen=True):
    """A rigid body of the tree."""

    element: Element | None = None
    parameters: LinkParameters | None = None


class Skeleton(Message, frozen=True):
    """A kinematic tree and the order of its degrees of freedom."""

    name: str = ""
    anchor_offset: Pose | None = None
    links: tuple[Link, ...] = ()
    joints: tuple[Joint, ...] = ()
    coordinate_frames: tuple[CoordinateFrame, ...] = ()
    element_id_to_dof_index: dict[UInt32, UInt32] = msgspec.field(default_factory=dict)


class RepeatedDouble(Message, frozen=True):
    """A list that can be absent."""

    values: tuple[Double, ...] = ()


class JointLimits(Message, frozen=True):
    """Limits of all joints in DoF order; an absent max_* is unlimited."""

    min_position: RepeatedDouble | None = None
    max_position: RepeatedDouble | None = None
    max_velocity: RepeatedDouble | None = None
    max_acceleration: RepeatedDouble | None = None
    max_jerk: RepeatedDouble | None = None
    max_effort: RepeatedDouble | None = None


class JointLimitsUpdate(Message, frozen=True):
    """A change of JointLimits: an absent or empty list keeps the old one, any other replaces the whole of it."""

    min_position: RepeatedDouble | None = None
    max_position: RepeatedDouble | None = None
    max_velocity: RepeatedDouble | None = None
    max_acceleration: RepeatedDouble | None = None
    max_jerk: RepeatedDouble | None = None
    max_effort: RepeatedDouble | None = None


class JointLimitUpdate(Message, frozen=True):
    """A change of one joint's limits: an absent number keeps the old one, zero is a zero."""

    min_position: Double | None = None
    max_position: Double | None = None
    max_velocity: Double | None = None
    max_acceleration: Double | None = None
    max_jerk: Double | None = None
    max_effort: Double | None = None


class RotationalLimits(Message, frozen=True):
    """Rotation angles in rad, within ±pi, about a reference rotation."""

    min_rotation_angle: Vector3 | None = None
    max_rotation_angle: Vector3 | None = None
    reference_quaternion_for_min_max: Quaternion | None = None
