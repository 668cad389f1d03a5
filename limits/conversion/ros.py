"""Limit sets from and to the parameters of a ROS node; safety controllers are its soft limits."""

from msgspec.structs import replace

from limits.conversion.formats import ANY_NODE
from limits.conversion.limit_set import JointNumbers, LimitedJoint, LimitSet
from limits.conversion.text import utf8_text
from limits.conversion.urdf import MAXIMA
from limits.errors import LimitsError
from limits.formats.ros_yaml import write_parameters
from limits.formats.urdf_records import JointType
from limits.ros2.keys import HARD_KEYS, ROOT
from limits.ros2.parameters import LoadedLimits, as_parameters, joint_names, load_joint_limits
from limits.ros2.records import LARGEST, SMALLEST_RANGE, JointLimits, SoftJointLimits
from limits.ros2.store import ParameterStore, ParameterValue
from limits.tesseract.joint_safety import JointSafety


def limits_from_ros(text: bytes, node: str | None = None, file: str | None = None) -> LimitSet:
    """The limits of all joints that the parameters of a node give limits of.

    Raises:
        LimitsError: see `ParameterStore.read` and `limits_of_parameters`.
    """
    return limits_of_parameters(ParameterStore.read(utf8_text(text, file), node, file=file))


def limits_of_parameters(store: ParameterStore) -> LimitSet:
    """The limits of all joints that parameters give limits of.

    Raises:
        LimitsError: see `load_joint_limits`; no joint at all.
    """
    names = joint_names(store)
    if not names:
        keys = dict.fromkeys(name.rpartition(".")[2] for name in store.names() if f".{ROOT}." in f".{name}")
        if keys:
            reason = "holds joint limits under names that ROS does not read"
            raise LimitsError(reason, file=store.file, key=ROOT, value=[*keys], bound=[*HARD_KEYS])
        raise LimitsError("holds no joint limits", file=store.file, key=ROOT)
    joints = tuple(_joint(one) for one in load_joint_limits(names, store))
    return LimitSet(joints=joints, notes=tuple(store.diagnostics))


def limits_to_ros(limits: LimitSet, node: str = ANY_NODE) -> bytes:
    """The parameters of a node with these limits, as YAML.

    Raises:
        LimitsError: there is no joint.
    """
    if not limits.joints:
        raise LimitsError("there is no joint to write parameters of", key=ROOT)
    values: dict[str, ParameterValue] = {}
    for joint in limits.joints:
        values |= as_parameters(joint.name, _hard(joint), _soft(joint.safety))
    return write_parameters(values, node).encode()


def _joint(loaded: LoadedLimits) -> LimitedJoint:
    limits, soft = loaded.limits, loaded.soft
    numbers = {key: getattr(limits, f"max_{key}") for key in MAXIMA if getattr(limits, f"has_{key}_limits")}
    if limits.has_position_limits:
        numbers |= {"position_lower": limits.min_position, "position_upper": limits.max_position}
    wraps = limits.angle_wraparound and not limits.has_position_limits
    safety = None
    if soft is not None:
        safety = JointSafety(
            soft_lower_limit=soft.min_position,
            soft_upper_limit=soft.max_position,
            k_position=soft.k_position,
            k_velocity=soft.k_velocity,
        )
    return LimitedJoint(
        name=loaded.joint,
        type=JointType.CONTINUOUS if wraps else JointType.REVOLUTE,
        limits=JointNumbers(**{key: value for key, value in numbers.items() if abs(value) != LARGEST}),
        safety=safety,
    )


def _hard(joint: LimitedJoint) -> JointLimits:
    numbers = joint.limits
    record = JointLimits(angle_wraparound=joint.type is JointType.CONTINUOUS)
    for key in MAXIMA:
        value = getattr(numbers, key)
        if value is not None:
            record = replace(record, **{f"has_{key}_limits": True, f"max_{key}": value + 0.0})
    if not numbers.ranged():
        return record
    lower, upper = numbers.position_lower, numbers.position_upper
    ends = {
        "min_position": -LARGEST if lower is None else lower + 0.0,
        "max_position": LARGEST if upper is None else upper + 0.0,
    }
    return replace(record, has_position_limits=True, **ends)


def _soft(safety: JointSafety | None) -> SoftJointLimits | None:
    """The soft limits of a record; none without a range, which a set of them needs."""
    if safety is None or safety.soft_upper_limit - safety.soft_lower_limit <= SMALLEST_RANGE:
        return None
    return SoftJointLimits(
        min_position=safety.soft_lower_limit,
        max_position=safety.soft_upper_limit,
        k_position=safety.k_position,
        k_velocity=safety.k_velocity,
    )
