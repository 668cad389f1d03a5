"""Files that limit an arm of seven joints, as the settings would name them."""

from collections.abc import Mapping

from handlers.state.limit_sources import Cap, LimitSources
from limits.formats.urdf_records import JointType, UrdfJoint, UrdfLimit, UrdfRobot, UrdfSafety
from limits.intrinsic.skeleton_model import skeleton_model
from limits.ros2.store import ParameterStore, ParameterValue
from schema.intrinsic import Element, Joint, JointParameters, LimitPair, Limits, Link, Point, Skeleton
from schema.joint_items import JointSafetyGains
from tests.handlers.builders import MODEL

NAMES = tuple(joint.name for joint in MODEL.joints)
SINCE_US = 1_600_000_000_000_000
GAINS = JointSafetyGains(2.0, -2.0, 20.0, 5.0)


def urdf(velocity: float = 1.2, *, safety: bool = True, names: tuple[str, ...] = NAMES) -> UrdfRobot:
    """A URDF with ±2.5 rad and an effort of 39 N·m; the second joint has a safety controller."""
    record = UrdfSafety(soft_lower_limit=-2.0, soft_upper_limit=2.0, k_position=20.0, k_velocity=5.0)
    joints = tuple(
        UrdfJoint(
            name=name,
            type=JointType.REVOLUTE,
            parent=f"link_{index}",
            child=f"link_{index + 1}",
            limit=UrdfLimit(lower=-2.5, upper=2.5, velocity=velocity, effort=39.0),
            safety=record if safety and index == 1 else None,
        )
        for index, name in enumerate(names)
    )
    return UrdfRobot(name="gen3", links=tuple(f"link_{index}" for index in range(len(names) + 1)), joints=joints)


def parameters(**numbers: float) -> dict[str, bool | float]:
    """ROS parameters of the first joint: a maximum by quantity, with its flag."""
    values: dict[str, bool | float] = {}
    for quantity, number in numbers.items():
        values[f"joint_limits.joint_1.has_{quantity}_limits"] = True
        values[f"joint_limits.joint_1.max_{quantity}"] = number
    return values


def skeleton(velocity: float = 1.1) -> Skeleton:
    """A chain of seven joints with soft limits of half the speed."""
    pair = LimitPair(-2.5, 2.5)
    hard, soft = (Limits(pair, speed, 4.0, 100.0, 39.0) for speed in (velocity, velocity / 2))
    count = len(NAMES)
    links = tuple(
        Link(Element(id=2 * at + 1, name=f"link_{at}", parent=2 * at, children=(2 * at + 2,) if at < count else ()))
        for at in range(count + 1)
    )
    joints = tuple(
        Joint(
            Element(id=2 * at + 2, name=name, parent=2 * at + 1, children=(2 * at + 3,)),
            JointParameters(axis=Point(0.0, 0.0, 1.0), system_limits=hard, soft_limits=soft),
        )
        for at, name in enumerate(NAMES)
    )
    order = {2 * at + 2: at for at in range(count)}
    return Skeleton(name="gen3", links=links, joints=joints, element_id_to_dof_index=order)


def sources(
    *,
    robot: UrdfRobot | None = None,
    values: Mapping[str, ParameterValue] | None = None,
    tree: Skeleton | None = None,
    **caps: Cap,
) -> LimitSources:
    """What settings with these files and caps say."""
    return LimitSources(
        urdf=robot,
        urdf_file="gen3.urdf",
        parameters=None if values is None else ParameterStore(values, file="limits.yaml"),
        ros_file="limits.yaml",
        skeleton=None if tree is None else skeleton_model(tree),
        skeleton_file="gen3.pb",
        site_caps=caps,
        since_us=SINCE_US,
    )
