"""Hard and soft limits that a URDF gives, as ros2_control takes them from it."""

from msgspec.structs import replace

from limits.formats.urdf_records import RANGED_TYPES, JointType, UrdfJoint, UrdfRobot
from limits.ros2.records import JointLimits, SoftJointLimits


def find_joint(robot: UrdfRobot, name: str) -> UrdfJoint | None:
    """Return the joint of a name; None where there is none."""
    return next((joint for joint in robot.joints if joint.name == name), None)


def get_urdf_limits(joint: UrdfJoint | None, limits: JointLimits) -> tuple[bool, JointLimits]:
    """Return whether the URDF gives hard limits of this joint, and `limits` with them.

    Position limits of a revolute or prismatic joint only; a continuous joint gets wraparound; the magnitudes of
    velocity and effort always. Acceleration limits are switched off, deceleration and jerk stay as they are.
    """
    if joint is None or joint.limit is None:
        return False, limits
    ranged = joint.type in RANGED_TYPES
    changes: dict[str, bool | float] = {
        "has_position_limits": ranged,
        "has_velocity_limits": True,
        "max_velocity": abs(joint.limit.velocity or 0.0),
        "has_acceleration_limits": False,
        "has_effort_limits": True,
        "max_effort": abs(joint.limit.effort or 0.0),
    }
    if ranged:
        changes["min_position"], changes["max_position"] = joint.limit.position_range()
    if joint.type is JointType.CONTINUOUS:
        changes["angle_wraparound"] = True
    return True, replace(limits, **changes)


def get_urdf_soft_limits(joint: UrdfJoint | None, limits: SoftJointLimits) -> tuple[bool, SoftJointLimits]:
    """Return whether the URDF gives soft limits of this joint, and them; what it leaves out is 0."""
    if joint is None or joint.safety is None:
        return False, limits
    safety = joint.safety
    return True, SoftJointLimits(
        min_position=safety.soft_lower_limit or 0.0,
        max_position=safety.soft_upper_limit or 0.0,
        k_position=safety.k_position or 0.0,
        k_velocity=safety.k_velocity or 0.0,
    )
