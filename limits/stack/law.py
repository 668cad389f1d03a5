"""Bounds that depend on the state: the safety law of every JointSafety in the stack, inside the effective limits."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from limits.formats.urdf_records import RANGED_TYPES
from limits.stack.fold import Effective
from limits.stack.joints import ArmJoints
from limits.stack.layer import Layer, LayerKind
from limits.tesseract.law import LARGEST, SafetyBounds, SafetyJoint, SafetyParameters, safety_bounds, safety_parameters


class PositionLaw(NamedTuple):
    """The part of a safety law that bounds the velocity of one joint by its position: -k (position - end)."""

    joint: int
    lower: float
    upper: float
    k_position: float


def position_laws(effective: Effective) -> tuple[PositionLaw, ...]:
    """The laws of all JointSafety records with a k_position, of ranged joints; without one, velocity 0 is effective."""
    return tuple(
        PositionLaw(at, safety.soft_lower_limit, safety.soft_upper_limit, safety.k_position)
        for layer in effective.layers
        for at, (kind, safety) in enumerate(zip(effective.joints.types, layer.safeties, strict=False))
        if safety is not None and kind in RANGED_TYPES and safety.k_position > 0.0
    )


def state_bounds(effective: Effective, mode: int | None, position: ArrayLike, velocity: ArrayLike) -> SafetyBounds:
    """Bounds of velocity and effort at a state, position and velocity of shape (..., n), rad or m and per second.

    Without JointSafety they are the effective limits of the mode, with an unlimited one as the largest finite double; a
    state that is not finite allows a joint with JointSafety no motion.

    Raises:
        LimitsError: position or velocity do not have one value a joint.
    """
    bounds = effective.at(mode)
    speeds, efforts = np.minimum(bounds.velocity, LARGEST), np.minimum(bounds.effort, LARGEST)
    plain = safety_parameters(
        [SafetyJoint(velocity=float(v), effort=float(e)) for v, e in zip(speeds, efforts, strict=True)]
    )
    result = safety_bounds(plain, position, velocity)
    for layer in effective.layers:
        if layer.safeties:
            law = safety_bounds(_parameters(effective.joints, plain, layer), position, velocity)
            result = _tightest(result, _without_zero_gains(law, plain, layer))
    return result


def _tightest(a: SafetyBounds, b: SafetyBounds) -> SafetyBounds:
    return SafetyBounds(
        np.maximum(a.velocity_min, b.velocity_min),
        np.minimum(a.velocity_max, b.velocity_max),
        np.maximum(a.effort_min, b.effort_min),
        np.minimum(a.effort_max, b.effort_max),
    )


def _without_zero_gains(bounds: SafetyBounds, plain: SafetyParameters, layer: Layer) -> SafetyBounds:
    """The bounds of a layer; soft limits of ROS do not limit the effort where k_velocity is 0."""
    if layer.kind is not LayerKind.ROS:
        return bounds
    off = np.array([safety is not None and safety.k_velocity == 0.0 for safety in layer.safeties])
    return bounds._replace(
        effort_min=np.where(off, -plain.effort, bounds.effort_min),
        effort_max=np.where(off, plain.effort, bounds.effort_max),
    )


def _parameters(joints: ArmJoints, plain: SafetyParameters, layer: Layer) -> SafetyParameters:
    """What the law needs: the joints with their effective limits and the records of one layer."""
    of_ros = layer.kind is LayerKind.ROS
    records = []
    for at, (kind, safety) in enumerate(zip(joints.types, layer.safeties, strict=True)):
        inert = of_ros and safety is not None and safety.k_position == 0.0
        records.append(
            SafetyJoint(
                name=joints.names[at],
                velocity=float(plain.velocity[at]),
                effort=float(plain.effort[at]),
                safety=safety,
                positioned=kind in RANGED_TYPES and not inert,
            )
        )
    return safety_parameters(records)
