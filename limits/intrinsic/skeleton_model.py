"""A skeleton as the limits engine uses it: checked, with limits and dependencies in DoF order."""

from typing import NamedTuple

from limits.intrinsic.dependency import Coupling, coupling_of
from limits.intrinsic.inertia import check_link_parameters
from limits.intrinsic.joint_limits import JointLimitVectors
from limits.intrinsic.joint_parameters import ignored_of_fixed, joint_limits_of
from limits.intrinsic.skeleton import check_skeleton, joint_label
from schema.intrinsic import Link, Skeleton


class SkeletonModel(NamedTuple):
    """What a skeleton says about its movable joints, in DoF order."""

    names: tuple[str, ...]
    """Of the joints."""
    system: JointLimitVectors
    """Hard limits."""
    soft: JointLimitVectors
    """Soft limits, inside the hard ones."""
    coupling: Coupling
    warnings: tuple[str, ...]
    """What is allowed and odd."""


def _check_link(link: Link) -> None:
    """A link without parameters, or with neither mass nor inertia in them, has them unset."""
    parameters = link.parameters
    if parameters is None or (parameters.mass == 0 and parameters.inertia is None):
        return
    check_link_parameters(parameters, link=link.element.name if link.element else None)


def skeleton_model(skeleton: Skeleton) -> SkeletonModel:
    """Model of a skeleton all parts of which are usable.

    Raises:
        LimitsError: naming the element, joint or link and what is wrong.
    """
    tree = check_skeleton(skeleton)
    for link in skeleton.links:
        _check_link(link)
    limits = joint_limits_of(tree.joints)
    coupling = coupling_of(skeleton.joints, skeleton.element_id_to_dof_index)
    return SkeletonModel(
        names=tuple(joint_label(joint) for joint in tree.joints),
        system=limits.system,
        soft=limits.soft,
        coupling=coupling,
        warnings=(*limits.warnings, *coupling.warnings, *ignored_of_fixed(skeleton.joints)),
    )
