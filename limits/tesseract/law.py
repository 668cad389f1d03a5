"""The safety law of the PR2: velocity and effort bounds from JointSafety, for many joints and samples at once.

The law that runs on arms; the formula published beside JointSafety is another one (`published_bounds`) and wrong.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from limits.errors import LimitsError
from limits.formats.urdf_records import RANGED_TYPES, UrdfJoint
from limits.tesseract.joint_safety import JointSafety, check_joint_safety, joint_safety_from_urdf

Array = NDArray[np.float64]

LARGEST = float(np.finfo(np.float64).max)
"""The bound of a joint whose bounds are off: the largest finite double."""


class SafetyJoint(msgspec.Struct, frozen=True, kw_only=True):
    """What the law needs of a joint: its limits (rad/s or m/s, N·m or N; None = none) and its safety controller.

    `positioned` says that the position part applies: the joint is revolute or prismatic, and calibrated.
    """

    name: str | None = None
    velocity: float | None = None
    effort: float | None = None
    safety: JointSafety | None = None
    positioned: bool = True


def safety_joint_from_urdf(joint: UrdfJoint, *, calibrated: bool = True) -> SafetyJoint:
    """What the law needs of a joint of a URDF."""
    limit, safety = joint.limit, joint.safety
    return SafetyJoint(
        name=joint.name,
        velocity=None if limit is None else limit.velocity,
        effort=None if limit is None else limit.effort,
        safety=None if safety is None else joint_safety_from_urdf(safety),
        positioned=calibrated and joint.type in RANGED_TYPES,
    )


class SafetyParameters(NamedTuple):
    """The joints' numbers as arrays of shape (n,): what `safety_bounds` is driven by."""

    lower: Array
    upper: Array
    k_position: Array
    k_velocity: Array
    velocity: Array
    effort: Array
    positioned: NDArray[np.bool_]
    guarded: NDArray[np.bool_]
    """True where there is a safety controller."""
    limited: NDArray[np.bool_]
    """True where there is a velocity limit and an effort limit."""


class SafetyBounds(NamedTuple):
    """Bounds of velocity (rad/s, m/s) and effort (N·m, N), arrays of the shape of the state."""

    velocity_min: Array
    velocity_max: Array
    effort_min: Array
    effort_max: Array


def safety_parameters(joints: Sequence[SafetyJoint], *, compat: bool = False) -> SafetyParameters:
    """Gather the numbers of joints; unless `compat`, each record is checked first.

    Raises:
        LimitsError: a safety controller or a limit that makes no sense (`check_joint_safety`; a limit below 0 or NaN).
    """
    if not compat:
        for joint in joints:
            _check(joint)
    safeties = [joint.safety or JointSafety() for joint in joints]

    def column(values: Sequence[float]) -> Array:
        return np.array(values, dtype=np.float64)

    return SafetyParameters(
        lower=column([safety.soft_lower_limit for safety in safeties]),
        upper=column([safety.soft_upper_limit for safety in safeties]),
        k_position=column([safety.k_position for safety in safeties]),
        k_velocity=column([safety.k_velocity for safety in safeties]),
        velocity=column([LARGEST if joint.velocity is None else joint.velocity for joint in joints]),
        effort=column([LARGEST if joint.effort is None else joint.effort for joint in joints]),
        positioned=np.array([joint.positioned for joint in joints], dtype=np.bool_),
        guarded=np.array([joint.safety is not None for joint in joints], dtype=np.bool_),
        limited=np.array([None not in (joint.velocity, joint.effort) for joint in joints], dtype=np.bool_),
    )


def _check(joint: SafetyJoint) -> None:
    """Limits and safety controller of a joint make sense."""
    for key, value in (("velocity", joint.velocity), ("effort", joint.effort)):
        if value is not None and not value >= 0:
            raise LimitsError("is negative or no number", joint=joint.name, key=key, value=value, bound=0.0)
    if joint.safety is not None:
        check_joint_safety(joint.safety, joint=joint.name)


def safety_bounds(
    parameters: SafetyParameters, position: ArrayLike, velocity: ArrayLike, *, compat: bool = False
) -> SafetyBounds:
    """Bounds of velocity and effort at a state: position and velocity of shape (..., n), rad or m and per second.

    v_max = clamp(-k_position (position - upper), ±v), v_min likewise with lower; e_max = clamp(-k_velocity
    (velocity - v_max), ±e), e_min likewise with v_min. By default limits and safety controller bind even without
    each other, and a state that is not finite allows nothing: velocity 0 where the position counts and is unknown,
    effort 0 where the velocity counts and is unknown. With `compat`, as the PR2: nothing is bound without both limits
    and a safety controller, and an unknown state switches that part of the law off.

    Raises:
        LimitsError: position or velocity do not have one value a joint.
    """
    n = parameters.velocity.size
    x, w = _state("position", position, n), _state("velocity", velocity, n)
    with np.errstate(invalid="ignore", over="ignore"):
        return _compat_bounds(parameters, x, w) if compat else _strict_bounds(parameters, x, w)


def clamp_effort(bounds: SafetyBounds, command: ArrayLike, *, compat: bool = False) -> Array:
    """Clamp effort commands, shape (..., n), N·m or N, into the bounds; NaN counts as 0, with `compat` it passes.

    Raises:
        LimitsError: the commands do not have one value a joint.
    """
    effort = _state("effort", command, bounds.effort_min.shape[-1])
    if not compat:
        return np.clip(np.where(np.isnan(effort), 0.0, effort), bounds.effort_min, bounds.effort_max)
    return _lesser(_greater(effort, bounds.effort_min), bounds.effort_max)


def published_bounds(parameters: SafetyParameters, position: ArrayLike, velocity: ArrayLike) -> SafetyBounds:
    """The formula as it was published with JointSafety, for comparison only: it drives a joint into its stop.

    Positions in rad or m, velocities per s.

    Raises:
        LimitsError: position or velocity do not have one value a joint.
    """
    p, n = parameters, parameters.velocity.size
    x, w = _state("position", position, n), _state("velocity", velocity, n)
    with np.errstate(all="ignore"):
        zone = p.velocity / p.k_position
        outside = (x < p.lower + zone) | (x > p.upper - zone)
        v_min = np.where(outside, -p.velocity + p.k_position * (x - p.lower), -p.velocity)
        v_max = np.where(outside, p.velocity + p.k_position * (x - p.upper), p.velocity)
        zone = p.effort / p.k_velocity
        outside = (w < v_min + zone) | (w > v_max - zone)
        e_min = np.where(outside, -p.effort + p.k_velocity * (w - v_min), -p.effort)
        e_max = np.where(outside, p.effort + p.k_velocity * (w - v_max), p.effort)
    return SafetyBounds(v_min, v_max, e_min, e_max)


def _strict_bounds(p: SafetyParameters, x: Array, w: Array) -> SafetyBounds:
    """The law with limits that always bind and states that may be unknown."""
    zoned = p.positioned & p.guarded
    known = np.isfinite(x)
    v_min = np.where(zoned, np.where(known, _pull(p.k_position, x - p.lower, p.velocity), 0.0), -p.velocity)
    v_max = np.where(zoned, np.where(known, _pull(p.k_position, x - p.upper, p.velocity), 0.0), p.velocity)
    known = np.isfinite(w)
    e_min = np.where(p.guarded, np.where(known, _pull(p.k_velocity, w - v_min, p.effort), 0.0), -p.effort)
    e_max = np.where(p.guarded, np.where(known, _pull(p.k_velocity, w - v_max, p.effort), 0.0), p.effort)
    return SafetyBounds(v_min, v_max, e_min, e_max)


def _compat_bounds(p: SafetyParameters, x: Array, w: Array) -> SafetyBounds:
    """The law in the arithmetic of the original, NaN and negative limits included."""
    v_min = _lesser(p.velocity, _greater(-p.velocity, -p.k_position * (x - p.lower)))
    v_max = _greater(-p.velocity, _lesser(p.velocity, -p.k_position * (x - p.upper)))
    v_min = np.where(p.positioned, v_min, -p.velocity)
    v_max = np.where(p.positioned, v_max, p.velocity)
    e_min = _lesser(p.effort, _greater(-p.effort, -p.k_velocity * (w - v_min)))
    e_max = _greater(-p.effort, _lesser(p.effort, -p.k_velocity * (w - v_max)))
    bounds = (v_min, v_max, e_min, e_max)
    signs = (-LARGEST, LARGEST, -LARGEST, LARGEST)
    active = p.guarded & p.limited
    return SafetyBounds(*(np.where(active, bound, open_end) for bound, open_end in zip(bounds, signs, strict=True)))


def _pull(gain: Array, distance: Array, limit: Array) -> Array:
    """-gain * distance within ±limit; a gain of 0 gives 0 whatever the distance."""
    return np.clip(np.where(gain == 0.0, 0.0, -gain * distance), -limit, limit)


def _lesser(a: Array, b: Array) -> Array:
    """The minimum as C++ defines it: `a` unless `b` is less, so a NaN in `b` is ignored."""
    return np.where(b < a, b, a)


def _greater(a: Array, b: Array) -> Array:
    """The maximum as C++ defines it: `a` unless it is less than `b`."""
    return np.where(a < b, b, a)


def _state(key: str, values: ArrayLike, size: int) -> Array:
    """Values of shape (..., size)."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape[-1:] != (size,):
        raise LimitsError("needs one value a joint", key=key, value=array.shape, bound=(size,))
    return array
