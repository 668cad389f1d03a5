"""The file formats by name."""

import enum

from limits.formats.urdf_records import JointType


class Format(enum.StrEnum):
    """The file formats."""

    URDF = "urdf"
    ROS = "ros"
    """Parameters of a ROS node, YAML."""
    JOINT_LIMITS = "joint_limits"
    """intrinsic_proto.JointLimits, binary or JSON."""
    SKELETON = "skeleton"
    """intrinsic_proto.Skeleton, binary or JSON."""
    KINOVA = "kinova"
    """Kinova.Api.ControlConfig.KinematicLimits, JSON, in degrees."""


NAMELESS = frozenset({Format.JOINT_LIMITS, Format.KINOVA})
"""Formats whose joints have no names."""
SKELETON_TYPES = frozenset({JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC})
"""The types of joint that a Skeleton can hold."""
ANY_NODE = "/**"
"""The name under which ROS parameters are written, which every node reads."""
