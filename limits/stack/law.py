"""Bounds that depend on the state: the safety law of every JointSafety in the stack, inside the effective limits."""

import numpy as np
from numpy.typing import ArrayLike

from limits.formats.urdf_records import RANGED_TYPES
from limits.stack.fold import Effective
from limits.stack.joints import ArmJoints, Bounds
from limits.tesseract.joint_safety import JointSafety
from limits.tesseract.law import LARGEST, SafetyBounds, SafetyJoint, SafetyParameters, safety_bounds, safety_parameters


def state_bounds(effective: Effective, mode: int | None, position: ArrayLike, velocity: ArrayLike) -> SafetyBounds:
    """Bounds of velocity and effort at a state, position and velocity of shape (..., n), rad or m and per second.

    Without JointSafety they are the effective limits of the mode, with an unlimited one as the largest finite double; a
    state that is not finite allows a joint with JointSafety no motion.

    Raises:
        LimitsError: position or velocity do not have one value a joint.
    """
    bounds = effective.at(mode)
    records = [layer.safeties for layer in effective.layers if layer.safeties] or [
        (None,) * len(effective.joints.names)
    ]
    laws = [_parameters(effective.joints, bounds, safeties) for safeties in records]
    found = [safety_bounds(law, position, velocity) for law in laws]
    result = found[0]
    for other in found[1:]:
        result = SafetyBounds(
            np.maximum(result.velocity_min, other.velocity_min),
            np.minimum(result.velocity_max, other.velocity_max),
            np.maximum(result.effort_min, other.effort_min),
            np.minimum(result.effort_max, other.effort_max),
        )
    return result


def _parameters(joints: ArmJoints, bounds: Bounds, safeties: tuple[JointSafety | None, ...]) -> SafetyParameters:
    """What the law needs: the joints with their effective limits and one record each, or none."""
    speeds, efforts = np.minimum(bounds.velocity, LARGEST), np.minimum(bounds.effort, LARGEST)
    return safety_parameters(
        [
            SafetyJoint(
                name=name, velocity=float(speed), effort=float(effort), safety=safety, positioned=kind in RANGED_TYPES
            )
            for name, kind, speed, effort, safety in zip(
                joints.names, joints.types, speeds, efforts, safeties, strict=True
            )
        ]
    )
