"""Linear dependencies between joints: the matrix that turns inputs into the coordinates of the joints.

`q_derived = C q`. A joint's limits bound its derived coordinate; a joint without dependency is its own input.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from limits.errors import LimitsError
from limits.intrinsic.geometry import Array
from schema.intrinsic import Element, Joint, JointParameters, JointType, LinearDependency


class Coupling(NamedTuple):
    """The dependencies of a skeleton's joints."""

    matrix: Array
    """C, joints x joints in DoF order."""
    warnings: tuple[str, ...] = ()
    """What is allowed and odd."""


def element_of(joint: Joint) -> Element:
    """The joint's element; the default one when absent."""
    return joint.element or Element()


def is_fixed(joint: Joint) -> bool:
    """Whether the joint has no degree of freedom."""
    return (joint.parameters or JointParameters()).type == JointType.FIXED


def coupling_of(joints: Sequence[Joint], element_id_to_dof_index: Mapping[int, int]) -> Coupling:
    """Matrix of the joints' dependencies; `element_id_to_dof_index` is that of a checked skeleton.

    Raises:
        LimitsError: naming the joint; the reason is one of those of `dependency_fault`.
    """
    matrix = np.eye(len(element_id_to_dof_index))
    by_id = {element_of(joint).id: joint for joint in joints}
    warnings = []
    for joint in joints:
        dependency = joint.linear_dependency
        if dependency is None:
            continue
        own, name = element_of(joint).id, element_of(joint).name
        fault = dependency_fault(joint, dependency, by_id, element_id_to_dof_index)
        if fault is not None:
            raise LimitsError(fault, joint=name or str(own), key="linear_dependency", value=dependency)
        row = element_id_to_dof_index[own]
        matrix[row] = 0.0
        matrix[row, row] = dependency.alpha_self
        for leading, alpha in dependency.alpha_leading.items():
            matrix[row, element_id_to_dof_index[leading]] = alpha
        if not matrix[row].any():
            warnings.append(f"joint {name or own}: the dependency is empty, so its coordinate is always 0")
    return Coupling(matrix, tuple(warnings))


def dependency_fault(
    joint: Joint, dependency: LinearDependency, by_id: Mapping[int, Joint], dof_index: Mapping[int, int]
) -> str | None:
    """What is wrong with a joint's dependency, or None.

    One of `dependent_joint_is_fixed`, `alpha_not_finite`, and for a leading joint `leading_is_self`,
    `leading_unknown`, `leading_is_fixed`, `leading_is_dependent`, `leading_not_preceding`.
    """
    own = element_of(joint).id
    if is_fixed(joint):
        return "dependent_joint_is_fixed"
    if not all(map(math.isfinite, (dependency.alpha_self, *dependency.alpha_leading.values()))):
        return "alpha_not_finite"
    for leading in dependency.alpha_leading:
        if leading == own:
            return "leading_is_self"
        if leading not in by_id:
            return "leading_unknown"
        if is_fixed(by_id[leading]):
            return "leading_is_fixed"
        if by_id[leading].linear_dependency is not None:
            return "leading_is_dependent"
        if dof_index[leading] >= dof_index[own]:
            return "leading_not_preceding"
    return None


def derive(matrix: Array, inputs: Array) -> Array:
    """Derived positions, velocities, accelerations or jerks of inputs; both (..., joints)."""
    derived: Array = inputs @ matrix.T
    return derived


def input_efforts(matrix: Array, derived_efforts: Array) -> Array:
    """Efforts at the inputs that do the same work as those at the derived coordinates; both (..., joints)."""
    efforts: Array = derived_efforts @ matrix
    return efforts


def _product(alpha: Array, limit: Array) -> Array:
    """Elementwise product in which a zero weight gives 0 even against an infinite limit."""
    return np.where(alpha == 0, 0.0, alpha) * np.where(alpha == 0, 0.0, limit)


def reachable_positions(matrix: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Lowest and highest derived coordinates while every input stays within lower to upper; all (joints,)."""
    low, high = _product(matrix, lower), _product(matrix, upper)
    return np.minimum(low, high).sum(axis=1), np.maximum(low, high).sum(axis=1)


def reachable_magnitudes(matrix: Array, limits: Array) -> Array:
    """Largest derived magnitude while every input's stays within its limit, for velocity and its derivatives."""
    magnitudes: Array = _product(np.abs(matrix), limits).sum(axis=1)
    return magnitudes
