"""A limit set as layers of an arm's stack."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from limits.conversion.formats import Format
from limits.conversion.limit_set import JointNumbers, LimitedJoint, LimitSet
from limits.stack.joints import TWIST_QUANTITIES, ArmJoints
from limits.stack.layer import SOFT_PART, Layer, LayerKind, Origin
from limits.stack.matching import JointMatch, match_in_order, match_joints
from limits.stack.sources import columns, safety_layer

KINDS: dict[Format, LayerKind] = {
    Format.URDF: LayerKind.URDF,
    Format.ROS: LayerKind.ROS,
    Format.SKELETON: LayerKind.SKELETON,
    Format.JOINT_LIMITS: LayerKind.APPLICATION,
    Format.KINOVA: LayerKind.HARD,
}
"""What a file of each format is in the stack; a KinematicLimits of a control mode is its soft limits."""


CONTROL = "ros2_control"
"""What the source of the limits begins with that `<ros2_control>` of a URDF holds."""


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
    joints: ArmJoints,
    limits: LimitSet,
    kind: Format,
    origin: Origin,
    renames: Mapping[str, str] | None = None,
    *,
    fixed: Collection[str] = (),
) -> Placed:
    """The layers of a file: its hard limits, then those of ros2_control, soft limits and safety controllers if any.

    A set whose joints have no names counts in the order of the arm's joints if it has as many, else it fits none.
    `fixed` are joints that the arm has and that do not move, for the reports.

    Raises:
        LimitsError: numbers that make no sense, names that do not fit (`match_joints`).
    """
    given = [joint.name for joint in limits.joints]
    if limits.counted:
        match = match_in_order(joints.names, given)
    else:
        match = match_joints(joints.names, given, renames, file=origin.source)
    placed = {
        name: limits.joints[index] for name, index in zip(joints.names, match.order, strict=True) if index is not None
    }
    mode = limits.mode or None
    layer_kind = KINDS[kind] if mode is None else LayerKind.SOFT
    twists = {key: getattr(limits, key) for key in TWIST_QUANTITIES if getattr(limits, key) is not None}
    numbers = columns(joints, _given({name: joint.limits for name, joint in placed.items()}))
    layers = [Layer(layer_kind, origin, joints.ceilings(numbers | twists), mode)]
    for found, source in (
        ({name: joint.control for name, joint in placed.items()}, f"{CONTROL}:{origin.source.partition(':')[2]}"),
        ({name: joint.soft for name, joint in placed.items()}, f"{origin.source}{SOFT_PART}"),
    ):
        given_there = _given(found)
        if given_there:
            beside = Origin(source, origin.by, origin.since_us)
            layers.append(Layer(layer_kind, beside, joints.ceilings(columns(joints, given_there))))
    layers += _safety(joints, placed, origin, layer_kind)
    return Placed(tuple(layers), match, match.reports(origin.source, fixed) if given else ())


def _safety(joints: ArmJoints, placed: Mapping[str, LimitedJoint], origin: Origin, kind: LayerKind) -> list[Layer]:
    records = {name: joint.safety for name, joint in placed.items() if joint.safety is not None}
    return [safety_layer(joints, records, origin, kind=kind)] if records else []


def _given(joint_numbers: Mapping[str, JointNumbers | None]) -> dict[str, dict[str, float]]:
    """The numbers that are given, of joints that have any record of them."""
    return {
        name: {key: value for key, value in msgspec.structs.asdict(numbers).items() if value is not None}
        for name, numbers in joint_numbers.items()
        if numbers is not None
    }
