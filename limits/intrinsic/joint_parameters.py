"""Joint.Parameters: hard (system) and soft limits of single joints, and those of a skeleton as vectors."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from limits.errors import LimitsError
from limits.intrinsic.joint_limits import FIELDS, JointLimitVectors, check_joint_limits, check_within
from limits.intrinsic.skeleton import joint_label
from schema.intrinsic import Joint, JointParameters, JointType, LimitPair, Limits

SCALARS = ("velocity", "acceleration", "jerk", "effort")
_FREE = LimitPair(lower=-math.inf, upper=math.inf)


class SkeletonLimits(NamedTuple):
    """Limits of the joints in DoF order."""

    system: JointLimitVectors
    soft: JointLimitVectors
    warnings: tuple[str, ...]
    """What is allowed and odd."""


def _row(limits: Limits | None, otherwise: tuple[float, ...]) -> tuple[float, ...]:
    if limits is None:
        return otherwise
    pair = limits.position or LimitPair(lower=otherwise[0], upper=otherwise[1])
    return (pair.lower, pair.upper, *(getattr(limits, name) for name in SCALARS))


def _warnings(joint: Joint, parameters: JointParameters) -> list[str]:
    name = joint_label(joint)
    found = []
    for key, limits in (("system_limits", parameters.system_limits), ("soft_limits", parameters.soft_limits)):
        zeros = [] if limits is None else [scalar for scalar in SCALARS if getattr(limits, scalar) == 0]
        if zeros:
            found.append(f"joint {name}: {key} {', '.join(zeros)} is absent or 0 and taken as 0")
    return found


def joint_limits_of(joints: Sequence[Joint]) -> SkeletonLimits:
    """Limits of joints given in DoF order (none of them FIXED).

    Absent system limits, or their absent position, are unlimited; absent soft limits, or their absent position, are
    those of the system. A scalar that is absent in limits that are present is 0: the joint is frozen, and a warning
    says so.

    Raises:
        LimitsError: a joint is FIXED, limits are not valid, soft reaches beyond system, or a default is not finite.
    """
    free = (_FREE.lower, _FREE.upper, *(math.inf for _ in SCALARS))
    system, soft, warnings = [], [], []
    names = [joint_label(joint) for joint in joints]
    for name, joint in zip(names, joints, strict=True):
        parameters = joint.parameters or JointParameters()
        if parameters.type == JointType.FIXED:
            raise LimitsError("a FIXED joint has no limits", joint=name, key="type")
        if not math.isfinite(parameters.default_configuration):
            value = parameters.default_configuration
            raise LimitsError("not finite", joint=name, key="default_configuration", value=value)
        system.append(_row(parameters.system_limits, free))
        soft.append(_row(parameters.soft_limits, system[-1]))
        warnings += _warnings(joint, parameters)
    hard, inner = _vectors(system), _vectors(soft)
    check_joint_limits(hard, names=names)
    check_within(inner, hard, names=names)
    return SkeletonLimits(hard, inner, tuple(warnings))


def _vectors(rows: list[tuple[float, ...]]) -> JointLimitVectors:
    columns = np.array(rows, dtype=np.float64).reshape(len(rows), len(FIELDS))
    return JointLimitVectors(*(columns[:, index] for index in range(len(FIELDS))))


def ignored_of_fixed(joints: Sequence[Joint]) -> tuple[str, ...]:
    """A warning for each FIXED joint that has limits or a default position: they mean nothing."""
    found = []
    for joint in joints:
        parameters = joint.parameters or JointParameters()
        if parameters.type == JointType.FIXED and (
            parameters.system_limits or parameters.soft_limits or parameters.default_configuration
        ):
            found.append(f"joint {joint_label(joint)}: limits and default position of a FIXED joint are ignored")
    return tuple(found)
