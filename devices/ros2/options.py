"""The options of an arm that is a ROS 2 node."""

from typing import Annotated, Literal

from msgspec import Meta

from devices.adapter import AdapterSettingError
from devices.adapter_class import AdapterOptions
from schema.arms import JointInfo

NODE = r"^(/[A-Za-z_][A-Za-z0-9_]*)+$"
"""The full name of a node, its namespace included."""
DOMAIN_OF_ENVIRONMENT = -1


class Ros2Options(AdapterOptions, frozen=True):
    """The options of an arm that is a ROS 2 node; lists of joints are names with commas between them."""

    node: Annotated[str, Meta(pattern=NODE, max_length=255, description="full name of the node, /arm/driver")]
    python: Annotated[
        str, Meta(min_length=1, description="interpreter that imports rclpy, or a script that sets ROS up and is one")
    ] = "python3"
    joints: Annotated[str, Meta(description="joints in the arm's order; absent: those of the node's parameters")] = ""
    continuous: Annotated[str, Meta(description="joints that are continuous")] = ""
    prismatic: Annotated[
        str, Meta(description="joints that are prismatic; all others are as the URDF of the settings says, or revolute")
    ] = ""
    domain: Annotated[int, Meta(ge=DOMAIN_OF_ENVIRONMENT, le=232, description="ROS domain; -1: as ROS_DOMAIN_ID")] = -1
    discovery: Annotated[
        Literal["localhost", "subnet"], Meta(description="where the node may be: on this host, or in its network")
    ] = "localhost"
    silence_s: Annotated[
        float, Meta(ge=0.5, le=60, description="a node that does not answer for so long is offline")
    ] = 2.0
    serial: Annotated[str, Meta(max_length=120, description="serial number; absent: the full name of the node")] = ""


def names_of(text: str) -> tuple[str, ...]:
    """The names of a list."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def check_options(arm: str, options: Ros2Options) -> None:
    """Refuse lists of joints that contradict each other.

    Raises:
        AdapterSettingError: a joint stands twice, has two types, or has a type and is none of `joints`.
    """
    joints = names_of(options.joints)
    typed = names_of(options.continuous) + names_of(options.prismatic)
    for option, names in (("joints", joints), ("prismatic", typed)):
        for name in names:
            if names.count(name) > 1:
                raise AdapterSettingError(f"arm {arm}: option {option}: {name!r} stands twice", option)
    for name in typed if joints else ():
        if name not in joints:
            option = "continuous" if name in names_of(options.continuous) else "prismatic"
            raise AdapterSettingError(f"arm {arm}: option {option}: {name!r} is none of joints", option)


def joint_infos(options: Ros2Options, names: tuple[str, ...]) -> tuple[JointInfo, ...]:
    """The joints with the types that the options give; the type is empty where they give none."""
    types = dict.fromkeys(names_of(options.continuous), "continuous")
    types |= dict.fromkeys(names_of(options.prismatic), "prismatic")
    return tuple(JointInfo(name, types.get(name, "")) for name in names)
