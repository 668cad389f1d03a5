"""Layers of the limit stack from the items of an arm.

A value counts as it was read; what was accepted and is not read back yet counts beside it, so that the tightest of them
binds number by number. What is desired and was overwritten by another writer counts no more.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from handlers.stack.joint_vectors import to_vectors
from handlers.state.arm_state import ArmState, MessageT, as_message
from handlers.state.limit_sources import Placed
from handlers.state.provenance import NOBODY, Setter, Stamp
from limits.conversion.formats import Format
from limits.conversion.layers import layers_of
from limits.conversion.ros import limits_of_parameters
from limits.errors import LimitsError
from limits.intrinsic.joint_limits import FIELDS as VECTORS
from limits.kinova_limits import FIELDS as SOFT_ITEMS
from limits.ros2.keys import SOFT_KEYS, WRAPAROUND, parameter_name
from limits.ros2.store import ParameterStore
from limits.ros2.validity import NUMBERS
from limits.stack.joints import ArmJoints
from limits.stack.layer import Layer, Origin
from limits.stack.sources import application_layer, kinova_layer, safety_layer
from limits.tesseract.joint_safety import JointSafety
from schema.arms import Slot
from schema.enums import ControlMode
from schema.intrinsic import JointLimits
from schema.items import SOFT_LIMIT_MODES
from schema.joint_items import JointParameterMap, JointSafetyMap
from schema.messages import KinematicLimits, Message

APPLICATION_SLOT: Slot = ("joint_limits", 0)
SAFETY_SLOT: Slot = ("joint_safety", 0)
PARAMETERS_SLOT: Slot = ("joint_parameters", 0)

Origins = dict[tuple[str, str | None], Origin]

_OF_VECTORS: dict[str, tuple[str, ...]] = {
    "min_position": ("position_lower",),
    "max_position": ("position_upper",),
    "max_velocity": ("velocity",),
    "max_acceleration": ("acceleration", "deceleration"),
    "max_jerk": ("jerk",),
    "max_effort": ("effort",),
}
"""What each vector of JointLimits bounds."""
_OF_PARAMETERS: dict[str, tuple[str, ...]] = {
    **{name: quantities for name, quantities in _OF_VECTORS.items() if name != "max_acceleration"},
    "max_acceleration": ("acceleration",),
    "max_deceleration": ("deceleration",),
}
"""What the number behind a ROS parameter bounds."""
_OF_SAFETY = ("position_lower", "position_upper", "velocity", "effort")
OF_SOFT: dict[str, tuple[str, ...]] = {
    "joint_speed_limits": ("velocity",),
    "joint_acceleration_limits": ("acceleration", "deceleration"),
    "twist_linear": ("twist_linear",),
    "twist_angular": ("twist_angular",),
}
"""What each field of KinematicLimits bounds."""
_SOFT_SLOTS: dict[ControlMode, tuple[tuple[str, Slot], ...]] = {
    mode: tuple((field, (key, int(mode))) for field, key in SOFT_ITEMS.items() if mode in SOFT_LIMIT_MODES[key])
    for mode in sorted({mode for modes in SOFT_LIMIT_MODES.values() for mode in modes})
}
SOFT_MODES = tuple(_SOFT_SLOTS)
"""The control modes that have soft limits."""


def values_of(state: ArmState, slot: Slot, cls: type[MessageT]) -> Iterator[tuple[MessageT, Setter]]:
    """Every value of a slot that counts, with who set it: first the one that was read."""
    reported = state.reported.get(slot)
    if reported is None:
        return
    yield as_message(reported, cls), state.reported_by.get(slot, NOBODY)
    for value, setter in state.unread.get(slot, ()):
        if value != reported:
            yield as_message(value, cls), setter


def _origin(source: str, stamp: Stamp) -> Origin:
    return Origin(source, stamp.by, stamp.at_us, stamp.recipe)


def application_layers(joints: ArmJoints, state: ArmState) -> list[Layer]:
    """The application limits."""
    layers = []
    for value, setter in values_of(state, APPLICATION_SLOT, JointLimits):
        origins = _application_origins(joints, setter) if setter.older else {}
        vectors = to_vectors(value, len(joints.names))
        layers.append(application_layer(joints, vectors, _origin(_APPLICATION, setter.last), origins))
    return layers


def _application_origins(joints: ArmJoints, setter: Setter) -> Origins:
    return {
        (quantity, joint): _origin(_APPLICATION, stamp)
        for name in VECTORS
        for index, joint in enumerate(joints.names)
        if (stamp := setter.older.get(f"{name}[{index}]")) is not None
        for quantity in _OF_VECTORS[name]
    }


def safety_inputs(state: ArmState) -> tuple[object, ...]:
    """Everything that the JointSafety layers are made of, as objects that are replaced when they change."""
    return tuple(values.get(SAFETY_SLOT) for values in (state.reported, state.unread, state.reported_by))


def safety_layers(joints: ArmJoints, state: ArmState, placed: Placed) -> list[Layer]:
    """The JointSafety records; those of a URDF name it as their source as long as they are as it says."""
    layers = []
    for value, setter in values_of(state, SAFETY_SLOT, JointSafetyMap):
        if not value.joints:
            continue
        origins: Origins = {}
        for joint, gains in value.joints.items():
            given = placed.safety.joints.get(joint) == gains
            found = _origin(placed.safety_source if given else SAFETY_SLOT[0], setter.of(joint))
            origins |= {(quantity, joint): found for quantity in _OF_SAFETY}
        records = {joint: JointSafety(**msgspec.structs.asdict(gains)) for joint, gains in value.joints.items()}
        layers.append(safety_layer(joints, records, _origin(SAFETY_SLOT[0], setter.last), origins))
    return layers


def parameter_layers(joints: ArmJoints, state: ArmState, placed: Placed) -> tuple[list[Layer], tuple[str, ...]]:
    """The limits that ROS parameters give, and what of them makes no sense, in words; only an arm can hold such.

    Those of a file name it as their source as long as they are as it says.
    """
    layers: list[Layer] = []
    doubts: list[str] = []
    for value, setter in values_of(state, PARAMETERS_SLOT, JointParameterMap):
        if not value.parameters:
            continue
        origin = _origin(_ROS_SOURCE, setter.last)
        sourced, unusable = _usable_layers(joints, value.parameters, origin)
        doubts += unusable
        origins = _parameter_origins(joints, value, setter, placed)
        layers += [
            Layer(layer.kind, layer.origin, layer.ceilings, layer.mode, origins, layer.safeties) for layer in sourced
        ]
    return layers, tuple(doubts)


def _usable_layers(
    joints: ArmJoints, parameters: Mapping[str, bool | float], origin: Origin
) -> tuple[Sequence[Layer], list[str]]:
    """The layers of parameters; where they make no sense, of those groups of them that do, and what is wrong."""
    try:
        return _layers_of_parameters(joints, parameters, origin), []
    except LimitsError:
        pass
    usable: dict[str, bool | float] = {}
    doubts = []
    for joint in joints.names:
        for keys in _GROUPS:
            names = [parameter_name(joint, key) for key in keys]
            group = {name: parameters[name] for name in names if name in parameters}
            try:
                if group:
                    _layers_of_parameters(joints, group, origin)
            except LimitsError as error:
                doubts.append(f"{origin.source}: {error}; it does not count")
            else:
                usable |= group
    return (_layers_of_parameters(joints, usable, origin) if usable else ()), doubts


def _layers_of_parameters(
    joints: ArmJoints, parameters: Mapping[str, bool | float], origin: Origin
) -> tuple[Layer, ...]:
    return layers_of(joints, limits_of_parameters(ParameterStore(parameters)), Format.ROS, origin).layers


_GROUPS = (
    *(
        (f"has_{quantity}_limits", *keys, *((WRAPAROUND,) if quantity == "position" else ()))
        for quantity, keys in NUMBERS.items()
    ),
    SOFT_KEYS,
)
"""Keys of the ROS parameters that make sense together or not at all."""
_ROS_SOURCE = "ros:parameters"
_APPLICATION = "application"


def _parameter_origins(joints: ArmJoints, value: JointParameterMap, setter: Setter, placed: Placed) -> Origins:
    origins: Origins = {}
    for joint in joints.names:
        for key, quantities in _OF_PARAMETERS.items():
            name = parameter_name(joint, key)
            number = value.parameters.get(name)
            if number is not None:
                given = placed.parameters.parameters.get(name) == number
                found = _origin(placed.ros_source if given else _ROS_SOURCE, setter.of(name))
                origins |= {(quantity, joint): found for quantity in quantities}
    return origins


def soft_inputs(state: ArmState, mode: ControlMode) -> tuple[object, ...]:
    """Everything that the soft limits of a mode are made of, as objects that are replaced when they change."""
    kept = (state.reported, state.unread, state.reported_by)
    return tuple(values.get(slot) for _, slot in _SOFT_SLOTS[mode] for values in kept)


def soft_layers(joints: ArmJoints, state: ArmState, mode: ControlMode) -> list[Layer]:
    """The soft limits of a control mode: as they were read, then what is to be."""
    layers = []
    read: dict[str, tuple[Message, Setter]] = {}
    for field, slot in _SOFT_SLOTS[mode]:
        for rank, one in enumerate(values_of(state, slot, Message)):
            if rank:
                layers += _soft_layer(joints, mode, {field: one})
            else:
                read[field] = one
    return [*layers, *_soft_layer(joints, mode, read)]


def _soft_layer(joints: ArmJoints, mode: ControlMode, values: Mapping[str, tuple[Message, Setter]]) -> list[Layer]:
    """One layer of some fields, without those that make no sense, as only an arm can tell such."""
    source = f"soft:{mode.name}"
    numbers = {field: getattr(value, SOFT_ITEMS[field]) for field, (value, _) in values.items()}
    latest = max((setter.last for _, setter in values.values()), key=lambda stamp: stamp.at_us, default=Stamp())
    origins: Origins = {}
    for field, (_, setter) in values.items():
        if setter.last == latest:
            continue
        found = _origin(source, setter.last)
        for quantity in OF_SOFT[field]:
            origins |= dict.fromkeys(
                ((quantity, joint) for joint in ((None,) if quantity.startswith("twist") else joints.names)), found
            )
    try:
        return [kinova_layer(joints, KinematicLimits(mode, **numbers), _origin(source, latest), origins)]
    except LimitsError:
        single = ({field: one} for field, one in values.items() if len(values) > 1)
        return [layer for field in single for layer in _soft_layer(joints, mode, field)]
