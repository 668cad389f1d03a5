"""How the joints of two sets of limits go together: by name, by names that differ in a prefix, or by their order."""

from typing import NamedTuple

import msgspec

from limits.conversion.limit_set import LimitedJoint, LimitSet
from limits.stack.matching import JointMatch, match_in_order, match_joints


class Fitted(NamedTuple):
    """A set with the names of another one where its joints are the same, and how they were matched."""

    limits: LimitSet
    match: JointMatch


def fit(base: LimitSet, limits: LimitSet, file: str | None = None) -> Fitted:
    """Call the joints of `limits`, which are those of `file`, as `base` does.

    Joints without names count in the order of the base's if there are as many, else they fit none of it.

    Raises:
        LimitsError: a name stands twice.
    """
    ours = tuple(joint.name for joint in base.joints)
    given = tuple(joint.name for joint in limits.joints)
    if limits.counted:
        match = match_in_order(ours, given)
        renames = {} if match.extra else dict(zip(given, ours, strict=True))
        return Fitted(_renamed(limits, renames), match)
    match = match_joints(ours, given, file=file)
    return Fitted(_renamed(limits, {there: name for name, there in match.renamed.items()}), match)


def _renamed(limits: LimitSet, names: dict[str, str]) -> LimitSet:
    """The set with other names of its joints."""
    if not names:
        return limits
    return msgspec.structs.replace(limits, joints=tuple(_joint(one, names) for one in limits.joints))


def _joint(joint: LimitedJoint, names: dict[str, str]) -> LimitedJoint:
    mimic = joint.mimic
    if mimic is not None:
        mimic = msgspec.structs.replace(mimic, joint=names.get(mimic.joint, mimic.joint))
    depends = tuple((names.get(name, name), weight) for name, weight in joint.depends)
    return msgspec.structs.replace(joint, name=names.get(joint.name, joint.name), mimic=mimic, depends=depends)
