"""The file formats by name."""

import enum


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
