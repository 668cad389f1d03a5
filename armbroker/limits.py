"""The limits engine for programs; `docs/limits.md` has a worked example, the pages beside it the four systems it knows.

Radians, metres, seconds, newton metres throughout.
"""

from limits.command import CommandChecker, LimiterKind, joint_values
from limits.formats.urdf import read_urdf
from limits.kinova_models import MODELS
from limits.ros2.limiters import joint_soft_limiter
from limits.ros2.parameters import load_joint_limits
from limits.ros2.records import SoftJointLimits
from limits.ros2.store import ParameterStore
from limits.stack.explain import explain
from limits.stack.fold import fold
from limits.stack.layer import Origin, Stack
from limits.stack.sources import joints_of_model, kinova_layer, safety_layer, site_layer
from limits.stopping import check_stopping
from limits.tesseract.joint_safety import JointSafety
from limits.tesseract.law import clamp_effort, safety_bounds, safety_joint_from_urdf, safety_parameters
from limits.trajectory import Trajectory, check_trajectory
from schema.enums import ControlMode

__all__ = [
    "MODELS",
    "CommandChecker",
    "ControlMode",
    "JointSafety",
    "LimiterKind",
    "Origin",
    "ParameterStore",
    "SoftJointLimits",
    "Stack",
    "Trajectory",
    "check_stopping",
    "check_trajectory",
    "clamp_effort",
    "explain",
    "fold",
    "joint_soft_limiter",
    "joint_values",
    "joints_of_model",
    "kinova_layer",
    "load_joint_limits",
    "read_urdf",
    "safety_bounds",
    "safety_joint_from_urdf",
    "safety_layer",
    "safety_parameters",
    "site_layer",
]
