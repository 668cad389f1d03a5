"""Layers of what is set on an arm: Kinova messages, application limits, JointSafety, site caps.

Those of files are made in `limits.conversion.layers`.
"""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from limits.errors import LimitsError
from limits.formats.urdf_records import RANGED_TYPES, JointType
from limits.intrinsic.joint_limits import JointLimitVectors
from limits.kinova_limits import from_kinematic_limits
from limits.kinova_models import KinovaModel
from limits.stack.joints import JOINT_QUANTITIES, LOWER, QUANTITIES, TWIST_QUANTITIES, UPPER, ArmJoints, Array
from limits.stack.layer import Layer, LayerKind, Origin
from limits.tesseract.joint_safety import JointSafety, check_joint_safety
from schema.enums import ControlMode
from schema.messages import KinematicLimits

Numbers = Mapping[str, float]
"""Limits of one joint by quantity."""

OF_VECTORS: dict[str, str] = {
    "min_position": LOWER,
    "max_position": UPPER,
    "max_velocity": "velocity",
    "max_acceleration": "acceleration",
    "max_jerk": "jerk",
    "max_effort": "effort",
}
"""The fields of JointLimits and the quantities they hold."""
_MESSAGES = 2_048
"""Of how many different messages the ceilings are remembered: about 1 kB each."""


def joints_of_model(model: KinovaModel) -> ArmJoints:
    """The joints of a model."""
    types = tuple(JointType(joint.type) for joint in model.joints)
    return ArmJoints(tuple(joint.name for joint in model.joints), types)


def kinova_layer(
    joints: ArmJoints,
    message: KinematicLimits,
    origin: Origin,
    origins: Mapping[tuple[str, str | None], Origin] | None = None,
) -> Layer:
    """The hard limits of an arm, or the soft limits of the mode that the message names.

    Raises:
        LimitsError: see `from_kinematic_limits`.
    """
    unspecified = message.control_mode == ControlMode.UNSPECIFIED_CONTROL_MODE
    return Layer(
        LayerKind.HARD if unspecified else LayerKind.SOFT,
        origin,
        _kinova_ceilings(joints, message, origin.source),
        None if unspecified else ControlMode(message.control_mode),
        origins or {},
    )


@lru_cache(maxsize=_MESSAGES)
def _kinova_ceilings(joints: ArmJoints, message: KinematicLimits, file: str) -> Array:
    """The ceilings of a message: arms of one model share them."""
    return joints.ceilings(from_kinematic_limits(message, len(joints.names), file=file)._asdict())


def application_layer(
    joints: ArmJoints,
    limits: JointLimitVectors,
    origin: Origin,
    origins: Mapping[tuple[str, str | None], Origin] | None = None,
) -> Layer:
    """The application limits of an arm, vectors in the order of its joints.

    Raises:
        LimitsError: the vectors are not of these joints, or make no sense.
    """
    named = {OF_VECTORS[field]: vector for field, vector in limits._asdict().items()}
    return Layer(LayerKind.APPLICATION, origin, joints.ceilings(named), None, origins or {})


def safety_layer(
    joints: ArmJoints,
    safeties: Mapping[str, JointSafety],
    origin: Origin,
    origins: Mapping[tuple[str, str | None], Origin] | None = None,
    *,
    kind: LayerKind = LayerKind.JOINT_SAFETY,
) -> Layer:
    """JointSafety records by joint: what the law never lets pass as numbers, the law itself beside them.

    The numbers are the soft range (unless it is 0 to 0 without k_position: none was given), and velocity 0 or effort 0
    where the gain is 0; in soft limits of ROS a gain of 0 limits nothing. Range and k_position count for revolute and
    prismatic joints only.

    Raises:
        LimitsError: a joint the arm does not have, or a record that makes no sense.
    """
    numbers: dict[str, Numbers] = {}
    for name, safety in safeties.items():
        if name not in joints.places:
            raise LimitsError("the arm has no such joint", file=origin.source, joint=name, value=name)
        check_joint_safety(safety, joint=name, file=origin.source)
        ranged = joints.types[joints.places[name]] in RANGED_TYPES
        numbers[name] = _envelope(safety, ranged=ranged, zero_gain_stops=kind is not LayerKind.ROS)
    laws = tuple(safeties.get(name) for name in joints.names)
    return Layer(kind, origin, joints.ceilings(columns(joints, numbers)), None, origins or {}, laws)


def site_layer(joints: ArmJoints, caps: Mapping[str, float | Numbers], origin: Origin) -> Layer:
    """Caps of the plant by quantity: one number for all joints or the twist, or numbers by joint.

    In rad or m and per s, s², s³; effort in N·m or N.

    Raises:
        LimitsError: an unknown quantity or joint, or a number that makes no sense.
    """
    numbers: dict[str, dict[str, float]] = {name: {} for name in joints.names}
    twists: dict[str, ArrayLike] = {}
    for quantity, cap in caps.items():
        if quantity not in QUANTITIES:
            raise LimitsError("is no limited quantity", file=origin.source, key=quantity, value=cap, bound=QUANTITIES)
        if quantity in TWIST_QUANTITIES:
            if isinstance(cap, Mapping):
                raise LimitsError("is one number for the arm", file=origin.source, key=quantity, value=dict(cap))
            twists[quantity] = cap
            continue
        for name, value in (cap if isinstance(cap, Mapping) else dict.fromkeys(joints.names, cap)).items():
            joints.cell(quantity, name)
            numbers[name][quantity] = value
    return Layer(LayerKind.SITE, origin, joints.ceilings(columns(joints, numbers) | twists))


def _envelope(safety: JointSafety, *, ranged: bool, zero_gain_stops: bool) -> dict[str, float]:
    """What the safety law never exceeds, at any state."""
    numbers: dict[str, float] = {}
    if ranged and (safety.k_position or safety.soft_lower_limit or safety.soft_upper_limit):
        numbers |= {LOWER: safety.soft_lower_limit, UPPER: safety.soft_upper_limit}
    if ranged and zero_gain_stops and not safety.k_position:
        numbers["velocity"] = 0.0
    if zero_gain_stops and not safety.k_velocity:
        numbers["effort"] = 0.0
    return numbers


def columns(joints: ArmJoints, numbers: Mapping[str, Numbers]) -> dict[str, ArrayLike]:
    """Arrays by quantity of numbers by joint, in the same units; what is not given is infinite."""
    silent = dict.fromkeys(JOINT_QUANTITIES, np.inf) | {LOWER: -np.inf}
    return {
        quantity: np.array([numbers.get(name, {}).get(quantity, silent[quantity]) for name in joints.names])
        for quantity in JOINT_QUANTITIES
    }
