"""A limit set as layers of an arm's stack."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from limits.conversion.formats import Format
from limits.conversion.limit_set import JointNumbers, LimitedJoint, LimitSet
from limits.stack.joints import TWIST_QUANTITIES, ArmJoints
from limits.stack.layer import Layer, LayerKind, Origin
from limits.stack.matching import JointMatch, match_joints
from limits.stack.sources import columns, safety_layer

KINDS: dict[Format, LayerKind] = {
    Format.URDF: LayerKind.URDF,
    Format.ROS: LayerKind.ROS,
    Format.SKELETON: LayerKind.SKELETON,
    Format.JOINT_LIMITS: LayerKind.APPLICATION,
    Format.KINOVA: LayerKind.HARD,
}
"""What a file of each format is in the stack; a KinematicLimits of a control mode is its soft limits."""


class Placed(NamedTuple):
    """The layers of a file, how its joints fit the arm's, and what does not, in words."""

    layers: tuple[Layer, ...]
    match: JointMatch
    reports: tuple[str, ...]


def joints_of(limits: LimitSet) -> ArmJoints:
    """The joints of a set as those of an arm.

    Raises:
        LimitsError: a name stands twice.
    """
    return ArmJoints(tuple(joint.name for joint in limits.joints), tuple(joint.type for joint in limits.joints))


def layers_of(
    joints: ArmJoints, limits: LimitSet, kind: Format, origin: Origin, renames: Mapping[str, str] | None = None
) -> Placed:
    """The layers of a file: its hard limits, then soft limits and safety controllers where there are any.

    A set without names of its own counts in the order of the arm's joints, if it has as many.

    Raises:
        LimitsError: numbers that make no sense, names that do not fit (`match_joints`).
    """
    given = [joint.name for joint in limits.joints]
    if not limits.named and len(given) == len(joints.names):
        given = list(joints.names)
    match = match_joints(joints.names, given, renames, file=origin.source)
    placed = {
        name: limits.joints[index] for name, index in zip(joints.names, match.order, strict=True) if index is not None
    }
    mode = limits.mode or None
    layer_kind = KINDS[kind] if mode is None else LayerKind.SOFT
    twists = {key: getattr(limits, key) for key in TWIST_QUANTITIES if getattr(limits, key) is not None}
    numbers = columns(joints, _given({name: joint.limits for name, joint in placed.items()}))
    layers = [Layer(layer_kind, origin, joints.ceilings(numbers | twists), mode)]
    soft = {name: joint.soft for name, joint in placed.items() if joint.soft is not None}
    if soft:
        inner = Origin(f"{origin.source}#soft", origin.by, origin.since_us)
        layers.append(Layer(layer_kind, inner, joints.ceilings(columns(joints, _given(soft)))))
    layers += _safety(joints, placed, origin, layer_kind)
    return Placed(tuple(layers), match, match.reports(origin.source) if given else ())


def _safety(joints: ArmJoints, placed: Mapping[str, LimitedJoint], origin: Origin, kind: LayerKind) -> list[Layer]:
    records = {name: joint.safety for name, joint in placed.items() if joint.safety is not None}
    return [safety_layer(joints, records, origin, kind=kind)] if records else []


def _given(joint_numbers: Mapping[str, JointNumbers]) -> dict[str, dict[str, float]]:
    return {
        name: {key: value for key, value in msgspec.structs.asdict(numbers).items() if value is not None}
        for name, numbers in joint_numbers.items()
    }
