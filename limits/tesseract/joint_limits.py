"""JointLimits of tesseract: six numbers a joint, with the defaults its URDF reader fills in."""

import msgspec

from limits.formats.urdf_records import JointType, UrdfJoint, UrdfLimit
from limits.tesseract.joint_safety import almost_equal

DEFAULT_JERK = 1000.0
"""Jerk limit of a `<limit>` that gives none, rad/s³ or m/s³."""
ACCELERATION_PER_VELOCITY = 0.5
"""Acceleration limit of a `<limit>` that gives none, as a factor of its velocity, 1/s."""


class JointLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a joint: position in rad or m, effort in N·m or N, the derivatives per s, s² and s³."""

    lower: float = 0.0
    upper: float = 0.0
    effort: float = 0.0
    velocity: float = 0.0
    acceleration: float = 0.0
    jerk: float = 0.0


def joint_limits_from_urdf(limit: UrdfLimit) -> JointLimits:
    """The limits of a `<limit>` element with tesseract's defaults for what it leaves out."""
    given = {key: value for key, value in msgspec.structs.asdict(limit).items() if value is not None}
    velocity = given.get("velocity", 0.0)
    defaults = {"acceleration": ACCELERATION_PER_VELOCITY * velocity, "jerk": DEFAULT_JERK}
    values = defaults | given
    return JointLimits(**{key: values.get(key, 0.0) for key in JointLimits.__struct_fields__})


def joint_limits_of(joint: UrdfJoint) -> JointLimits | None:
    """The limits tesseract gives a joint; a continuous joint without a `<limit>` gets zeros, and cannot move."""
    if joint.limit is not None:
        return joint_limits_from_urdf(joint.limit)
    return JointLimits() if joint.type is JointType.CONTINUOUS else None


def joint_limits_equal(a: JointLimits, b: JointLimits) -> bool:
    """Compare two records as the original's `==` does: all six numbers `almost_equal`."""
    return bool(almost_equal(msgspec.structs.astuple(a), msgspec.structs.astuple(b)).all())
