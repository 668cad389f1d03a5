"""Limit sets from and to Skeleton of intrinsic_proto."""

import math

import msgspec
import numpy as np

from limits.conversion.limit_set import NUMBERS, JointNumbers, LimitedJoint, LimitSet, overlay
from limits.conversion.vectors import numbers_at
from limits.formats.diagnostics import Diagnostic
from limits.formats.intrinsic_files import read_skeleton, read_skeleton_record, write_message
from limits.formats.urdf_records import JointType
from limits.intrinsic.dependency import is_fixed
from limits.intrinsic.skeleton import check_skeleton, joint_label
from limits.intrinsic.skeleton_model import SkeletonModel, skeleton_model
from schema.intrinsic import Element, Joint, JointParameters, LimitPair, Limits, Link, Point, Skeleton
from schema.intrinsic import JointType as IntrinsicType

_TYPES = {
    JointType.REVOLUTE: IntrinsicType.REVOLUTE,
    JointType.CONTINUOUS: IntrinsicType.REVOLUTE,
    JointType.PRISMATIC: IntrinsicType.PRISMATIC,
}


def limits_from_skeleton(data: bytes, file: str | None = None) -> LimitSet:
    """The limits of the joints that are not fixed, in DoF order.

    Raises:
        LimitsError: see `read_skeleton`.
    """
    return limits_of_model(read_skeleton(data, file))


def limits_of_model(model: SkeletonModel) -> LimitSet:
    """The limits of the joints of a skeleton that are not fixed, in DoF order."""
    joints = check_skeleton(model.message).joints
    fixed = tuple(joint_label(joint) for joint in model.message.joints if is_fixed(joint))
    notes = tuple(Diagnostic(None, "skeleton", None, text) for text in model.warnings)
    limited = tuple(_joint(model, index, joint) for index, joint in enumerate(joints))
    return LimitSet(joints=limited, fixed=fixed, notes=notes)


def limits_to_skeleton(
    limits: LimitSet, into: bytes | None = None, file: str | None = None, *, as_json: bool = False
) -> bytes:
    """A Skeleton with these limits: `into` with them put in, or else a chain of links made up for the joints.

    Numbers that `limits` does not give stay as `into` has them, as does all that is no limit; joints that `into` does
    not have are passed over. Joints of a new one are of SKELETON_TYPES.

    Raises:
        LimitsError: `into` is refused.
    """
    if into is None:
        skeleton = _chain(limits)
    else:
        merged = overlay(limits_from_skeleton(into, file), limits)
        skeleton = _replaced(read_skeleton_record(into, file), merged)
    skeleton_model(skeleton)
    return write_message(skeleton, json=as_json)


def _joint(model: SkeletonModel, index: int, joint: Joint) -> LimitedJoint:
    hard, soft = numbers_at(model.system, index), numbers_at(model.soft, index)
    parameters = joint.parameters or JointParameters()
    prismatic = parameters.type == IntrinsicType.PRISMATIC
    row = model.coupling.matrix[index]
    leading = np.flatnonzero(row).tolist()
    own = leading == [index] and row[index] == 1.0
    return LimitedJoint(
        name=model.names[index],
        type=JointType.PRISMATIC if prismatic else JointType.REVOLUTE,
        limits=hard,
        soft=None if soft == hard else soft,
        depends=() if own else tuple((model.names[at], float(row[at])) for at in leading),
    )


def _chain(limits: LimitSet) -> Skeleton:
    """Links and joints in a row; even ids are links, odd ones joints, and 0 is the root."""
    count = len(limits.joints)
    links = [
        Link(Element(2 * n, f"link_{n}", parent=max(2 * n - 1, 0), children=(2 * n + 1,) if n < count else ()))
        for n in range(count + 1)
    ]
    joints = []
    for n, joint in enumerate(limits.joints):
        parameters = _with_limits(JointParameters(type=_TYPES[joint.type], axis=Point(z=1.0)), joint)
        joints.append(Joint(Element(2 * n + 1, joint.name, parent=2 * n, children=(2 * n + 2,)), parameters))
    return Skeleton(
        links=tuple(links), joints=tuple(joints), element_id_to_dof_index={2 * n + 1: n for n in range(count)}
    )


def _replaced(skeleton: Skeleton, limits: LimitSet) -> Skeleton:
    """The skeleton with the limits of its joints replaced."""
    wanted = {joint.name: joint for joint in limits.joints}
    joints = []
    for joint in skeleton.joints:
        found = wanted.get(joint_label(joint))
        if found is None:
            joints.append(joint)
            continue
        parameters = _with_limits(joint.parameters or JointParameters(), found)
        joints.append(msgspec.structs.replace(joint, parameters=parameters))
    return msgspec.structs.replace(skeleton, joints=tuple(joints))


def _with_limits(parameters: JointParameters, joint: LimitedJoint) -> JointParameters:
    soft = None if joint.soft is None else _limits(joint.soft)
    return msgspec.structs.replace(parameters, system_limits=_limits(joint.limits), soft_limits=soft)


def _limits(numbers: JointNumbers) -> Limits | None:
    """The message; None where nothing is limited that it can hold."""
    values = {key: math.inf if getattr(numbers, key) is None else getattr(numbers, key) for key in NUMBERS}
    scalars = {key: values[key] for key in ("velocity", "acceleration", "jerk", "effort")}
    if not numbers.ranged() and all(map(math.isinf, scalars.values())):
        return None
    lower = -math.inf if numbers.position_lower is None else numbers.position_lower
    pair = LimitPair(lower, values["position_upper"]) if numbers.ranged() else None
    return Limits(pair, **scalars)
