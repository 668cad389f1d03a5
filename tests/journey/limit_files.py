"""Files that describe an arm of gen3_7dof: a URDF, ROS parameters and a skeleton."""

import json
from pathlib import Path
from typing import Any

JOINTS = [f"joint_{number}" for number in range(1, 8)]


def urdf(path: Path, *, lower: float = -2.0, upper: float = 2.0, velocity: float = 1.0, safety: str = "") -> str:
    """A URDF whose seven revolute joints are alike; the name of the file."""
    joints = "".join(
        f'<link name="link_{number}"/><joint name="{name}" type="revolute"><parent link="link_{number - 1}"/>'
        f'<child link="link_{number}"/><limit lower="{lower}" upper="{upper}" velocity="{velocity}" effort="9"/>'
        f"{safety}</joint>"
        for number, name in enumerate(JOINTS, 1)
    )
    path.write_text(f'<robot name="gen3"><link name="link_0"/>{joints}</robot>')
    return str(path)


def ros_yaml(path: Path, **keys: Any) -> str:
    """The parameters of a ROS node in which joint_1 has these keys; the name of the file."""
    lines = "".join(f"        {key}: {json.dumps(value)}\n" for key, value in keys.items())
    path.write_text(f"arm_node:\n  ros__parameters:\n    joint_limits:\n      joint_1:\n{lines}")
    return str(path)


def skeleton(path: Path, *, velocity: float = 1.0, soft_velocity: float | None = None) -> str:
    """A skeleton of a chain of seven revolute joints in proto3 JSON; the name of the file."""

    def element(number: int, name: str, parent: int, *children: int) -> dict[str, Any]:
        return {"id": number, "name": name, "parent": parent, "children": list(children)}

    def limits(most: float) -> dict[str, Any]:
        ends = {"lower": -2.0, "upper": 2.0}
        return {"position": ends, "velocity": most, "acceleration": 5.0, "jerk": 50.0, "effort": 40.0}

    links = [{"element": element(2 * at, f"link_{at}", max(2 * at - 1, 0), *([2 * at + 1] if at < 7 else []))}
             for at in range(8)]  # fmt: skip
    joints = [
        {
            "element": element(2 * at + 1, name, 2 * at, 2 * at + 2),
            "parameters": {
                "type": "REVOLUTE",
                "axis": {"z": 1.0},
                "systemLimits": limits(velocity),
                "softLimits": limits(velocity if soft_velocity is None else soft_velocity),
            },
        }
        for at, name in enumerate(JOINTS)
    ]
    order = {str(2 * at + 1): at for at in range(7)}
    path.write_text(json.dumps({"name": "gen3", "links": links, "joints": joints, "elementIdToDofIndex": order}))
    return str(path)
