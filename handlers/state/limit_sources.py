"""What the settings and the files they name say about the limits of one arm, and how that fits its joints."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from limits.conversion.formats import Format
from limits.conversion.layers import layers_of
from limits.conversion.skeleton import limits_of_model
from limits.conversion.urdf import limits_of_robot
from limits.errors import LimitsError
from limits.formats.diagnostics import Weight, diagnostic_lines
from limits.formats.urdf_records import JointType, UrdfRobot
from limits.intrinsic.skeleton_model import SkeletonModel
from limits.ros2.keys import FLAG_KEYS, HARD_KEYS, SOFT_KEYS, parameter_name
from limits.ros2.parameters import joint_names, load_joint_limits
from limits.ros2.store import ParameterStore
from limits.stack.joints import ArmJoints
from limits.stack.layer import Layer, Origin
from limits.stack.matching import match_joints
from limits.stack.sources import site_layer
from schema.arms import Description, JointInfo
from schema.intrinsic import DynamicLimitsCheckMode
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap

SETTINGS_USER = "@settings"
"""Who set what stands in the settings and their files."""

Cap = float | Sequence[float]
"""A cap of the plant: one number for all joints or the twist, or one number a joint."""


@dataclass(frozen=True, slots=True, eq=False)
class LimitSources:
    """The files of one arm, read, by their names without folders; caps in rad or m and per s, twists in m/s and rad/s.

    `loosest` is the loosest check mode that a request may ask for; `since_us` when all of it was read.
    """

    urdf: UrdfRobot | None = None
    urdf_file: str = ""
    parameters: ParameterStore | None = None
    ros_file: str = ""
    skeleton: SkeletonModel | None = None
    skeleton_file: str = ""
    site_caps: Mapping[str, Cap] = field(default_factory=dict)
    loosest: DynamicLimitsCheckMode = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_NONE
    since_us: int = 0

    def origin(self, source: str) -> Origin:
        """The origin of what a file or the settings say."""
        return Origin(source, SETTINGS_USER, self.since_us)


class Placed(NamedTuple):
    """Sources on the joints of an arm: the layers that never change, what the held items start with, what does not fit.

    `safety` and `parameters` use the arm's names of its joints.
    """

    layers: tuple[Layer, ...] = ()
    safety: JointSafetyMap = JointSafetyMap()
    safety_source: str = ""
    parameters: JointParameterMap = JointParameterMap()
    ros_source: str = ""
    reports: tuple[str, ...] = ()


def place(sources: LimitSources, joints: ArmJoints) -> Placed:
    """Match every source to the joints of an arm.

    Raises:
        LimitsError: joints that stand twice, or numbers that make no sense; naming file, joint, key and value.
    """
    layers: list[Layer] = []
    reports: list[str] = []
    safety: dict[str, JointSafetyGains] = {}
    fixed: frozenset[str] = frozenset()
    if sources.urdf is not None:
        source = f"urdf:{sources.urdf_file}"
        limits = limits_of_robot(sources.urdf)
        fixed = frozenset(limits.fixed)
        sourced = layers_of(joints, limits, Format.URDF, sources.origin(source))
        layers += [layer for layer in sourced.layers if not layer.safeties]
        notes = diagnostic_lines(one for one in limits.notes if one.weight > Weight.DOUBT)
        reports += (*sourced.reports, *(f"{source}: {text}" for text in notes))
        safety = _safety_of(joints, sourced.layers)
    if sources.skeleton is not None:
        source = f"skeleton:{sources.skeleton_file}"
        limits = limits_of_model(sources.skeleton)
        sourced = layers_of(joints, limits, Format.SKELETON, sources.origin(source), fixed=fixed)
        layers += sourced.layers
        reports += (*sourced.reports, *(f"{source}: {text}" for text in sources.skeleton.warnings))
    parameters = JointParameterMap()
    if sources.parameters is not None:
        parameters, unfit = _parameters_of(joints, sources.parameters, f"ros:{sources.ros_file}", fixed)
        reports += unfit
    if sources.site_caps:
        layers.append(_site_layer(joints, sources))
    return Placed(
        tuple(layers),
        JointSafetyMap(safety),
        f"urdf:{sources.urdf_file}",
        parameters,
        f"ros:{sources.ros_file}",
        tuple(reports),
    )


_TYPES = frozenset({JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC})
"""What a joint of an arm can be."""


def with_joint_types(description: Description, sources: LimitSources) -> Description:
    """The description of an arm with a type for every joint: where the arm tells none that of the URDF, or revolute."""
    if all(joint.type for joint in description.joints):
        return description
    names = tuple(joint.name for joint in description.joints)
    given = [] if sources.urdf is None else [joint for joint in sources.urdf.joints if joint.type in _TYPES]
    try:
        order = match_joints(names, [joint.name for joint in given]).order
    except LimitsError:  # joints that stand twice are refused when the sources are placed
        order = (None,) * len(names)
    found = (JointType.REVOLUTE if index is None else given[index].type for index in order)
    joints = tuple(
        JointInfo(joint.name, joint.type or kind.value) for joint, kind in zip(description.joints, found, strict=True)
    )
    return msgspec.structs.replace(description, joints=joints)


def _safety_of(joints: ArmJoints, layers: Sequence[Layer]) -> dict[str, JointSafetyGains]:
    """The safety controllers of a URDF by the arm's names."""
    found = {}
    for layer in layers:
        for name, law in zip(joints.names, layer.safeties or (None,) * len(joints.names), strict=True):
            if law is not None:
                found[name] = JointSafetyGains(**msgspec.structs.asdict(law))
    return found


def _parameters_of(
    joints: ArmJoints, store: ParameterStore, source: str, fixed: Collection[str]
) -> tuple[JointParameterMap, tuple[str, ...]]:
    """The parameters of the arm's joints by the arm's names, checked, and what does not fit."""
    there = joint_names(store)
    match = match_joints(joints.names, there, file=source)
    values: dict[str, bool | float] = {}
    for name, index in zip(joints.names, match.order, strict=True):
        if index is None:
            continue
        given = _typed(store, there[index])
        values |= {parameter_name(name, key): value for key, value in given.items()}
    loaded = ParameterStore(values, file=source)
    load_joint_limits(joints.names, loaded)
    doubts = (
        f"{source}: {'' if one.joint is None else f'joint {one.joint}, '}{one.key} {one.reason}"
        for one in (*store.diagnostics, *loaded.diagnostics)
        if one.joint not in match.missing
    )
    return JointParameterMap(values), (*match.reports(source, fixed), *doubts)


def _typed(store: ParameterStore, joint: str) -> dict[str, bool | float]:
    """Flags and numbers of a joint that were given, by key."""
    values: dict[str, bool | float] = {}
    for key in HARD_KEYS + SOFT_KEYS:
        name = parameter_name(joint, key)
        if store.has(name):
            values[key] = store.flag(name) if key in FLAG_KEYS else store.number(name)
    return values


def _site_layer(joints: ArmJoints, sources: LimitSources) -> Layer:
    """The caps of the plant on the joints of the arm."""
    caps: dict[str, float | dict[str, float]] = {}
    for quantity, cap in sources.site_caps.items():
        if isinstance(cap, Sequence):
            if len(cap) != len(joints.names):
                raise LimitsError(
                    "needs one number a joint", file="site_caps", key=quantity, value=len(cap), bound=len(joints.names)
                )
            caps[quantity] = dict(zip(joints.names, cap, strict=True))
        else:
            caps[quantity] = cap
    return site_layer(joints, caps, sources.origin("policy:site"))
